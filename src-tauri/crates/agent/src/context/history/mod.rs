//! The history of a session for a later run.
//!
//! Owns the bound: the newest runs that fit a number of tokens. Of a job's earlier runs only text stays, because calls
//! and results are the bulk of a transcript and out of date. In the main session calls stay with their results, so that
//! a follow-up needs no second call. A run without an answer is left out with its task; a person's message in the main
//! session stays, with a note (`run_notes`). `older_runs` condenses older runs.

mod older_runs;
mod message_text;
mod run_notes;
#[cfg(test)]
mod tests;
mod tool_calls;

use std::collections::HashMap;

use rouse_core::message::Message;
use rouse_core::schedule::Zone;
use rouse_core::{RunId, SessionKey, UnixMs};
use rouse_store::{Store, StoreError, StoredMessage, TranscriptSummary};

pub(super) use self::message_text::part_text;
use self::message_text::{assistant, is_assistant, joined, redacted, text_message, tokens};
use self::older_runs::CondensedRuns;
pub(super) use self::older_runs::day;
use self::run_notes::{CONTINUED_LATER, RunProgress, progress_of_runs};
use self::tool_calls::with_calls;
use crate::safety::Safety;

/// The most messages after the summary that are read: about the last two dozen runs with their tool results.
pub(super) const MAX_MESSAGES: u32 = 400;

/// The part of the history that condensed runs have in any case.
const CONDENSED_SHARE: usize = 16;

/// The tokens of a long condensed line: room for a line beside a summary that fills a small share.
const MIN_CONDENSED_TOKENS: usize = 45;

/// Messages of a session that are not read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnreadMessages {
    pub(super) count: usize,
    /// The time of the first message.
    pub(super) since: Option<UnixMs>,
}

/// The size of a history in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryLimit {
    pub(crate) total: usize,
    /// The limit of the newest run, which is included even beyond the total.
    pub(crate) newest_run: usize,
}

/// The read messages of a session.
pub(crate) struct SessionMessages {
    pub(super) summary: Option<TranscriptSummary>,
    /// The messages after the summary, without the messages of the current run.
    pub(super) stored: Vec<StoredMessage>,
    pub(super) unread: UnreadMessages,
    /// The runs that get a note.
    progress: HashMap<RunId, RunProgress>,
    pub(super) zone: Zone,
    /// Whether calls and results belong to the history.
    has_calls: bool,
}

impl SessionMessages {
    /// The messages of `session` before `run`. Days are days of `zone`.
    pub(crate) async fn load(
        store: &Store,
        session: &SessionKey,
        run: &RunId,
        zone: Zone,
    ) -> Result<Self, StoreError> {
        let summary = store.summary(session).await?;
        let until = summary.as_ref().map_or(0, |summary| summary.until);
        let mut stored = store.messages_after(session, until, MAX_MESSAGES).await?;
        let mut unread = UnreadMessages::default();
        if stored.len() >= MAX_MESSAGES as usize {
            let all = store.count_rows_after(session, until).await? as usize;
            let row = store.session(session).await?;
            let since = summary.as_ref().map(|summary| summary.last_at);
            unread.count = all.saturating_sub(stored.len() + usize::from(summary.is_some()));
            unread.since = since.or_else(|| row.map(|row| row.created_at));
        }
        stored.retain(|message| message.run_id.as_ref() != Some(run));
        let is_main = session.job_id().is_none();
        let progress =
            if is_main { progress_of_runs(store, &stored).await? } else { HashMap::new() };
        Ok(Self { summary, stored, unread, progress, zone, has_calls: is_main })
    }

    pub(crate) const fn summary(&self) -> Option<&TranscriptSummary> {
        self.summary.as_ref()
    }

    /// The history for a model, within `limit`.
    pub(crate) fn history(&self, limit: HistoryLimit, safety: &Safety) -> Vec<Message> {
        let summary_tokens = self.summary_tokens();
        let mut left = limit.total.saturating_sub(summary_tokens);
        let mut newest_first: Vec<Vec<Message>> = Vec::new();
        let mut runs = self.runs().rev();
        let mut left_out: Vec<&[StoredMessage]> = Vec::new();
        for run in runs.by_ref() {
            let Some(messages) = self.messages_of(run) else { continue };
            let tokens = tokens(&messages);
            match left.checked_sub(tokens) {
                Some(rest) => left = rest,
                None if newest_first.is_empty() && tokens + summary_tokens <= limit.newest_run => {}
                None => {
                    left_out.push(run);
                    break;
                }
            }
            newest_first.push(messages);
        }
        left_out.extend(runs);
        left_out.reverse();
        let condensed_tokens = left.max(limit.total / CONDENSED_SHARE).max(MIN_CONDENSED_TOKENS);
        let condensed = CondensedRuns { runs: &left_out, session: self };
        let history = condensed
            .messages(condensed_tokens, safety)
            .into_iter()
            .chain(newest_first.into_iter().rev().flatten())
            .map(|message| redacted(message, safety));
        joined(history)
    }

    /// The newest runs, up to `limit` tokens.
    pub(crate) fn newest_runs(&self, limit: usize) -> Vec<RunId> {
        let mut sum = 0;
        let newest = self.runs().rev().take_while(|run| {
            sum += self.tokens_of(run);
            sum < limit
        });
        newest.filter_map(|run| run.first()?.run_id.clone()).collect()
    }

    /// The messages run by run. Consecutive messages without a run form a group.
    pub(super) fn runs(&self) -> impl DoubleEndedIterator<Item = &[StoredMessage]> {
        self.stored.chunk_by(|one, other| one.run_id == other.run_id)
    }

    /// The history messages of a run; none of a run without an answer or a note.
    pub(super) fn messages_of(&self, run: &[StoredMessage]) -> Option<Vec<Message>> {
        let mut messages: Vec<Message> = if self.has_calls {
            with_calls(run)
        } else {
            run.iter().filter_map(|stored| text_message(&stored.message)).collect()
        };
        messages.extend(self.note_on(run, &messages).map(assistant));
        messages.iter().any(is_assistant).then_some(messages)
    }

    /// The tokens of a run's history messages.
    pub(super) fn tokens_of(&self, run: &[StoredMessage]) -> usize {
        self.messages_of(run).map_or(0, |messages| tokens(&messages))
    }

    pub(super) fn summary_tokens(&self) -> usize {
        self.summary.as_ref().map_or(0, |summary| summary.text.len() / 4 + 8)
    }

    fn note_on(&self, run: &[StoredMessage], messages: &[Message]) -> Option<String> {
        let run_id = run.first()?.run_id.as_ref()?;
        let progress = self.progress.get(run_id)?;
        let last = self.stored.iter().rfind(|stored| stored.run_id.as_ref() == Some(run_id))?;
        let has_answered = messages.iter().any(is_assistant);
        if last.id == run.last()?.id {
            return progress.note(has_answered);
        }
        (!messages.is_empty() && !has_answered).then(|| CONTINUED_LATER.to_owned())
    }
}
