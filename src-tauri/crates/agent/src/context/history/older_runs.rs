//! The place of older runs in a session's history: their summary, a count, and the first lines of the newest reports.
//!
//! The lines of reports stay the model's own text. Pitfall: never quote them as a user message; a report may repeat
//! untrusted input. A summary may as well, so it is fenced as untrusted input when tainted text has gone into it.

use rouse_core::UnixMs;
use rouse_core::message::Message;
use rouse_core::schedule::Zone;
use rouse_core::turn::window::EARLIER_RUNS_NOTE;
use rouse_store::{StoredMessage, TranscriptSummary};

use super::SessionMessages;
use super::message_text::{assistant, part_text};
use crate::safety::{Safety, UntrustedSource};

/// The most report lines.
const MAX_LINES: usize = 12;

/// The most bytes of a report line.
const MAX_LINE_BYTES: usize = 160;

/// Runs that are left out of a history.
pub(super) struct CondensedRuns<'s> {
    pub(super) runs: &'s [&'s [StoredMessage]],
    pub(super) session: &'s SessionMessages,
}

impl CondensedRuns<'_> {
    /// The messages in place of the runs, in about `max_tokens`; none without any run.
    pub(super) fn messages(&self, max_tokens: usize, safety: &Safety) -> Vec<Message> {
        let Some(note) = self.note() else { return Vec::new() };
        let text = match &self.session.summary {
            Some(summary) => format!("{note}\n{}", summary_text(summary, safety)),
            None => note,
        };
        let lines = self.report_lines(max_tokens);
        let report = format!("What I reported in some of those runs:\n{}", lines.join("\n"));
        let report = (!lines.is_empty()).then(|| assistant(report));
        std::iter::once(Message::User { text }).chain(report).collect()
    }

    fn report_lines(&self, max_tokens: usize) -> Vec<String> {
        let mut left = max_tokens;
        let mut has_room = |line: &String| {
            left.checked_sub(line.len() / 4 + 1).inspect(|rest| left = *rest).is_some()
        };
        let zone = self.session.zone;
        let lines = self.runs.iter().rev().filter_map(|run| report_line(run, zone));
        let lines = lines.take(MAX_LINES).take_while(|line| has_room(line));
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        lines
    }

    /// The number of messages that are left out, and their days.
    fn note(&self) -> Option<String> {
        let SessionMessages { summary, unread, zone, .. } = self.session;
        let summary = summary.as_ref();
        let left_out = || self.runs.iter().copied().flatten();
        let summed_up = summary.map_or(0, |summary| summary.messages as usize);
        let messages = left_out().count() + unread.count + summed_up;
        let unread_since = unread.since.filter(|_| unread.count > 0);
        let first = summary.map(|summary| summary.first_at).or(unread_since);
        let first = first.or_else(|| left_out().map(|it| it.at).next()).filter(|_| messages > 0)?;
        let last = left_out().next_back().map(|it| it.at);
        let last = last.or_else(|| summary.map(|summary| summary.last_at));
        let is_result =
            |stored: &&StoredMessage| matches!(stored.message, Message::ToolResult { .. });
        let results = match left_out().filter(is_result).count() {
            0 => String::new(),
            count => format!(" (with at least {count} tool results)"),
        };
        let until = last.map_or_else(String::new, |last| format!(" to {}", day(last, *zone)));
        Some(format!(
            "{EARLIER_RUNS_NOTE}{messages} messages{results}, from {}{until}. The session's transcript has these messages; \
             memory_search, if offered, finds stored notes.)",
            day(first, *zone)
        ))
    }
}

fn summary_text(summary: &TranscriptSummary, safety: &Safety) -> String {
    let text = if summary.is_tainted {
        safety.fence_text(UntrustedSource::Summary, &summary.text)
    } else {
        safety.redacted(&summary.text).unwrap_or_else(|| summary.text.clone())
    };
    format!("A summary of these runs, made by a model:\n{text}")
}

/// The day of a run, and the first line of the last answer.
fn report_line(run: &[StoredMessage], zone: Zone) -> Option<String> {
    run.iter().rev().find_map(|stored| {
        let Message::Assistant { parts } = &stored.message else { return None };
        let mut lines = parts.iter().rev().filter_map(part_text).flat_map(str::lines);
        let line = lines.find(|line| !line.trim().is_empty())?.trim();
        let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
        Some(format!("- {}: {line}", day(stored.at, zone)))
    })
}

pub(crate) fn day(at: UnixMs, zone: Zone) -> String {
    at.to_utc().with_timezone(&zone).format("%Y-%m-%d").to_string()
}
