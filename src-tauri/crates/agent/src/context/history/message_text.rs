//! The text of a stored message, short enough for a later run.

use rouse_core::fence::complete_prefix;
use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_core::turn::COMPLETE_RUN;

use crate::context::queued_events::EVENT_PREFIX;
use crate::safety::Safety;

/// The most characters of a message.
pub(super) const MAX_CHARACTERS: usize = 6_000;

/// The text of a message; none of tool results, attachments and answers without text.
pub(super) fn text_message(message: &Message) -> Option<Message> {
    match message {
        Message::User { text } => Some(Message::User { text: without_old_events(text) }),
        Message::Assistant { parts } => {
            let texts: Vec<&str> =
                parts.iter().filter_map(part_text).filter(|text| !text.trim().is_empty()).collect();
            let text = shortened(&texts.join("\n"));
            (!texts.is_empty()).then(|| assistant(text))
        }
        Message::ToolResult { .. } | Message::Attachments { .. } => None,
    }
}

pub(super) fn assistant(text: String) -> Message {
    Message::Assistant { parts: vec![Part::Text { text }] }
}

pub(super) const fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

const fn is_call(part: &Part) -> bool {
    matches!(part, Part::ToolCall(_))
}

/// The text of a part; the summary of `complete_run` is the most important text of a run.
pub(crate) fn part_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::ToolCall(call) if call.tool == COMPLETE_RUN => {
            call.arguments.get("summary")?.as_str()
        }
        Part::ToolCall(_) | Part::Opaque { .. } => None,
    }
}

/// Drops the oldest queued events of a long message first: the person's own text is at the end.
fn without_old_events(text: &str) -> String {
    let (mut rest, mut dropped) = (text, 0_usize);
    while rest.chars().nth(MAX_CHARACTERS).is_some()
        && rest.starts_with(EVENT_PREFIX)
        && let Some((_, behind)) = rest.split_once("\n\n")
    {
        (rest, dropped) = (behind, dropped + 1);
    }
    match dropped {
        0 => shortened(rest),
        1 => format!("(1 earlier system event is omitted.)\n\n{}", shortened(rest)),
        _ => format!("({dropped} earlier system events are omitted.)\n\n{}", shortened(rest)),
    }
}

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} …", complete_prefix(&text[..end]).trim_end()),
        None => text.to_owned(),
    }
}

/// Joins consecutive answers without tool calls: some chat templates refuse two messages of the same role.
pub(super) fn joined(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for message in messages {
        match (joined.last_mut(), message) {
            (Some(Message::Assistant { parts: before }), Message::Assistant { parts })
                if !before.iter().chain(&parts).any(is_call) =>
            {
                let texts: Vec<&str> = before.iter().chain(&parts).filter_map(part_text).collect();
                *before = vec![Part::Text { text: texts.join("\n") }];
            }
            (_, message) => joined.push(message),
        }
    }
    joined
}

/// The message without the values of secrets that were stored later.
pub(super) fn redacted(message: Message, safety: &Safety) -> Message {
    match message {
        Message::User { text } => Message::User { text: safety.redact_stored(&text) },
        Message::Assistant { parts } => {
            let part = |part| match part {
                Part::Text { text } => Part::Text { text: safety.redact_stored(&text) },
                Part::ToolCall(call) => Part::ToolCall(redacted_call(call, safety)),
                Part::Opaque { .. } => part,
            };
            Message::Assistant { parts: parts.into_iter().map(part).collect() }
        }
        Message::ToolResult { call_id, tool, text, is_error } => {
            Message::ToolResult { call_id, tool, text: safety.redact_stored(&text), is_error }
        }
        files @ Message::Attachments { .. } => files,
    }
}

fn redacted_call(call: ToolCallRequest, safety: &Safety) -> ToolCallRequest {
    let written = call.arguments.to_string();
    let clean = safety.redact_stored(&written);
    if clean == written {
        return call;
    }
    ToolCallRequest { arguments: serde_json::from_str(&clean).unwrap_or_default(), ..call }
}

/// A high estimate of the tokens of `messages`: four bytes a token, and a few tokens for each envelope.
pub(super) fn tokens(messages: &[Message]) -> usize {
    let bytes = |message: &Message| match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.len(),
        Message::Assistant { parts } => parts.iter().map(part_bytes).sum(),
        Message::Attachments { .. } => 0,
    };
    messages.iter().map(|message| bytes(message) / 4 + 8).sum()
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::ToolCall(call) if call.tool != COMPLETE_RUN => {
            call.tool.len() + call.arguments.to_string().len()
        }
        part => part_text(part).map_or(0, str::len),
    }
}
