//! The journal entry of a model call.

use rouse_core::message::{ModelAnswer, ToolCallRequest};
use rouse_store::{StepEnd, StepStatus};
use serde_json::{Value, json};

use super::end::TurnEnd;
use super::journal::REDACTED_CALLS;
use super::usage::CallUsage;
use crate::gate::Gate;
use crate::safety::RedactedCalls;

/// The end of a call with an answer. Lists the calls that held stored secrets: if the run resumes after a break, they must
/// not be made with the redacted values.
pub(super) fn answered(
    gate: &Gate,
    answer: &ModelAnswer,
    redacted: &RedactedCalls,
    usage: CallUsage,
) -> StepEnd {
    let shown = |call: &ToolCallRequest| json!({ "tool": call.tool, "arguments": gate.shown_arguments(&call.tool, &call.arguments) });
    let calls: Vec<Value> = answer.calls().map(shown).collect();
    let mut output = json!({ "text": answer.text(), "calls": calls, "model": answer.model });
    if !redacted.is_empty() {
        output[REDACTED_CALLS] = redacted.iter().cloned().collect();
    }
    ended(StepStatus::Finished, output, usage)
}

/// The end of a call without an answer; keeps the text that clients were shown.
pub(super) fn failed(end: &TurnEnd, shown_text: Option<String>, usage: CallUsage) -> StepEnd {
    let mut output = json!({ "error": end.to_string() });
    if let Some(text) = shown_text {
        output["text"] = Value::String(text);
    }
    ended(StepStatus::Failed, output, usage)
}

fn ended(status: StepStatus, output: Value, usage: CallUsage) -> StepEnd {
    StepEnd {
        status,
        output: Some(usage.mark(output)),
        is_error: false,
        usage: usage.usage,
        duration_ms: None,
    }
}
