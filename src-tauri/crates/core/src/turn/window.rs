//! What of a conversation a model is sent: as much as it can read.
//!
//! Owns the bound and what gives way to it, in this order: the results of older steps are shortened, then left out; what
//! the session remembers of earlier runs goes, the oldest first; older steps go as a whole, and one line counts them. Then
//! images and PDFs go, the newest calls and results are shortened, and last of all the task. Each gap is named in its place. A call
//! and its result stay or go together, because every provider refuses one without the other. Only what is sent is bounded:
//! the transcript stays whole, for a run that goes on and for people who read it.
//!
//! The older part is shortened to half of its room, so that the next steps only add to it and the cached prefix changes
//! rarely. Pitfall: a note quotes no result from outside, only the names of tools and the number of their calls.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::attachment::{Attachment, bound_attachments};
use crate::marks::frame;
use crate::message::{Message, Part};

/// Results of older steps are kept up to so many bytes, then only said to have been.
const SHORT: usize = 600;

/// Texts inside the arguments of older calls are kept up to so many bytes.
const SHORT_ARGUMENT: usize = 160;

/// Words of a model in older steps.
const SHORT_WORDS: usize = 400;

/// The least that a result or a task is shortened to.
const LEAST: usize = 200;

/// What a note about earlier runs costs at most, in tokens.
const NOTE: usize = 80;

/// How a note about steps that are left out begins.
const LEFT_OUT: &str = "(To save room, earlier steps of this run are left out here: ";

/// How a note about runs before this one begins: that of [`Window`], and that of whoever hands over what a session
/// remembers, which is never left out itself.
pub const EARLIER: &str = "(To save room, earlier runs of this session are left out here: ";

/// What is sent of one conversation, as it grows.
#[derive(Debug, Clone)]
pub struct Window {
    sent: Vec<Message>,
    /// Messages of the conversation that were looked at.
    taken: usize,
    /// Where the task is in what is sent.
    task: usize,
    /// How many calls of each tool were left out with their steps, and how many of all those went wrong.
    gone: BTreeMap<String, usize>,
    wrong: usize,
    forgotten: Forgotten,
}

/// What of earlier runs was left out.
#[derive(Debug, Clone, Default)]
struct Forgotten {
    messages: usize,
    results: usize,
    /// What was said before of runs that were left out.
    said: String,
}

/// What a message costs at most, in tokens: three bytes each, which is less than nearly every text has, and a few for
/// its envelope.
#[must_use]
pub fn tokens(message: &Message) -> usize {
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
    messages.iter().map(tokens).sum()
}

impl Window {
    /// A window on a conversation whose task is the message at `task`; before it stands what the session remembers.
    #[must_use]
    pub fn new(task: usize) -> Self {
        let (sent, gone, forgotten) = (Vec::new(), BTreeMap::new(), Forgotten::default());
        Self { sent, taken: 0, task, gone, wrong: 0, forgotten }
    }

    /// What is sent of `messages`, which only ever grow, in at most `most` tokens.
    pub fn within(&mut self, messages: &[Message], most: usize) -> &[Message] {
        self.sent.extend_from_slice(messages.get(self.taken..).unwrap_or_default());
        self.taken = messages.len();
        bound_attachments(&mut self.sent);
        if cost(&self.sent) > most {
            self.shorten(most);
        }
        &self.sent
    }

    /// The older part is reduced to half of the room that the newest step leaves; the newest step only to the bound itself.
    fn shorten(&mut self, most: usize) {
        let old: [fn(&mut Self, usize); 4] = [
            Self::shorten_old_results,
            Self::leave_out_old_results,
            Self::forget_earlier_runs,
            Self::leave_out_steps,
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

    /// Where the newest step begins: the model's last answer.
    fn newest(&self) -> usize {
        let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
        let after_task = self.sent.iter().skip(self.task + 1).rposition(is_answer);
        after_task.map_or(self.sent.len(), |at| self.task + 1 + at)
    }

    /// Changes the messages of older steps, the oldest first, until what is sent fits.
    fn change_old(&mut self, most: usize, change: impl Fn(&mut Message)) {
        let mut left = cost(&self.sent);
        for at in self.task + 1..self.newest() {
            if left <= most {
                return;
            }
            let before = tokens(&self.sent[at]);
            change(&mut self.sent[at]);
            left = left + tokens(&self.sent[at]) - before;
        }
    }

    fn shorten_old_results(&mut self, most: usize) {
        self.change_old(most, |message| match message {
            Message::ToolResult { text, .. } => *text = shortened(text, SHORT),
            Message::Attachments { files } => files.iter_mut().for_each(Attachment::drop_data),
            Message::Assistant { .. } | Message::User { .. } => {}
        });
    }

    fn leave_out_old_results(&mut self, most: usize) {
        self.change_old(most, |message| match message {
            Message::ToolResult { text, .. } if text.len() > LEAST => {
                *text = format!("(left out to save room: {} bytes)", text.len());
            }
            Message::Assistant { parts } => shorten_parts(parts),
            Message::ToolResult { .. } | Message::User { .. } | Message::Attachments { .. } => {}
        });
    }

    fn forget_earlier_runs(&mut self, most: usize) {
        let is_said =
            matches!(self.sent.first(), Some(Message::User { text }) if text.starts_with(EARLIER));
        let first = usize::from(is_said && self.task > 0);
        let mut left = cost(&self.sent) + NOTE;
        let mut end = first;
        // What is left of it begins with somebody's words to the model, as providers want it.
        while end < self.task && (left > most || !matches!(self.sent[end], Message::User { .. })) {
            left -= tokens(&self.sent[end]);
            end += 1;
        }
        if end == first {
            return;
        }
        if let Some(Message::User { text }) = self.sent.first().filter(|_| first == 1)
            && self.forgotten.messages == 0
        {
            self.forgotten.said = format!("{text}\n");
        }
        for message in self.sent.drain(..end).skip(first) {
            self.forgotten.messages += 1;
            self.forgotten.results += usize::from(matches!(message, Message::ToolResult { .. }));
        }
        self.sent.insert(0, Message::User { text: self.forgotten.note() });
        self.task = self.task + 1 - end;
    }

    fn leave_out_steps(&mut self, most: usize) {
        let first = self.task + 1;
        let newest = self.newest();
        let mut end = first;
        let mut left = cost(&self.sent);
        while end < newest && left > most {
            left -= tokens(&self.sent[end]);
            end += 1;
            while end < newest && !matches!(self.sent[end], Message::Assistant { .. }) {
                left -= tokens(&self.sent[end]);
                end += 1;
            }
        }
        for message in self.sent.drain(first..end) {
            if let Message::ToolResult { tool, is_error, .. } = message {
                *self.gone.entry(tool).or_default() += 1;
                self.wrong += usize::from(is_error);
            }
        }
        if end > first {
            self.sent.insert(first, Message::User { text: self.note() });
        }
    }

    fn note(&self) -> String {
        let tools: Vec<String> =
            self.gone.iter().map(|(tool, times)| format!("{tool} {times}×")).collect();
        let wrong = if self.wrong == 0 {
            String::new()
        } else {
            format!("; {} of these calls went wrong", self.wrong)
        };
        let tools = if tools.is_empty() { "words".to_owned() } else { tools.join(", ") };
        format!("{LEFT_OUT}{tools}{wrong}. What they did is done.)")
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
        let rest: usize =
            self.sent.iter().filter(|message| !is_result(message)).map(tokens).sum::<usize>()
                + cost_of_old_results(&self.sent[..newest]);
        let results = self.sent[newest..].iter().filter(is_result).count();
        if results == 0 {
            return;
        }
        // Short ones leave their share to the long ones.
        let mut room = most.saturating_sub(rest) * 3;
        let mut lengths: Vec<usize> = self.sent[newest..]
            .iter()
            .filter(is_result)
            .map(|message| tokens(message) * 3)
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
                let frame = call_id.len() + tool.len() + 24;
                *text = shortened(text, share.saturating_sub(frame).max(LEAST));
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

impl Forgotten {
    fn note(&self) -> String {
        let Self { messages, results, said } = self;
        let results = match results {
            0 => String::new(),
            results => format!(", {results} of them results of tools"),
        };
        format!(
            "{said}{EARLIER}{messages} messages of earlier runs{results}. The session's transcript has them.)"
        )
    }
}

fn cost_of_old_results(messages: &[Message]) -> usize {
    let results = messages.iter().filter(|message| matches!(message, Message::ToolResult { .. }));
    results.map(tokens).sum()
}

/// An answer of the model with shorter words and arguments, and without what only its provider understands.
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

/// At most about `most` bytes of a text: two thirds of them its beginning, and its end. Marks around it stay.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    if let Some((first, inside, last)) = frame(text) {
        let frame = first.len() + last.len() + 2;
        return format!("{first}\n{}\n{last}", shortened(inside, most.saturating_sub(frame)));
    }
    let kept = most.saturating_sub(60);
    let head = text.floor_char_boundary(kept / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - kept / 3);
    let left_out = tail - head;
    format!("{}\n… ({left_out} bytes left out to save room) …\n{}", &text[..head], &text[tail..])
}
