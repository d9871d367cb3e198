//! What became of the calls that a run had begun before a break.
//!
//! Owns the answer to "was this call made?": the journal says so. A call that has an outcome is not made again; its
//! outcome is told from the journal. One whose outcome nobody knows is made again only when that is harmless, and else
//! the model is told that nobody knows. One could get it wrong by the ids of calls alone: some providers count them
//! anew with every answer, so only what was journalled after the last answer counts.
//!
//! The journal also has what the transcript does not: which calls of an answer held stored secrets, from its end on, and
//! those of them that waited for a person, by their handles or by the name under which memory has them. A call that held one
//! and was not kept is lost: the transcript has it with marks, and with a mark it would be another call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::message::ToolCallRequest;
use rouse_core::tool::ToolOutput;
use rouse_store::{RunStep, StepKind, StepStatus};
use serde_json::Value;

use crate::gate::{Kept, Lost};
use crate::secret::ByHandles;

/// The note of the calls that a run has kept when it began to wait, by their handles or in memory.
pub(super) const KEPT_CALLS: &str = "Calls that write stored secrets wait";

/// The note of the calls that hold stored secrets and could not be kept like that: the transcript has a mark in the place
/// of the value, and with the mark it would be another call.
pub(super) const LOST_CALLS: &str = "Calls that hold stored secrets are not made after a wait";

/// The note that says that another model is asked.
pub(super) const FELL_BACK: &str = "Another model";

/// Where the end of an answer names the calls of it that held stored secrets, by their ids.
pub(super) const HELD_SECRETS: &str = "heldSecrets";

/// What a run knows of itself from before a break.
pub(super) struct Journal {
    /// The calls that were begun after the last answer of the model, by their ids.
    calls: HashMap<String, RunStep>,
    /// The calls of that answer that held stored secrets.
    held: HashSet<String>,
    /// What was kept of those of them that waited.
    kept: HashMap<String, Kept>,
    /// Those that waited and could not be kept.
    unkept: HashSet<String>,
    /// The attempt that it makes now.
    attempt: u32,
    /// Whether a model was asked in this attempt before: an answer of a person goes on with the attempt that asked.
    has_asked: AtomicBool,
    /// The call that had the session summed up, whatever came of it.
    summary: Option<RunStep>,
    /// The newest answer of this attempt.
    answered: Option<RunStep>,
    /// The notes that another model was asked, in their order.
    fell_back: Vec<RunStep>,
}

/// What a run that goes on does with one of its calls.
pub(super) enum Earlier {
    /// It was not begun, or doing it again is harmless.
    ToDo,
    /// It has an outcome.
    Done(Box<RunStep>),
    /// It was begun, and nobody knows how it ended.
    Unknown,
}

impl Journal {
    /// That of the attempt `attempt`.
    pub(super) fn of(steps: Vec<RunStep>, attempt: u32) -> Self {
        let is_of_attempt =
            |step: &RunStep| step.kind == StepKind::ModelTurn && step.input["attempt"] == attempt;
        let has_asked = AtomicBool::new(steps.iter().any(is_of_attempt));
        let is_answer =
            |step: &&RunStep| is_of_attempt(step) && step.status == StepStatus::Finished;
        let newest_answer = steps.iter().rfind(is_answer).cloned();
        let is_other = |step: &&RunStep| step.kind == StepKind::Note && step.name == FELL_BACK;
        let fell_back = steps.iter().filter(is_other).cloned().collect();
        let summary = steps.iter().find(|step| step.kind == StepKind::Summary).cloned();
        let answered = steps.iter().rposition(|step| step.kind == StepKind::ModelTurn);
        let since = answered.map_or(0, |at| at + 1);
        let output = answered.and_then(|at| steps[at].output.as_ref());
        let held = output.and_then(|output| output[HELD_SECRETS].as_array());
        let held = held.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned));
        let held = held.collect();
        let (mut calls, mut kept, mut unkept) = (HashMap::new(), HashMap::new(), HashSet::new());
        for step in steps.into_iter().skip(since) {
            match (step.kind, step.call_id.clone()) {
                (StepKind::ToolCall, Some(id)) => drop(calls.insert(id, step)),
                (StepKind::Note, _) if step.name == KEPT_CALLS => {
                    let noted = step.input.as_object().cloned().unwrap_or_default();
                    kept.extend(noted.into_iter().map(|(id, kept)| (id, as_kept(kept))));
                }
                (StepKind::Note, _) if step.name == LOST_CALLS => {
                    unkept.extend(
                        step.input.as_object().into_iter().flatten().map(|(id, _)| id.clone()),
                    );
                }
                _ => {}
            }
        }
        Self {
            calls,
            held,
            kept,
            unkept,
            attempt,
            has_asked,
            summary,
            answered: newest_answer,
            fell_back,
        }
    }

    /// What was kept of a call that has waited and holds stored secrets.
    pub(super) fn kept(&self, call: &ToolCallRequest) -> Option<&Kept> {
        self.kept.get(&call.id)
    }

    /// Why a call out of the transcript that was not kept is none that can be made.
    pub(super) fn lost(&self, call: &ToolCallRequest) -> Option<Lost> {
        // What a run ends with is kept with the marks in any case.
        if call.tool == "complete_run" {
            return None;
        }
        if self.unkept.contains(&call.id) {
            return Some(Lost::Unkept);
        }
        self.held.contains(&call.id).then_some(Lost::CutOff)
    }

    /// The call that had the session summed up.
    pub(super) const fn summary(&self) -> Option<&RunStep> {
        self.summary.as_ref()
    }

    /// The newest answer of the attempt that is made now.
    pub(super) const fn answered(&self) -> Option<&RunStep> {
        self.answered.as_ref()
    }

    /// The notes that another model was asked, in their order.
    pub(super) fn fell_back(&self) -> &[RunStep] {
        &self.fell_back
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
            return Earlier::ToDo;
        };
        match step.status {
            StepStatus::Finished | StepStatus::Failed => Earlier::Done(Box::new(step.clone())),
            StepStatus::Started | StepStatus::Unknown if step.repeatable => Earlier::ToDo,
            StepStatus::Started | StepStatus::Unknown => Earlier::Unknown,
        }
    }
}

/// What a run has kept of a call. What an older Rouse has kept names no value and is put back as none.
fn as_kept(kept: Value) -> Kept {
    let undated =
        |arguments: Value| Kept::ByHandles(ByHandles { arguments, set_at: BTreeMap::new() });
    serde_json::from_value(kept.clone()).unwrap_or_else(|_| undated(kept))
}

/// What the model is told of a call whose outcome nobody knows.
pub(super) fn nobody_knows(tool: &str) -> ToolOutput {
    ToolOutput::error(format!(
        "Rouse was stopped while {tool} was at work, and nobody knows whether it did its work. It was not done again. Look before you repeat it."
    ))
}
