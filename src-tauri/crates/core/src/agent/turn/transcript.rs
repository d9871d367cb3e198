//! Facts about a run that follow from the messages alone, for a resumed run.

use super::{COMPLETE_RUN, Closing, LAST_TURN};
use crate::message::{Message, Part, ToolCallRequest};

/// The calls of the assistant message at `index` without a result. A `complete_run` is pending again: the result does
/// not hold the outcome.
pub(super) fn pending_calls(run: &mut Vec<Message>, index: usize) -> Vec<ToolCallRequest> {
    let Message::Assistant { parts } = &run[index] else { return Vec::new() };
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    let calls: Vec<ToolCallRequest> = calls.collect();
    let mut results = run.split_off(index + 1);
    let ends = |result: &Message| matches!(result, Message::ToolResult { tool, is_error: false, .. } if tool == COMPLETE_RUN);
    results.retain(|result| !ends(result));
    let has_result = |call: &ToolCallRequest| {
        results.iter().any(
            |result| matches!(result, Message::ToolResult { call_id, .. } if *call_id == call.id),
        )
    };
    let pending = calls.into_iter().filter(|call| !has_result(call)).collect();
    run.append(&mut results);
    pending
}

pub(super) fn text_of(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text } => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}

/// The state of the closing turn in the messages of a run.
pub(super) fn closing_of(run: &[Message]) -> Option<Closing> {
    let is_announcement =
        |message: &Message| matches!(message, Message::User { text } if text == LAST_TURN.trim());
    let announced = run.iter().rposition(is_announcement)?;
    let is_answered =
        run[announced..].iter().any(|message| matches!(message, Message::Assistant { .. }));
    Some(if is_answered { Closing::Answered } else { Closing::Requested })
}
