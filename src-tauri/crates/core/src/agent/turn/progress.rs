//! Detection of a run without progress.
//!
//! Owns two counts: the same call with the same result, and answers in which every call failed. Each count warns the
//! model once and then ends the run. A changed result is progress, however often the call repeats: that is polling.
//! Calls of the same answer count once, because the model has not seen the results yet.
//!
//! The counts are derived from the messages, so a resumed run has the same counts.
//! Pitfall: comparing fenced results with their marks, which are never the same twice.
use std::collections::{HashMap, HashSet};

use crate::approval::canonical;
use crate::fence::split_fence;
use crate::message::{Message, Part, ToolCallRequest};
use crate::text::stable_hash;

const REPEATED_CALL: &str = include_str!("repeated_call.md");
const ERRORS: &str = include_str!("errors.md");

/// The same call with the same result.
const SAME: RepeatLimit = RepeatLimit { warn: 3, stop: 5 };

/// Consecutive answers in which every call failed.
const WRONG: RepeatLimit = RepeatLimit { warn: 4, stop: 8 };

struct RepeatLimit {
    warn: u32,
    stop: u32,
}

/// The consequence of the newest results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgressVerdict {
    /// Go on.
    Continue,
    /// Send the model this warning.
    Warn(&'static str),
    /// End the run for this reason.
    Stop(String),
}

/// The counts of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The last result of each call, and its consecutive occurrences.
    results: HashMap<u64, (u64, u32)>,
    /// Consecutive answers in which every call failed.
    wrong: u32,
    warned_of_repeat: bool,
    warned_of_errors: bool,
}

/// A call with the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolCallResult<'r> {
    pub(super) call: &'r ToolCallRequest,
    pub(super) text: &'r str,
    pub(super) is_error: bool,
}

impl Progress {
    /// The counts of a run with these messages.
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut progress = Self::default();
        let mut calls: Vec<&ToolCallRequest> = Vec::new();
        let mut results = Vec::new();
        for message in messages {
            match message {
                Message::ToolResult { call_id, text, is_error, .. } => {
                    let call = calls.iter().find(|call| call.id == *call_id);
                    results.extend(call.map(|call| ToolCallResult {
                        call,
                        text,
                        is_error: *is_error,
                    }));
                }
                Message::Assistant { parts } => {
                    progress.count(&std::mem::take(&mut results));
                    calls = parts.iter().filter_map(call_of).collect();
                }
                Message::Attachments { .. } => {}
                Message::User { text } => {
                    progress.warned_of_repeat |= text == REPEATED_CALL.trim();
                    progress.warned_of_errors |= text == ERRORS.trim();
                }
            }
        }
        progress.count(&results);
        progress
    }

    /// Counts the results of an answer and returns the consequence.
    pub(super) fn count_results(&mut self, results: &[ToolCallResult<'_>]) -> ProgressVerdict {
        let most_often = self.count(results);
        let again = most_often.filter(|(_, times)| *times >= SAME.warn);
        match again {
            Some((tool, times)) if self.warned_of_repeat && times >= SAME.stop => {
                let failed =
                    results.iter().rfind(|result| result.is_error && result.call.tool == tool);
                let last = failed.map_or_else(String::new, last_error);
                return ProgressVerdict::Stop(format!(
                    "Stopped without progress: {times} calls of {tool} with the same arguments had the same result.{last}"
                ));
            }
            Some(_) if !std::mem::replace(&mut self.warned_of_repeat, true) => {
                return ProgressVerdict::Warn(REPEATED_CALL.trim());
            }
            _ => {}
        }
        if self.wrong >= WRONG.stop && self.warned_of_errors {
            let last = results.last().map_or_else(String::new, last_error);
            return ProgressVerdict::Stop(format!(
                "Stopped without progress: every call of the last {} answers failed.{last}",
                self.wrong
            ));
        }
        if self.wrong >= WRONG.warn && !std::mem::replace(&mut self.warned_of_errors, true) {
            return ProgressVerdict::Warn(ERRORS.trim());
        }
        ProgressVerdict::Continue
    }

    /// Counts the results. Returns the call with the most repetitions of a result, and the count.
    fn count<'r>(&mut self, results: &[ToolCallResult<'r>]) -> Option<(&'r str, u32)> {
        if results.is_empty() {
            return None;
        }
        let all_wrong = results.iter().all(|result| result.is_error);
        self.wrong = if all_wrong { self.wrong + 1 } else { 0 };
        let mut counted = HashSet::new();
        let mut most_often = None;
        for ToolCallResult { call, text, .. } in results {
            let key =
                stable_hash(format!("{}\n{}", call.tool, canonical(&call.arguments)).as_bytes());
            if !counted.insert(key) {
                continue;
            }
            let is = stable_hash(without_fence(text).as_bytes());
            let (was, times) = self.results.entry(key).or_insert((is, 0));
            *times = if *was == is { *times + 1 } else { 1 };
            *was = is;
            if most_often.is_none_or(|(_, most)| *times > most) {
                most_often = Some((call.tool.as_str(), *times));
            }
        }
        most_often
    }
}

/// The newest error as the end of a sentence for the person.
fn last_error(result: &ToolCallResult<'_>) -> String {
    format!(" The last error: {}", result.text.chars().take(300).collect::<String>())
}

fn call_of(part: &Part) -> Option<&ToolCallRequest> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// The content of a fenced text, without the marks, which differ each time.
fn without_fence(text: &str) -> &str {
    split_fence(text).map_or(text, |(_, inside, _)| inside)
}
