//! The context window: the part of a conversation that is sent to the model.
//!
//! Owns the bound and the order of reduction: results of older steps are shortened, then omitted; memory of earlier
//! runs is omitted, oldest first; older steps are omitted whole, with a single note with the count; images and PDFs are
//! dropped; the newest calls and results are shortened; last the task. A call and its result stay or go together,
//! because providers refuse a call without a result. Never changes the transcript.
//!
//! The older part is reduced to half of the limit, so that the next steps only append and the cached prefix stays
//! valid.
//! Pitfall: quoting untrusted results in a note; notes hold only tool names and counts.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::attachment::{Attachment, drop_oldest_attachments};
use crate::fence::split_fence;
use crate::message::{Message, Part};

/// The maximum bytes of a shortened older result.
const SHORT: usize = 600;

/// The maximum bytes of a text in the arguments of an older call.
const SHORT_ARGUMENT: usize = 160;

/// The maximum bytes of the model's text in older steps.
const SHORT_WORDS: usize = 400;

/// The minimum bytes of a shortened result or task.
const LEAST: usize = 200;

/// The maximum tokens of a note about earlier runs.
const NOTE: usize = 80;

/// Begins the note about omitted steps.
const LEFT_OUT: &str = "(To save room, earlier steps of this run are left out here: ";

/// Begins a note about earlier runs: of [`ContextWindow`], or of the session's memory, which is never omitted itself.
pub const EARLIER_RUNS_NOTE: &str =
    "(To save room, earlier runs of this session are left out here: ";

/// The messages to send for a growing conversation.
#[derive(Debug, Clone)]
pub struct ContextWindow {
    sent: Vec<Message>,
    /// The number of messages taken in.
    taken: usize,
    /// The index of the task in `sent`.
    task: usize,
    /// The calls of omitted steps by tool, and the failed calls among them.
    omitted_calls: BTreeMap<String, usize>,
    failed_calls: usize,
    omitted: OmittedRuns,
}

/// The omitted messages of earlier runs.
#[derive(Debug, Clone, Default)]
struct OmittedRuns {
    messages: usize,
    results: usize,
    /// The earlier note of the session's memory.
    session_note: String,
}

/// An upper estimate of the tokens of a message: three bytes each, below the ratio of nearly every text, plus an envelope.
#[must_use]
pub fn estimate_tokens(message: &Message) -> usize {
    let bytes = match message {
        Message::User { text } => text.len(),
        Message::ToolResult { call_id, tool, text, .. } => call_id.len() + tool.len() + text.len(),
        Message::Assistant { parts } => parts.iter().map(bytes_of).sum(),
        Message::Attachments { files } => {
            return files.iter().map(Attachment::tokens).sum::<usize>() + 8 * files.len();
        }
    };
    bytes / 3 + 8
}

fn bytes_of(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::ToolCall(call) => call.id.len() + call.tool.len() + call.arguments.to_string().len(),
        Part::Opaque { block, .. } => block.to_string().len(),
    }
}

fn cost(messages: &[Message]) -> usize {
    messages.iter().map(estimate_tokens).sum()
}

impl ContextWindow {
    /// A window on a conversation with the task at index `task`, behind the session's memory.
    #[must_use]
    pub fn new(task: usize) -> Self {
        let (sent, omitted_calls, omitted) = (Vec::new(), BTreeMap::new(), OmittedRuns::default());
        Self { sent, taken: 0, task, omitted_calls, failed_calls: 0, omitted }
    }

    /// The messages to send for `messages`, in at most `most` tokens. The slice only ever grows between calls.
    pub fn fit(&mut self, messages: &[Message], most: usize) -> &[Message] {
        self.sent.extend_from_slice(messages.get(self.taken..).unwrap_or_default());
        self.taken = messages.len();
        drop_oldest_attachments(&mut self.sent);
        if cost(&self.sent) > most {
            self.shorten(most);
        }
        &self.sent
    }

    /// Reduces the older part to half of the room beside the newest step, and the newest step to the bound itself.
    fn shorten(&mut self, most: usize) {
        let old: [fn(&mut Self, usize); 4] = [
            Self::shorten_old_results,
            Self::omit_old_results,
            Self::omit_earlier_runs,
            Self::omit_steps,
        ];
        let newest: [fn(&mut Self, usize); 4] = [
            Self::drop_attachments,
            Self::shorten_newest_answer,
            Self::shorten_newest_results,
            Self::shorten_task,
        ];
        let newest_cost = cost(&self.sent[self.newest()..]);
        self.take_steps(&old, newest_cost + most.saturating_sub(newest_cost) / 2);
        self.take_steps(&newest, most);
    }

    fn take_steps(&mut self, steps: &[fn(&mut Self, usize)], most: usize) {
        for step in steps {
            if cost(&self.sent) <= most {
                return;
            }
            step(self, most);
        }
    }

    /// The index of the newest step: the model's last answer.
    fn newest(&self) -> usize {
        let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
        let after_task = self.sent.iter().skip(self.task + 1).rposition(is_answer);
        after_task.map_or(self.sent.len(), |at| self.task + 1 + at)
    }

    /// Changes messages of older steps, oldest first, until the window fits.
    fn change_old(&mut self, most: usize, change: impl Fn(&mut Message)) {
        let mut left = cost(&self.sent);
        for at in self.task + 1..self.newest() {
            if left <= most {
                return;
            }
            let before = estimate_tokens(&self.sent[at]);
            change(&mut self.sent[at]);
            left = left + estimate_tokens(&self.sent[at]) - before;
        }
    }

    fn shorten_old_results(&mut self, most: usize) {
        self.change_old(most, |message| match message {
            Message::ToolResult { text, .. } => *text = shortened(text, SHORT),
            Message::Attachments { files } => files.iter_mut().for_each(Attachment::drop_data),
            Message::Assistant { .. } | Message::User { .. } => {}
        });
    }

    fn omit_old_results(&mut self, most: usize) {
        self.change_old(most, |message| match message {
            Message::ToolResult { text, .. } if text.len() > LEAST => {
                *text = format!("(left out to save room: {} bytes)", text.len());
            }
            Message::Assistant { parts } => shorten_parts(parts),
            Message::ToolResult { .. } | Message::User { .. } | Message::Attachments { .. } => {}
        });
    }

    fn omit_earlier_runs(&mut self, most: usize) {
        let has_session_note = matches!(self.sent.first(), Some(Message::User { text }) if text.starts_with(EARLIER_RUNS_NOTE));
        let first = usize::from(has_session_note && self.task > 0);
        let mut left = cost(&self.sent) + NOTE;
        let mut end = first;
        // Providers want the rest to begin with a user message.
        while end < self.task && (left > most || !matches!(self.sent[end], Message::User { .. })) {
            left -= estimate_tokens(&self.sent[end]);
            end += 1;
        }
        if end == first {
            return;
        }
        if let Some(Message::User { text }) = self.sent.first().filter(|_| first == 1)
            && self.omitted.messages == 0
        {
            self.omitted.session_note = format!("{text}\n");
        }
        for message in self.sent.drain(..end).skip(first) {
            self.omitted.messages += 1;
            self.omitted.results += usize::from(matches!(message, Message::ToolResult { .. }));
        }
        self.sent.insert(0, Message::User { text: self.omitted.note() });
        self.task = self.task + 1 - end;
    }

    fn omit_steps(&mut self, most: usize) {
        let first = self.task + 1;
        let newest = self.newest();
        let mut end = first;
        let mut left = cost(&self.sent);
        while end < newest && left > most {
            left -= estimate_tokens(&self.sent[end]);
            end += 1;
            while end < newest && !matches!(self.sent[end], Message::Assistant { .. }) {
                left -= estimate_tokens(&self.sent[end]);
                end += 1;
            }
        }
        for message in self.sent.drain(first..end) {
            if let Message::ToolResult { tool, is_error, .. } = message {
                *self.omitted_calls.entry(tool).or_default() += 1;
                self.failed_calls += usize::from(is_error);
            }
        }
        if end > first {
            self.sent.insert(first, Message::User { text: self.note() });
        }
    }

    fn note(&self) -> String {
        let tools: Vec<String> =
            self.omitted_calls.iter().map(|(tool, times)| format!("{tool} {times}×")).collect();
        let failed = if self.failed_calls == 0 {
            String::new()
        } else {
            format!("; {} of these calls failed", self.failed_calls)
        };
        let tools = if tools.is_empty() { "words".to_owned() } else { tools.join(", ") };
        format!("{LEFT_OUT}{tools}{failed}. The effects of these calls remain.)")
    }

    fn drop_attachments(&mut self, _: usize) {
        for message in &mut self.sent {
            if let Message::Attachments { files } = message {
                files.iter_mut().for_each(Attachment::drop_data);
            }
        }
    }

    fn shorten_newest_answer(&mut self, _: usize) {
        let newest = self.newest();
        if let Some(Message::Assistant { parts }) = self.sent.get_mut(newest) {
            shorten_parts(parts);
        }
    }

    fn shorten_newest_results(&mut self, most: usize) {
        let newest = self.newest();
        let is_result = |message: &&Message| matches!(message, Message::ToolResult { .. });
        let rest: usize = self
            .sent
            .iter()
            .filter(|message| !is_result(message))
            .map(estimate_tokens)
            .sum::<usize>()
            + cost_of_old_results(&self.sent[..newest]);
        let results = self.sent[newest..].iter().filter(is_result).count();
        if results == 0 {
            return;
        }
        // Short results leave a share to long results.
        let mut room = most.saturating_sub(rest) * 3;
        let mut lengths: Vec<usize> = self.sent[newest..]
            .iter()
            .filter(is_result)
            .map(|message| estimate_tokens(message) * 3)
            .collect();
        lengths.sort_unstable();
        let mut share = 0;
        for (number, length) in lengths.iter().enumerate() {
            share = room / (results - number);
            if *length > share {
                break;
            }
            room -= length;
        }
        for message in &mut self.sent[newest..] {
            if let Message::ToolResult { text, call_id, tool, .. } = message {
                let split_fence = call_id.len() + tool.len() + 24;
                *text = shortened(text, share.saturating_sub(split_fence).max(LEAST));
            }
        }
    }

    fn shorten_task(&mut self, most: usize) {
        let over = cost(&self.sent).saturating_sub(most) * 3;
        if let Some(Message::User { text }) = self.sent.get_mut(self.task) {
            *text = shortened(text, text.len().saturating_sub(over).max(LEAST));
        }
    }
}

impl OmittedRuns {
    fn note(&self) -> String {
        let Self { messages, results, session_note } = self;
        let results = match results {
            0 => String::new(),
            results => format!(", including {results} tool results"),
        };
        format!(
            "{session_note}{EARLIER_RUNS_NOTE}{messages} messages of earlier runs{results}. The session's transcript has them.)"
        )
    }
}

fn cost_of_old_results(messages: &[Message]) -> usize {
    let results = messages.iter().filter(|message| matches!(message, Message::ToolResult { .. }));
    results.map(estimate_tokens).sum()
}

/// Shortens text and arguments of an answer, and removes opaque blocks.
fn shorten_parts(parts: &mut Vec<Part>) {
    parts.retain(|part| !matches!(part, Part::Opaque { .. }));
    for part in parts {
        match part {
            Part::Text { text } => *text = shortened(text, SHORT_WORDS),
            Part::ToolCall(call) => shorten_texts(&mut call.arguments),
            Part::Opaque { .. } => {}
        }
    }
}

fn shorten_texts(value: &mut Value) {
    if value.to_string().len() <= SHORT_ARGUMENT {
        return;
    }
    match value {
        Value::String(text) => *text = shortened(text, SHORT_ARGUMENT),
        Value::Array(items) => {
            items.truncate(8);
            items.iter_mut().for_each(shorten_texts);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// About `most` bytes of a text: two thirds from the beginning, the rest from the end. A fence stays closed.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    if let Some((first, inside, last)) = split_fence(text) {
        let split_fence = first.len() + last.len() + 2;
        return format!("{first}\n{}\n{last}", shortened(inside, most.saturating_sub(split_fence)));
    }
    let kept = most.saturating_sub(60);
    let head = text.floor_char_boundary(kept / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - kept / 3);
    let left_out = tail - head;
    format!("{}\n… ({left_out} bytes left out to save room) …\n{}", &text[..head], &text[tail..])
}
