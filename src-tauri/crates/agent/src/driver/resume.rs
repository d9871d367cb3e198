//! What became of the calls that a run had begun before a break.
//!
//! Owns the answer to "was this call made?": the journal says so. A call that has an outcome is not made again; its
//! outcome is told from the journal. One whose outcome nobody knows is made again only when that is harmless, and else
//! the model is told that nobody knows. One could get it wrong by the ids of calls alone: some providers count them
//! anew with every answer, so only what was journalled after the last answer counts.
//!
//! The journal also has what the transcript does not: the calls that hold stored secrets and waited for a person, by
//! their handles, or by the name under which memory has them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::message::ToolCallRequest;
use rouse_core::tool::ToolOutput;
use rouse_store::{RunStep, StepKind, StepStatus};
use serde_json::Value;

/// The note of the calls that a run has kept by their handles when it began to wait.
pub(super) const KEPT_CALLS: &str = "Calls that write stored secrets wait";

/// The note of the calls that memory alone has kept when the run began to wait.
pub(super) const HELD_CALLS: &str = "Calls that read like stored secrets wait in memory";

/// The note of the calls that hold stored secrets and could not be kept like that: the transcript has a mark in the place
/// of the value, and with the mark it would be another call.
pub(super) const LOST_CALLS: &str = "Calls that hold stored secrets are not made after a wait";

/// What a run knows of itself from before a break.
pub(super) struct Journal {
    /// The calls that were begun after the last answer of the model, by their ids.
    calls: HashMap<String, RunStep>,
    /// The arguments of those that waited and hold stored secrets, by handles.
    kept: HashMap<String, Value>,
    /// Those that memory alone has, with their names there.
    held: HashMap<String, String>,
    /// Those of them that could not be kept.
    lost: HashSet<String>,
    /// The attempt that it makes now.
    attempt: u32,
    /// Whether a model was asked in this attempt before: an answer of a person goes on with the attempt that asked.
    has_asked: AtomicBool,
    /// The call that had the session summed up, whatever came of it.
    summary: Option<RunStep>,
}

/// What a run that goes on does with one of its calls.
pub(super) enum Earlier {
    /// It was not begun, or doing it again is harmless.
    ToDo,
    /// It has an outcome.
    Done(Box<RunStep>),
    /// It was begun, and nobody knows how it ended.
    Unknown,
    /// It has waited, and what the model had written is not there any more.
    Lost,
}

impl Journal {
    /// That of the attempt `attempt`.
    pub(super) fn of(steps: Vec<RunStep>, attempt: u32) -> Self {
        let is_of_attempt =
            |step: &RunStep| step.kind == StepKind::ModelTurn && step.input["attempt"] == attempt;
        let has_asked = AtomicBool::new(steps.iter().any(is_of_attempt));
        let summary = steps.iter().find(|step| step.kind == StepKind::Summary).cloned();
        let answered = steps.iter().rposition(|step| step.kind == StepKind::ModelTurn);
        let since = answered.map_or(0, |at| at + 1);
        let (mut calls, mut kept, mut lost) = (HashMap::new(), HashMap::new(), HashSet::new());
        let mut held = HashMap::new();
        for step in steps.into_iter().skip(since) {
            match (step.kind, step.call_id.clone()) {
                (StepKind::ToolCall, Some(id)) => drop(calls.insert(id, step)),
                (StepKind::Note, _) if step.name == KEPT_CALLS => {
                    kept.extend(step.input.as_object().cloned().unwrap_or_default());
                }
                (StepKind::Note, _) if step.name == HELD_CALLS => {
                    let names = step.input.as_object().into_iter().flatten();
                    held.extend(
                        names
                            .filter_map(|(id, name)| Some((id.clone(), name.as_str()?.to_owned()))),
                    );
                }
                (StepKind::Note, _) if step.name == LOST_CALLS => {
                    lost.extend(
                        step.input.as_object().into_iter().flatten().map(|(id, _)| id.clone()),
                    );
                }
                _ => {}
            }
        }
        Self { calls, kept, held, lost, attempt, has_asked, summary }
    }

    /// The arguments of a call that has waited and holds stored secrets, by handles.
    pub(super) fn kept(&self, call: &ToolCallRequest) -> Option<&Value> {
        self.kept.get(&call.id)
    }

    /// Under what name memory has the arguments of a call that has waited.
    pub(super) fn held(&self, call: &ToolCallRequest) -> Option<&str> {
        self.held.get(&call.id).map(String::as_str)
    }

    /// The call that had the session summed up.
    pub(super) const fn summary(&self) -> Option<&RunStep> {
        self.summary.as_ref()
    }

    /// The attempt that is made now.
    pub(super) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether a model is asked for the first time in this attempt; true once.
    pub(super) fn asks_first(&self) -> bool {
        !self.has_asked.swap(true, Ordering::Relaxed)
    }

    pub(super) fn earlier(&self, call: &ToolCallRequest) -> Earlier {
        // It has no effect but its answer, and the journal does not keep that as it is.
        let Some(step) = self.calls.get(&call.id).filter(|_| call.tool != "complete_run") else {
            let is_lost = self.lost.contains(&call.id);
            return if is_lost { Earlier::Lost } else { Earlier::ToDo };
        };
        match step.status {
            StepStatus::Finished | StepStatus::Failed => Earlier::Done(Box::new(step.clone())),
            StepStatus::Started | StepStatus::Unknown if step.repeatable => Earlier::ToDo,
            StepStatus::Started | StepStatus::Unknown => Earlier::Unknown,
        }
    }
}

/// What the model is told of a call whose outcome nobody knows.
pub(super) fn nobody_knows(tool: &str) -> ToolOutput {
    ToolOutput::error(format!(
        "Rouse was stopped while {tool} was at work, and nobody knows whether it did its work. It was not done again. Look before you repeat it."
    ))
}
