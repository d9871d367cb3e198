//! The calls and results in the history of the main session.
//!
//! Owns which calls stay: those with a result and with short arguments. Never leaves a call without its result, because no
//! provider takes it.

use std::collections::HashSet;

use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_store::StoredMessage;

use super::{said, shortened, words_of};
use crate::safety::Safety;

/// The longest arguments of a call that is told again.
const MOST_ARGUMENT_BYTES: usize = 2_000;

/// A call without the values of secrets that were stored after it was made.
pub(super) fn without_stored_values(call: ToolCallRequest, safety: &Safety) -> ToolCallRequest {
    let written = call.arguments.to_string();
    let clean = safety.words(&written);
    match clean == written {
        true => call,
        false => {
            ToolCallRequest { arguments: serde_json::from_str(&clean).unwrap_or_default(), ..call }
        }
    }
}

pub(super) const fn is_call(part: &Part) -> bool {
    matches!(part, Part::ToolCall(_))
}

/// What was said in these messages with the calls and their results. A call without a result, or with long arguments, is left
/// out: no provider takes the one, and the other is rarely asked about.
pub(super) fn with_calls(group: &[StoredMessage]) -> Vec<Message> {
    let has_result = |call: &ToolCallRequest| {
        let answers = |message: &Message| matches!(message, Message::ToolResult { call_id, .. } if *call_id == call.id);
        group.iter().any(|stored| answers(&stored.message))
    };
    let is_kept = |call: &ToolCallRequest| {
        call.tool != "complete_run"
            && call.arguments.is_object()
            && call.arguments.to_string().len() <= MOST_ARGUMENT_BYTES
            && has_result(call)
    };
    let mut kept = HashSet::new();
    let mut told = Vec::new();
    for StoredMessage { message, .. } in group {
        let words = said(message);
        let Message::Assistant { parts } = message else {
            if let Message::ToolResult { call_id, tool, text, is_error } = message
                && kept.contains(call_id)
            {
                let (call_id, tool, text) = (call_id.clone(), tool.clone(), shortened(text));
                told.push(Message::ToolResult { call_id, tool, text, is_error: *is_error });
            }
            told.extend(words);
            continue;
        };
        let calls = parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) if is_kept(call) => Some(call),
            _ => None,
        });
        let mut parts = match words {
            Some(Message::Assistant { parts }) => parts,
            _ => Vec::new(),
        };
        for call in calls {
            kept.insert(call.id.clone());
            parts.push(Part::ToolCall(call.clone()));
        }
        told.extend((!parts.is_empty()).then_some(Message::Assistant { parts }));
    }
    told
}

/// The length of a part as it is told.
pub(super) fn bytes_of(part: &Part) -> usize {
    match part {
        Part::ToolCall(call) if call.tool != "complete_run" => {
            call.tool.len() + call.arguments.to_string().len()
        }
        part => words_of(part).map_or(0, str::len),
    }
}
