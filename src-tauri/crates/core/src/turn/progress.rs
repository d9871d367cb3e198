//! Whether a run comes forward.
//!
//! Owns the counts of what does not: the same call with the same arguments and the same result, and answers of which
//! every call went wrong. A run is told of each once and then ended, so that nobody pays for a model that goes in
//! circles until its steps are used up. A call whose result changes is progress, however often it is made: that is how
//! one waits for something. Calls of one answer count once, because the model has not seen their results yet.
//!
//! The counts come out of what was said, so a run that goes on after a break does not begin to count anew. One could get
//! it wrong by comparing results from outside with their marks, which are never the same twice.

use std::collections::{HashMap, HashSet};

use crate::approval::canonical;
use crate::marks::frame;
use crate::message::{Message, Part, ToolCallRequest};
use crate::stable_hash::stable_hash;

const AGAIN: &str = include_str!("again.md");
const ERRORS: &str = include_str!("errors.md");

/// The same call with the same result: after so many the run is told, after so many it is ended.
const SAME: Bound = Bound { told: 3, most: 5 };

/// Answers in a row of which every call went wrong.
const WRONG: Bound = Bound { told: 4, most: 8 };

struct Bound {
    told: u32,
    most: u32,
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    /// Nothing.
    GoOn,
    /// The model is told this.
    Tell(&'static str),
    /// The run is over, for this reason.
    End(String),
}

/// The counts of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The last result of each call, and how often in a row it was that.
    results: HashMap<u64, (u64, u32)>,
    /// Answers of which every call went wrong, since the last of which one did not.
    wrong: u32,
    told_again: bool,
    told_errors: bool,
}

/// A call with what became of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'r> {
    pub(super) call: &'r ToolCallRequest,
    pub(super) text: &'r str,
    pub(super) is_error: bool,
}

impl Progress {
    /// The counts after what a run has said.
    pub(super) fn of(said: &[Message]) -> Self {
        let mut progress = Self::default();
        let mut calls: Vec<&ToolCallRequest> = Vec::new();
        let mut results = Vec::new();
        for message in said {
            match message {
                Message::ToolResult { call_id, text, is_error, .. } => {
                    let call = calls.iter().find(|call| call.id == *call_id);
                    results.extend(call.map(|call| Told { call, text, is_error: *is_error }));
                }
                Message::Assistant { parts } => {
                    progress.count(&std::mem::take(&mut results));
                    calls = parts.iter().filter_map(call_of).collect();
                }
                Message::Attachments { .. } => {}
                Message::User { text } => {
                    progress.told_again |= text == AGAIN.trim();
                    progress.told_errors |= text == ERRORS.trim();
                }
            }
        }
        progress.count(&results);
        progress
    }

    /// Counts the results of one answer, and says what is to be done.
    pub(super) fn after(&mut self, results: &[Told<'_>]) -> Ruling {
        let most_often = self.count(results);
        let again = most_often.filter(|(_, times)| *times >= SAME.told);
        match again {
            Some((tool, times)) if self.told_again && times >= SAME.most => {
                let in_vain =
                    results.iter().rfind(|result| result.is_error && result.call.tool == tool);
                let last = in_vain.map_or_else(String::new, last_error);
                return Ruling::End(format!(
                    "Stopped because it made no progress: it called {tool} {times} times with the same arguments and got the same result each time.{last}"
                ));
            }
            Some(_) if !std::mem::replace(&mut self.told_again, true) => {
                return Ruling::Tell(AGAIN.trim());
            }
            _ => {}
        }
        if self.wrong >= WRONG.most && self.told_errors {
            let last = results.last().map_or_else(String::new, last_error);
            return Ruling::End(format!(
                "Stopped because it made no progress: every call of its last {} answers went wrong.{last}",
                self.wrong
            ));
        }
        if self.wrong >= WRONG.told && !std::mem::replace(&mut self.told_errors, true) {
            return Ruling::Tell(ERRORS.trim());
        }
        Ruling::GoOn
    }

    /// Counts; answers the call that was made most often in vain.
    fn count<'r>(&mut self, results: &[Told<'r>]) -> Option<(&'r str, u32)> {
        if results.is_empty() {
            return None;
        }
        let all_wrong = results.iter().all(|result| result.is_error);
        self.wrong = if all_wrong { self.wrong + 1 } else { 0 };
        let mut counted = HashSet::new();
        let mut most_often = None;
        for Told { call, text, .. } in results {
            let key =
                stable_hash(format!("{}\n{}", call.tool, canonical(&call.arguments)).as_bytes());
            if !counted.insert(key) {
                continue;
            }
            let is = stable_hash(unmarked(text).as_bytes());
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

/// What it was told last, as the end of a sentence for the person.
fn last_error(result: &Told<'_>) -> String {
    format!(" The last error: {}", result.text.chars().take(300).collect::<String>())
}

fn call_of(part: &Part) -> Option<&ToolCallRequest> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// A text from outside without the marks around it: they carry a word that is another one each time.
fn unmarked(text: &str) -> &str {
    frame(text).map_or(text, |(_, inside, _)| inside)
}
