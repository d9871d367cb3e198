//! Compaction: the choice of the older part of a session that a model sums up, and the request for the summary.
//!
//! The summary is a row of the transcript. Later runs receive it in place of the older runs, until the next compaction
//! replaces it. Open runs and everything after their beginning are never summed up: their calls still wait for results.
//! Tool results are in no summary. Pitfall: a summary may quote untrusted input, so it records its taint and taints
//! later runs.

use rouse_core::RunId;
use rouse_core::message::{Message, ModelAnswer, StopReason};
use rouse_core::model::ModelRequest;
use rouse_core::text::has_visible_text;
use rouse_store::{StoredMessage, TranscriptSummary};

use super::history::{HistoryLimit, MAX_MESSAGES, SessionMessages, day, part_text};
use crate::safety::{Safety, UntrustedSource};

const SUMMARY_PROMPT: &str = include_str!("../../prompts/summary.md");

/// The history fills at most this part of the context window. The rest is for the task, the tools and their results.
const HISTORY_SHARE: usize = 4;

/// The most history tokens of a job, for any context window: each answer pays for the history.
const MAX_JOB_HISTORY: usize = 8_000;

/// The most history tokens of the main session, with calls and results.
const MAX_MAIN_HISTORY: usize = 32_000;

/// The history tokens of a job beside its newest run: a small job stays cheap, however often it has run.
const JOB_HISTORY: usize = 80;

/// The most bytes of the record to sum up, and the maximum share of the context window.
const MAX_RECORD_BYTES: usize = 48 << 10;
const RECORD_SHARE: usize = 2;

/// The most characters of a summary.
const MAX_SUMMARY_CHARACTERS: usize = 4_000;

/// The most words that the request asks for, at eight bytes a word.
const MAX_SUMMARY_WORDS: usize = 400;

/// The output limit of the request: some models reason aloud before the summary.
const MAX_ANSWER_TOKENS: u32 = 2_000;

/// The sizes of a session's history and of the summary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactionLimits {
    /// The context window in tokens.
    context: usize,
    pub(crate) history: HistoryLimit,
}

/// The messages to sum up: whole runs, the oldest first.
pub(crate) struct SummaryInput<'s> {
    session: &'s SessionMessages,
    runs: Vec<&'s [StoredMessage]>,
}

impl CompactionLimits {
    /// The limits in a context window of `context` tokens.
    pub(crate) fn new(context: usize, is_job_run: bool) -> Self {
        let max_history = if is_job_run { MAX_JOB_HISTORY } else { MAX_MAIN_HISTORY };
        let newest_run = (context / HISTORY_SHARE).min(max_history);
        let total = if is_job_run { newest_run.min(JOB_HISTORY) } else { newest_run };
        Self { context, history: HistoryLimit { total, newest_run } }
    }

    /// The most bytes of a summary: a quarter of the history's tokens at four bytes each.
    fn summary_bytes(self) -> usize {
        (self.history.total * 4).min(self.history.newest_run)
    }

    /// The request for a summary. The record is fenced in any case: here all of it is information.
    pub(crate) fn summary_request(
        self,
        model: &str,
        input: &SummaryInput<'_>,
        safety: &Safety,
    ) -> ModelRequest {
        let record = input.record((self.context / RECORD_SHARE * 3).min(MAX_RECORD_BYTES));
        let text = safety.fence_text(UntrustedSource::Transcript, &record);
        let max_tokens = u32::try_from(self.context / HISTORY_SHARE).unwrap_or(u32::MAX);
        let words = (self.summary_bytes() / 8).min(MAX_SUMMARY_WORDS);
        ModelRequest {
            model: model.to_owned(),
            system: SUMMARY_PROMPT.replace("{words}", &words.to_string()),
            messages: vec![Message::User { text }],
            tools: Vec::new(),
            max_tokens: Some(MAX_ANSWER_TOKENS.min(max_tokens)),
            effort: None,
        }
    }

    /// The redacted summary in an answer; or why there is none.
    pub(crate) fn summary_in(
        self,
        answer: &ModelAnswer,
        safety: &Safety,
    ) -> Result<String, String> {
        if answer.stop == StopReason::Refusal {
            return Err("The model's provider refused to answer.".to_owned());
        }
        let text = answer.text();
        let text = safety.redacted(&text).unwrap_or(text);
        let text: String = text.trim().chars().take(MAX_SUMMARY_CHARACTERS).collect();
        let text = text[..text.floor_char_boundary(self.summary_bytes())].to_owned();
        if has_visible_text(&text) {
            Ok(text)
        } else {
            Err("The model answered without text.".to_owned())
        }
    }
}

impl<'s> SummaryInput<'s> {
    /// The runs to sum up once the history exceeds `limit` tokens; none below. The rest fits half of `limit`, so that a
    /// compaction happens now and then, and not in every run.
    pub(crate) fn select(session: &'s SessionMessages, limit: usize) -> Option<Self> {
        let runs: Vec<&[StoredMessage]> = session.runs().collect();
        let tokens: Vec<usize> = runs.iter().map(|run| session.tokens_of(run)).collect();
        let room = limit.saturating_sub(session.summary_tokens());
        if session.unread.count == 0 && tokens.iter().sum::<usize>() <= room {
            return None;
        }
        let (mut kept_tokens, mut kept_rows, mut kept_runs) = (0, 0, 0);
        for (run, tokens) in runs.iter().zip(&tokens).rev() {
            kept_tokens += tokens;
            kept_rows += run.len();
            if kept_tokens > limit / 2 || kept_rows > MAX_MESSAGES as usize / 2 {
                break;
            }
            kept_runs += 1;
        }
        let runs = runs[..runs.len() - kept_runs].to_vec();
        Some(Self { session, runs }).filter(|input| !input.runs.is_empty())
    }

    /// The ids of the runs.
    pub(crate) fn run_ids(&self) -> Vec<RunId> {
        let ids = self.runs.iter().filter_map(|run| run.first()?.run_id.clone());
        let mut ids: Vec<RunId> = ids.collect();
        ids.dedup();
        ids
    }

    /// The runs before the first of `open`; none when that is the first of all.
    pub(crate) fn before(mut self, open: &[RunId]) -> Option<Self> {
        let is_open =
            |run: &&[StoredMessage]| run[0].run_id.as_ref().is_some_and(|id| open.contains(id));
        let end = self.runs.iter().position(is_open).unwrap_or(self.runs.len());
        self.runs.truncate(end);
        Some(self).filter(|input| !input.runs.is_empty())
    }

    /// The row of the summary, without the text.
    pub(crate) fn summary_row(
        &self,
        made_by: RunId,
        is_tainted: bool,
        untrusted_skills: Vec<String>,
    ) -> Option<TranscriptSummary> {
        let SessionMessages { summary: earlier, unread, .. } = self.session;
        let earlier = earlier.as_ref();
        let messages = self.runs.iter().copied().flatten();
        let last = messages.clone().next_back()?;
        let first_at = earlier.map(|summary| summary.first_at).or(unread.since);
        let count = u32::try_from(messages.clone().count() + unread.count).unwrap_or(u32::MAX);
        Some(TranscriptSummary {
            text: String::new(),
            made_by,
            until: last.id,
            messages: earlier.map_or(0, |summary| summary.messages).saturating_add(count),
            first_at: first_at.or_else(|| messages.clone().map(|it| it.at).next())?,
            last_at: last.at,
            is_tainted: is_tainted || earlier.is_some_and(|summary| summary.is_tainted),
            untrusted_skills,
        })
    }

    /// The text of the runs in at most `max_bytes`, the oldest first. The oldest runs are left out first.
    pub(super) fn record(&self, max_bytes: usize) -> String {
        let earlier = self.session.summary();
        let earlier = earlier.map(|summary| format!("The earlier summary:\n{}\n", summary.text));
        let mut left = max_bytes.saturating_sub(earlier.as_ref().map_or(0, String::len));
        let mut newest_first: Vec<String> = Vec::new();
        for run in self.runs.iter().rev() {
            let day = day(run[0].at, self.session.zone);
            let is_text = |message: &Message| !matches!(message, Message::ToolResult { .. });
            let messages = self.session.messages_of(run).into_iter().flatten().filter(is_text);
            let lines: Vec<String> = messages.map(|message| record_line(&day, &message)).collect();
            let bytes = lines.iter().map(|line| line.len() + 1).sum();
            let Some(rest) = left.checked_sub(bytes) else { break };
            left = rest;
            newest_first.extend(lines.into_iter().rev());
        }
        newest_first.extend(earlier);
        newest_first.reverse();
        newest_first.join("\n")
    }
}

fn record_line(day: &str, message: &Message) -> String {
    let (role, text) = match message {
        Message::User { text } | Message::ToolResult { text, .. } => ("Input", text.clone()),
        Message::Assistant { parts } => {
            ("Answered", parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n"))
        }
        Message::Attachments { files } => {
            ("Input", files.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    };
    format!("[{day}] {role}: {text}")
}
