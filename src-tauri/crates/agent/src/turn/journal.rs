//! The journal of a run that resumes after a break.
//!
//! Owns the answer to "was this call made?". A call with an outcome is not repeated: the result comes from the journal.
//! A call without an outcome is repeated only if that is harmless; otherwise the model learns that the outcome is
//! unknown. Pitfall: matching call ids across answers; some providers restart the ids in every answer. Only steps after
//! the last answer count.

use std::collections::HashMap;

use rouse_core::message::ToolCallRequest;
use rouse_core::tool::ToolOutput;
use rouse_core::turn::COMPLETE_RUN;
use rouse_store::{RunStep, StepKind, StepStatus};

use crate::safety::RedactedCalls;

/// The name of the note of a change to a fallback model.
pub(crate) const FALLBACK_NOTE: &str = "Another model";

/// The key in the journalled output of an answer: ids of the calls that held a stored secret.
pub(crate) const REDACTED_CALLS: &str = "heldSecrets";

/// The steps of a run before a break.
pub(crate) struct Journal {
    /// The calls after the last answer of the model, by id.
    calls: HashMap<String, RunStep>,
    /// The calls of that answer that held a stored secret.
    redacted_calls: RedactedCalls,
    /// The current attempt.
    attempt: u32,
    /// Whether this attempt has called a model. An approval decision continues the attempt that asked.
    has_called_model: bool,
    /// The call that summarised the session, with any result.
    summary: Option<RunStep>,
    /// The newest answer of this attempt.
    newest_answer: Option<RunStep>,
    /// The notes of changes to a fallback model, in order.
    fallbacks: Vec<RunStep>,
}

/// The journal's record of a call.
pub(crate) enum EarlierCall {
    /// Not begun, harmless to repeat, or waiting for input.
    ToDo,
    /// Has an outcome.
    Done(Box<RunStep>),
    /// Begun, with an unknown outcome.
    Unknown,
}

impl Journal {
    pub(crate) fn new(steps: Vec<RunStep>, attempt: u32) -> Self {
        let is_of_attempt =
            |step: &RunStep| step.kind == StepKind::ModelTurn && step.input["attempt"] == attempt;
        let is_decided =
            |step: &&RunStep| is_of_attempt(step) && step.status == StepStatus::Finished;
        let is_fallback =
            |step: &&RunStep| step.kind == StepKind::Note && step.name == FALLBACK_NOTE;
        let last_turn = steps.iter().rposition(|step| step.kind == StepKind::ModelTurn);
        Self {
            redacted_calls: last_turn.map(|at| redacted_calls(&steps[at])).unwrap_or_default(),
            attempt,
            has_called_model: steps.iter().any(is_of_attempt),
            summary: steps.iter().find(|step| step.kind == StepKind::Summary).cloned(),
            newest_answer: steps.iter().rfind(is_decided).cloned(),
            fallbacks: steps.iter().filter(is_fallback).cloned().collect(),
            calls: tool_calls(steps.into_iter().skip(last_turn.map_or(0, |at| at + 1))),
        }
    }

    pub(crate) const fn redacted_calls(&self) -> &RedactedCalls {
        &self.redacted_calls
    }

    pub(crate) const fn summary(&self) -> Option<&RunStep> {
        self.summary.as_ref()
    }

    pub(crate) const fn newest_answer(&self) -> Option<&RunStep> {
        self.newest_answer.as_ref()
    }

    pub(crate) fn fallbacks(&self) -> &[RunStep] {
        &self.fallbacks
    }

    pub(crate) const fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) const fn has_called_model(&self) -> bool {
        self.has_called_model
    }

    pub(crate) fn earlier_call(&self, call: &ToolCallRequest) -> EarlierCall {
        // `complete_run` has no effect except its report, and the journal does not keep the report unchanged.
        let Some(step) = self.calls.get(&call.id).filter(|_| call.tool != COMPLETE_RUN) else {
            return EarlierCall::ToDo;
        };
        match step.status {
            StepStatus::Finished | StepStatus::Failed => EarlierCall::Done(Box::new(step.clone())),
            StepStatus::InputRequired => EarlierCall::ToDo,
            StepStatus::Started | StepStatus::Unknown if step.repeatable => EarlierCall::ToDo,
            StepStatus::Started | StepStatus::Unknown => EarlierCall::Unknown,
        }
    }
}

fn redacted_calls(answer: &RunStep) -> RedactedCalls {
    let ids = answer.output.as_ref().and_then(|output| output[REDACTED_CALLS].as_array());
    ids.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

fn tool_calls(steps: impl Iterator<Item = RunStep>) -> HashMap<String, RunStep> {
    let calls = steps.filter(|step| step.kind == StepKind::ToolCall);
    calls.filter_map(|step| Some((step.call_id.clone()?, step))).collect()
}

/// The result of a call with an unknown outcome.
pub(crate) fn unknown_outcome(tool: &str) -> ToolOutput {
    ToolOutput::error(format!(
        "Rouse was stopped during the call of {tool}, and its outcome is unknown. The call was not repeated. Check before you repeat it."
    ))
}
