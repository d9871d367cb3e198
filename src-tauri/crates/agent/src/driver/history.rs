//! What a run remembers of the runs before it in its session.
//!
//! Owns the bound: the newest runs that fit into a number of tokens. Of a job's earlier runs only words are told: calls and
//! results are the bulk of a transcript and out of date. In the main session calls stand with their results, so that a
//! follow-up question needs no second call. A run in which the model said nothing is left out with its task, but not what a person has
//! written in the main session: that is told, with a note in the model's place (`fate`).
//!
//! In the place of older runs stands their summary, which `compaction` has a model make. What is in no summary, because
//! none was made or could be, is told by one line that says how many messages are left out, from when to when, and where
//! they are; behind it the model finds the first lines of its own newest reports among them. Those stay its own words: one
//! could get it wrong by quoting them as somebody's words to it, for a report may repeat what came from outside. A summary
//! is nobody's own words any more, and is told between marks when such a text has gone into it. What was said before a
//! secret in it was stored is told without it. Days are those of the zone that the run is told its time in.

mod calls;
mod fate;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rouse_core::RunId;
use rouse_core::SessionKey;
use rouse_core::UnixMs;
use rouse_core::marks::closed;
use rouse_core::message::{Message, Part};
use rouse_core::schedule::Zone;
use rouse_core::turn::window::EARLIER;
use rouse_store::{Store, StoreError, StoredMessage, Summary};

use self::calls::{bytes_of, is_call, with_calls, without_stored_values};
use self::fate::{Fate, fates_of};
use super::main_session::LEAD;
use crate::safety::{Outside, Safety};

/// The most messages after the summary that are looked at: the last two dozen runs or so, whose tool results are read
/// along with them.
const MOST_MESSAGES: u32 = 400;

/// The most characters kept of one message.
const MOST_CHARACTERS: usize = 6_000;

/// The most runs that are left out and told of by a line of their report, and the most bytes of such a line.
const MOST_LINES: usize = 12;
const LONGEST_LINE: usize = 160;

/// The part of what may be told that such lines have in any case.
const LINES_SHARE: usize = 16;

/// The tokens of one of the longest lines: a summary that fills a small share leaves room for one.
const LEAST_LINES: usize = 45;

/// Messages of a session that are not even looked at: how many, and when the first of them was stored.
#[derive(Debug, Clone, Copy, Default)]
struct Unseen {
    messages: usize,
    since: Option<UnixMs>,
}

/// How many tokens of a session a run is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Of all of it together.
    pub(super) all: usize,
    /// Of the newest run, which is told also where it takes more than all may.
    pub(super) newest: usize,
}

/// What a session has said, as far as it is looked at.
pub(super) struct Memory {
    summary: Option<Summary>,
    /// What follows the summary, without what the remembering run has said itself.
    stored: Vec<StoredMessage>,
    unseen: Unseen,
    /// What became of runs that are told whether or not the model said something in them.
    fates: HashMap<RunId, Fate>,
    /// The zone of the days in it.
    zone: Zone,
    /// Whether calls and their results belong to it: in the main session a follow-up question needs them.
    has_calls: bool,
}

/// What a summary is to be made of: the messages of whole runs, the oldest first.
pub(super) struct Older<'m> {
    memory: &'m Memory,
    groups: Vec<&'m [StoredMessage]>,
}

impl Memory {
    /// What `session` said before `run`, whose time is told in `zone`.
    pub(super) async fn of(
        store: &Store,
        session: &SessionKey,
        run: &RunId,
        zone: Zone,
    ) -> Result<Self, StoreError> {
        let summary = store.summary(session).await?;
        let until = summary.as_ref().map_or(0, |summary| summary.until);
        let mut stored = store.messages_after(session, until, MOST_MESSAGES).await?;
        let mut unseen = Unseen::default();
        if stored.len() >= MOST_MESSAGES as usize {
            let all = store.count_after(session, until).await? as usize;
            let row = store.session(session).await?;
            let since = summary.as_ref().map(|summary| summary.last_at);
            unseen.messages = all.saturating_sub(stored.len() + usize::from(summary.is_some()));
            unseen.since = since.or_else(|| row.map(|row| row.created_at));
        }
        stored.retain(|message| message.run_id.as_ref() != Some(run));
        let fates = match session.job_id() {
            Some(_) => HashMap::new(),
            None => fates_of(store, &stored).await?,
        };
        let has_calls = session.job_id().is_none();
        Ok(Self { summary, stored, unseen, fates, zone, has_calls })
    }

    /// What stands for the beginning of the session.
    pub(super) const fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// What a model is told of it in about as many tokens as its `share` has.
    pub(super) fn told(&self, share: Share, safety: &Safety) -> Vec<Message> {
        let mut left = share.all.saturating_sub(self.cost_of_summary());
        let mut newest_first: Vec<Vec<Message>> = Vec::new();
        let mut groups = self.groups().rev();
        let mut left_out: Vec<&[StoredMessage]> = Vec::new();
        for group in groups.by_ref() {
            let Some(said) = self.words_in(group) else { continue };
            let (cost, summary) = (cost(&said), self.cost_of_summary());
            match left.checked_sub(cost) {
                Some(rest) => left = rest,
                None if newest_first.is_empty() && cost + summary <= share.newest => {}
                None => {
                    left_out.push(group);
                    break;
                }
            }
            newest_first.push(said);
        }
        left_out.extend(groups);
        left_out.reverse();
        let told = self
            .condensed(&left_out, left.max(share.all / LINES_SHARE).max(LEAST_LINES), safety)
            .into_iter()
            .chain(newest_first.into_iter().rev().flatten())
            .map(|message| without_stored(message, safety));
        joined(told)
    }

    /// What a summary is to be made of, so that what is left fits into half of `most` tokens and is looked at again; none
    /// as long as all of it fits. With half of it a summary is made now and then, and not at every turn.
    pub(super) fn too_much_for(&self, most: usize) -> Option<Older<'_>> {
        let groups: Vec<&[StoredMessage]> = self.groups().collect();
        let costs: Vec<usize> =
            groups.iter().map(|it| self.words_in(it).map_or(0, |it| cost(&it))).collect();
        let room = most.saturating_sub(self.cost_of_summary());
        if self.unseen.messages == 0 && costs.iter().sum::<usize>() <= room {
            return None;
        }
        let (mut tokens, mut rows, mut kept) = (0, 0, 0);
        for (group, cost) in groups.iter().zip(&costs).rev() {
            tokens += cost;
            rows += group.len();
            if tokens > most / 2 || rows > MOST_MESSAGES as usize / 2 {
                break;
            }
            kept += 1;
        }
        let older = groups[..groups.len() - kept].to_vec();
        Some(Older { memory: self, groups: older }).filter(|older| !older.groups.is_empty())
    }

    /// The newest runs, until what was said in them is `tokens`.
    pub(super) fn runs_of_newest(&self, tokens: usize) -> Vec<RunId> {
        let mut said = 0;
        let newest = self.groups().rev().take_while(|group| {
            said += self.words_in(group).map_or(0, |said| cost(&said));
            said < tokens
        });
        newest.filter_map(|group| group.first()?.run_id.clone()).collect()
    }

    /// The messages run by run. One without a run stands for itself; it goes along with its neighbours.
    fn groups(&self) -> impl DoubleEndedIterator<Item = &[StoredMessage]> {
        self.stored.chunk_by(|one, other| one.run_id == other.run_id)
    }

    /// What was said in these messages of a run; none when the model said nothing in them, and nothing is told in its place.
    fn words_in(&self, group: &[StoredMessage]) -> Option<Vec<Message>> {
        let mut said: Vec<Message> = match self.has_calls {
            true => with_calls(group),
            false => group.iter().filter_map(|stored| said(&stored.message)).collect(),
        };
        let note = self.note_on(group, &said);
        said.extend(note.map(|text| Message::Assistant { parts: vec![Part::Text { text }] }));
        said.iter().any(is_of_model).then_some(said)
    }

    /// What is told in the model's place behind what was `said` in these messages of a run.
    fn note_on(&self, group: &[StoredMessage], said: &[Message]) -> Option<String> {
        let run = group.first()?.run_id.as_ref()?;
        let fate = self.fates.get(run)?;
        let last = self.stored.iter().rfind(|stored| stored.run_id.as_ref() == Some(run))?;
        let has_answered = said.iter().any(is_of_model);
        match last.id == group.last()?.id {
            true => fate.note(has_answered),
            false => fate::note_between(said).filter(|_| !has_answered),
        }
    }

    fn cost_of_summary(&self) -> usize {
        self.summary.as_ref().map_or(0, |summary| summary.text.len() / 4 + 8)
    }

    /// What stands in the place of runs that are left out; nothing when there are none.
    fn condensed(
        &self,
        groups: &[&[StoredMessage]],
        mut room: usize,
        safety: &Safety,
    ) -> Vec<Message> {
        let Some(note) = self.note(groups) else { return Vec::new() };
        let text = match &self.summary {
            Some(summary) => format!("{note}\n{}", in_marks(summary, safety)),
            None => note,
        };
        let mut has_room = |line: &String| {
            room.checked_sub(line.len() / 4 + 1).inspect(|rest| room = *rest).is_some()
        };
        let lines = groups.iter().rev().filter_map(|group| line_of(group, self.zone));
        let lines = lines.take(MOST_LINES).take_while(|line| has_room(line));
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        let words = format!("What I reported in some of those runs:\n{}", lines.join("\n"));
        let digest = Message::Assistant { parts: vec![Part::Text { text: words }] };
        let digest = Some(digest).filter(|_| !lines.is_empty());
        std::iter::once(Message::User { text }).chain(digest).collect()
    }

    /// How much is left out, from when to when.
    fn note(&self, groups: &[&[StoredMessage]]) -> Option<String> {
        let seen = || groups.iter().copied().flatten();
        let summed = self.summary.as_ref();
        let summed_up = summed.map_or(0, |summary| summary.messages as usize);
        let messages = seen().count() + self.unseen.messages + summed_up;
        let unseen = self.unseen.since.filter(|_| self.unseen.messages > 0);
        let first = summed.map(|summary| summary.first_at).or(unseen);
        let first = first.or_else(|| seen().map(|it| it.at).next()).filter(|_| messages > 0)?;
        let last = seen().next_back().map(|it| it.at);
        let last = last.or_else(|| summed.map(|summary| summary.last_at));
        let is_result =
            |stored: &&StoredMessage| matches!(stored.message, Message::ToolResult { .. });
        let results = match seen().filter(is_result).count() {
            0 => String::new(),
            some => format!(" (at least {some} of them results of tools)"),
        };
        let until = last.map_or_else(String::new, |last| format!(" to {}", day(last, self.zone)));
        Some(format!(
            "{EARLIER}{messages} messages{results}, from {}{until}. The session's transcript has them, and what was \
             worth keeping is found with memory_search where that is offered.)",
            day(first, self.zone)
        ))
    }
}

impl<'m> Older<'m> {
    /// The runs whose messages these are.
    pub(super) fn runs(&self) -> Vec<RunId> {
        let mut runs: Vec<RunId> =
            self.groups.iter().filter_map(|group| group.first()?.run_id.clone()).collect();
        runs.dedup();
        runs
    }

    /// The same up to where the first of these runs stands; none when nothing is before it.
    pub(super) fn before(mut self, runs: &[RunId]) -> Option<Self> {
        let is_of = |group: &&[StoredMessage]| {
            group[0].run_id.as_ref().is_some_and(|run| runs.contains(run))
        };
        let end = self.groups.iter().position(is_of).unwrap_or(self.groups.len());
        self.groups.truncate(end);
        Some(self).filter(|older| !older.groups.is_empty())
    }

    /// The summary that is to be made of it, without its words.
    pub(super) fn to_make(
        &self,
        made_by: RunId,
        from_outside: bool,
        untrusted_skills: Vec<String>,
    ) -> Option<Summary> {
        let earlier = self.memory.summary.as_ref();
        let messages = self.groups.iter().copied().flatten();
        let last = messages.clone().next_back()?;
        let first_at = earlier.map(|summary| summary.first_at).or(self.memory.unseen.since);
        let count = messages.clone().count() + self.memory.unseen.messages;
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Some(Summary {
            text: String::new(),
            made_by,
            until: last.id,
            messages: earlier.map_or(0, |summary| summary.messages).saturating_add(count),
            first_at: first_at.or_else(|| messages.clone().map(|it| it.at).next())?,
            last_at: last.at,
            from_outside: from_outside || earlier.is_some_and(|summary| summary.from_outside),
            untrusted_skills,
        })
    }

    /// What was said in it, the oldest first, in at most `most` bytes: what is older than that is left out.
    pub(super) fn record(&self, most: usize) -> String {
        let earlier = self.memory.summary.as_ref();
        let earlier = earlier.map(|summary| format!("The earlier summary:\n{}\n", summary.text));
        let mut left = most.saturating_sub(earlier.as_ref().map_or(0, String::len));
        let mut lines: Vec<String> = Vec::new();
        for group in self.groups.iter().rev() {
            let at = day(group[0].at, self.memory.zone);
            let is_words = |said: &Message| !matches!(said, Message::ToolResult { .. });
            let said = self.memory.words_in(group).into_iter().flatten().filter(is_words);
            let said = said.map(|said| line(&at, &said));
            let said: Vec<String> = said.collect();
            let Some(rest) = left.checked_sub(said.iter().map(|line| line.len() + 1).sum()) else {
                break;
            };
            left = rest;
            lines.extend(said.into_iter().rev());
        }
        lines.extend(earlier);
        lines.reverse();
        lines.join("\n")
    }
}

/// One message in a record.
fn line(day: &str, said: &Message) -> String {
    let (who, text) = match said {
        Message::User { text } | Message::ToolResult { text, .. } => ("Told", text.clone()),
        Message::Assistant { parts } => {
            ("Answered", parts.iter().filter_map(words_of).collect::<Vec<_>>().join("\n"))
        }
        Message::Attachments { files } => {
            ("Told", files.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    };
    format!("[{day}] {who}: {text}")
}

/// A summary as a model is told it.
fn in_marks(summary: &Summary, safety: &Safety) -> String {
    let words = match summary.from_outside {
        true => safety.incoming_text(Outside::Summary, &summary.text).told,
        false => safety.redacted(&summary.text).unwrap_or_else(|| summary.text.clone()),
    };
    format!("A summary of them, which a model has made:\n{words}")
}

const fn is_of_model(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

/// The same with what the model says several times in a row as one message: templates of chats refuse two of one role.
fn joined(said: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for message in said {
        match (joined.last_mut(), message) {
            (Some(Message::Assistant { parts: before }), Message::Assistant { parts })
                if !before.iter().chain(&parts).any(is_call) =>
            {
                let words: Vec<&str> = before.iter().chain(&parts).filter_map(words_of).collect();
                *before = vec![Part::Text { text: words.join("\n") }];
            }
            (_, message) => joined.push(message),
        }
    }
    joined
}

fn cost(said: &[Message]) -> usize {
    said.iter().map(tokens).sum()
}

/// The day of a run, and the first line of what the model said last in it.
fn line_of(group: &[StoredMessage], zone: Zone) -> Option<String> {
    group.iter().rev().find_map(|stored| match &stored.message {
        Message::Assistant { parts } => {
            let mut lines = parts.iter().rev().filter_map(words_of).flat_map(str::lines);
            let line = lines.find(|line| !line.trim().is_empty())?;
            let line = line.trim();
            let line = &line[..line.floor_char_boundary(LONGEST_LINE)];
            Some(format!("- {}: {line}", day(stored.at, zone)))
        }
        Message::User { .. } | Message::ToolResult { .. } | Message::Attachments { .. } => None,
    })
}

fn day(at: UnixMs, zone: Zone) -> String {
    at.to_utc().with_timezone(&zone).format("%Y-%m-%d").to_string()
}

/// What was said, as it may be told by now.
fn without_stored(message: Message, safety: &Safety) -> Message {
    match message {
        Message::User { text } => Message::User { text: safety.words(&text) },
        Message::Assistant { parts } => {
            let part = |part| match part {
                Part::Text { text } => Part::Text { text: safety.words(&text) },
                Part::ToolCall(call) => Part::ToolCall(without_stored_values(call, safety)),
                Part::Opaque { .. } => part,
            };
            Message::Assistant { parts: parts.into_iter().map(part).collect() }
        }
        Message::ToolResult { call_id, tool, text, is_error } => {
            Message::ToolResult { call_id, tool, text: safety.words(&text), is_error }
        }
        files @ Message::Attachments { .. } => files,
    }
}

/// What of a message is worth remembering.
fn said(message: &Message) -> Option<Message> {
    match message {
        Message::User { text } => Some(Message::User { text: told_to(text) }),
        Message::Assistant { parts } => {
            let words: Vec<&str> = parts
                .iter()
                .filter_map(words_of)
                .filter(|words| !words.trim().is_empty())
                .collect();
            let parts = vec![Part::Text { text: shortened(&words.join("\n")) }];
            (!words.is_empty()).then_some(Message::Assistant { parts })
        }
        Message::ToolResult { .. } | Message::Attachments { .. } => None,
    }
}

/// The words of a part; the summary with which a run was ended is the most important of them.
fn words_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::ToolCall(call) if call.tool == "complete_run" => {
            call.arguments.get("summary")?.as_str()
        }
        Part::ToolCall(_) | Part::Opaque { .. } => None,
    }
}

/// What somebody has said to the model, short enough to be told again: the lines of the queue that stood before it are the
/// first to go, the oldest before the newest, for what a person wrote stands behind them.
fn told_to(text: &str) -> String {
    let (mut rest, mut lines) = (text, 0_usize);
    while rest.chars().nth(MOST_CHARACTERS).is_some()
        && rest.starts_with(LEAD)
        && let Some((_, behind)) = rest.split_once("\n\n")
    {
        (rest, lines) = (behind, lines + 1);
    }
    match lines {
        0 => shortened(rest),
        1 => format!("(A line of the queue is left out here.)\n\n{}", shortened(rest)),
        _ => format!("({lines} lines of the queue are left out here.)\n\n{}", shortened(rest)),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{} …", closed(&text[..end]).trim_end()),
        None => text.to_owned(),
    }
}

/// A guess that is high enough for every language: four bytes a token, and a few for the envelope.
fn tokens(message: &Message) -> usize {
    let bytes = match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.len(),
        Message::Assistant { parts } => parts.iter().map(bytes_of).sum(),
        Message::Attachments { .. } => 0,
    };
    bytes / 4 + 8
}
