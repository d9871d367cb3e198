//! Tool calls and results in the history of the main session.
//!
//! Owns the selection: calls with a result and with short arguments stay. Never leaves a call without a result, which
//! no provider accepts.

use std::collections::HashSet;

use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_core::turn::COMPLETE_RUN;
use rouse_store::StoredMessage;

use super::message_text::{shortened, text_message};

/// The longest arguments of a call in the history.
const MAX_ARGUMENT_BYTES: usize = 2_000;

/// The messages of a run with short calls and the results.
pub(super) fn with_calls(run: &[StoredMessage]) -> Vec<Message> {
    let mut kept_calls = HashSet::new();
    let mut messages = Vec::new();
    for StoredMessage { message, .. } in run {
        match message {
            Message::Assistant { parts } => {
                let calls: Vec<&ToolCallRequest> =
                    parts.iter().filter_map(tool_call).filter(|call| is_kept(call, run)).collect();
                kept_calls.extend(calls.iter().map(|call| call.id.clone()));
                messages.extend(answer_with(message, &calls));
            }
            Message::ToolResult { call_id, tool, text, is_error } => {
                if kept_calls.contains(call_id) {
                    let (call_id, tool, text) = (call_id.clone(), tool.clone(), shortened(text));
                    messages.push(Message::ToolResult { call_id, tool, text, is_error: *is_error });
                }
            }
            Message::User { .. } | Message::Attachments { .. } => {
                messages.extend(text_message(message));
            }
        }
    }
    messages
}

const fn tool_call(part: &Part) -> Option<&ToolCallRequest> {
    match part {
        Part::ToolCall(call) => Some(call),
        Part::Text { .. } | Part::Opaque { .. } => None,
    }
}

fn is_kept(call: &ToolCallRequest, run: &[StoredMessage]) -> bool {
    let is_result = |message: &Message| matches!(message, Message::ToolResult { call_id, .. } if *call_id == call.id);
    call.tool != COMPLETE_RUN
        && call.arguments.is_object()
        && call.arguments.to_string().len() <= MAX_ARGUMENT_BYTES
        && run.iter().any(|stored| is_result(&stored.message))
}

/// The text of an answer with these calls; none when both are empty.
fn answer_with(answer: &Message, calls: &[&ToolCallRequest]) -> Option<Message> {
    let mut parts = match text_message(answer) {
        Some(Message::Assistant { parts }) => parts,
        _ => Vec::new(),
    };
    parts.extend(calls.iter().map(|&call| Part::ToolCall(call.clone())));
    (!parts.is_empty()).then_some(Message::Assistant { parts })
}
