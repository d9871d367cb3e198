//! Runs: single executions of a job or of the heartbeat, with exactly one row and one final state.

pub mod event;
pub mod incident;
pub mod condition;
pub mod cause;
pub mod delivery;
mod state;
mod step;
mod usage;
pub mod decide;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

pub use self::cause::Cause;
pub use self::state::{RfcStatus, RunState, RunTrigger, WaitsFor};
pub use self::step::{StepKind, StepStatus};
pub use self::usage::Usage;
use crate::approval::Approval;
use crate::budget::BudgetStop;
use crate::channel::Route;
use crate::condition::ConditionVerdict;
use crate::naming::for_log;
use crate::{JobId, RunId, SessionKey, UnixMs};

/// Whether a manual run needs a due slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ManualRunMode {
    /// Run only if a slot is due.
    Due,
    /// Run in any case.
    Force,
}

/// A run as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Identity.
    pub id: RunId,
    /// The job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// The job's name at creation, kept after a deletion of the job.
    pub job_name: String,
    /// The slot, the newest of several; none for manual and heartbeat runs.
    pub slot_at: Option<UnixMs>,
    /// The oldest slot, when there are several.
    pub first_slot_at: Option<UnixMs>,
    /// The trigger.
    pub trigger: RunTrigger,
    /// The state.
    pub state: RunState,
    /// Why the run was skipped, missed, cancelled or interrupted.
    pub reason: Option<String>,
    /// The number of slots; more than 1 after a catch-up.
    pub slot_count: u32,
    /// The instant of creation.
    pub created_at: UnixMs,
    /// The instant of the start.
    pub started_at: Option<UnixMs>,
    /// The instant of the end.
    pub finished_at: Option<UnixMs>,
    /// Attempts so far, with the current attempt.
    pub attempt: u32,
    /// When the next attempt is due; none when none is scheduled.
    pub next_attempt_at: Option<UnixMs>,
    /// Milliseconds of work of this attempt before the last pause; part of the time limit.
    pub worked_ms: i64,
    /// The reason for waiting until `next_attempt_at`; none for the backoff after a failure.
    pub waits_for: Option<WaitsFor>,
    /// Milliseconds spent waiting for models.
    pub model_wait_ms: i64,
    /// The interrupted run that this run repeats.
    pub retry_of: Option<RunId>,
    /// The slot of that interrupted run.
    pub catch_up_slot_at: Option<UnixMs>,
    /// The result in words.
    pub summary: Option<String>,
    /// The error; while a retry is scheduled, the error of the last attempt.
    pub error: Option<String>,
    /// The transcript.
    pub session: Option<SessionKey>,
    /// The model that answered.
    pub model: Option<String>,
    /// Tokens and cost.
    pub usage: Usage,
    /// The job's payload at creation, in the job format.
    pub payload: Value,
    /// Why a fallback model answered; none when none did.
    pub fallback_reason: Option<String>,
}

impl Run {
    /// A queued run without job, slot and payload.
    #[must_use]
    pub fn queued(id: RunId, trigger: RunTrigger, created_at: UnixMs) -> Self {
        Self {
            id,
            job_id: None,
            job_name: String::new(),
            slot_at: None,
            first_slot_at: None,
            trigger,
            state: RunState::Queued,
            reason: None,
            slot_count: 1,
            created_at,
            started_at: None,
            finished_at: None,
            attempt: 0,
            next_attempt_at: None,
            worked_ms: 0,
            waits_for: None,
            model_wait_ms: 0,
            retry_of: None,
            catch_up_slot_at: None,
            summary: None,
            error: None,
            session: None,
            model: None,
            usage: Usage::default(),
            payload: Value::Null,
            fallback_reason: None,
        }
    }

    /// The name for the log: never a name derived from the payload.
    #[must_use]
    pub fn name_for_log(&self) -> String {
        let id = self.job_id.as_ref().map_or_else(|| self.id.as_str(), JobId::as_str);
        for_log(&self.job_name, &self.payload, id)
    }

    /// Whether this is a trial call of a tool: no job, and a separate kind of payload.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.job_id.is_none() && self.payload["kind"] == "trial"
    }

    /// Whether the initiator sees the result directly, so that no notification or incident follows.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.trigger == RunTrigger::Chat || self.is_trial()
    }

    /// The place that gets the answer to a chat message of a channel; none for a message of the app.
    #[must_use]
    pub fn reply_to(&self) -> Option<Route> {
        let route = self.payload.get("replyTo").filter(|_| self.trigger == RunTrigger::Chat)?;
        // silent-ok: an unreadable route is read as a message of the app, which has the answer.
        serde_json::from_value(route.clone()).ok()
    }

    /// The slot of the work: the run's own slot, or the slot of the interrupted run.
    #[must_use]
    pub fn slot(&self) -> Option<UnixMs> {
        self.slot_at.or(self.catch_up_slot_at)
    }

    /// Milliseconds from the slot to the start; none without both.
    #[must_use]
    pub fn late_by_ms(&self) -> Option<i64> {
        Some(self.started_at?.since(self.slot()?).max(0))
    }

    /// Milliseconds from start to end; none for an interrupted run with an unknown end.
    #[must_use]
    pub fn duration_ms(&self) -> Option<i64> {
        let finished_at = self.finished_at.filter(|_| self.state != RunState::Interrupted)?;
        Some(finished_at.since(self.started_at?).max(0))
    }
}

/// Why remaining attempts were not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbandonedRetries {
    /// The retry was suspended: the job is paused, all jobs are paused, fewer attempts are allowed, or the retry was
    /// due while Rouse was not running. The failure neither pauses nor deletes the job.
    Suspended,
    /// A newer run of the job superseded this run. The failure can pause the job, but never delete the job.
    Superseded,
}

/// The outcome of a run, as reported by the runner.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// A final state, or `AwaitingApproval` to park the run.
    pub state: RunState,
    /// The result in words for the person.
    pub summary: Option<String>,
    /// The error for the person.
    pub error: Option<String>,
    /// The error for the log, where the message is a tool's or a model's.
    pub error_for_log: Option<String>,
    /// Why the run was skipped or cancelled.
    pub reason: Option<String>,
    /// Whether the error is transient, so that a retry may succeed.
    pub is_transient: bool,
    /// The reason to pause and resume within the attempt, if any.
    pub waits_for: Option<WaitsFor>,
    /// The pause that the provider or the rate limit asks for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Why remaining attempts were not made; none when none remained.
    pub abandoned_retries: Option<AbandonedRetries>,
    /// Tokens and cost.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
    /// The result of a tool call, for comparison with the next result.
    pub result: Option<Value>,
    /// The result of the job's condition; none without a condition.
    pub verdict: Option<ConditionVerdict>,
    /// Why the job must be disabled, with any policy.
    pub pauses: Option<String>,
    /// The budget that stopped the run or prevented the start.
    pub budget: Option<BudgetStop>,
    /// Why a fallback model answered.
    pub fallback_reason: Option<String>,
    /// The approval requests of a parked run.
    pub approvals: Vec<Approval>,
}

impl Outcome {
    /// Whether no model was available, which is transient.
    #[must_use]
    pub fn is_model_unavailable(&self) -> bool {
        self.state == RunState::Skipped && self.is_transient
    }

    /// An outcome with nothing but the state.
    #[must_use]
    pub const fn of(state: RunState) -> Self {
        Self {
            state,
            summary: None,
            error: None,
            error_for_log: None,
            reason: None,
            is_transient: false,
            waits_for: None,
            retry_after_ms: None,
            abandoned_retries: None,
            usage: Usage::NONE,
            model: None,
            result: None,
            verdict: None,
            pauses: None,
            budget: None,
            fallback_reason: None,
            approvals: Vec::new(),
        }
    }

    /// Success with a result.
    #[must_use]
    pub fn succeeded(summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..Self::of(RunState::Succeeded) }
    }

    /// A permanent failure.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::of(RunState::Failed) }
    }

    /// A decision not to run.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::of(RunState::Skipped) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_run_has_no_duration() {
        let run = Run {
            state: RunState::Succeeded,
            started_at: Some(UnixMs(1_000)),
            finished_at: Some(UnixMs(3_000)),
            ..Run::queued(RunId::new("1"), RunTrigger::Manual, UnixMs(0))
        };
        assert_eq!(run.duration_ms(), Some(2_000));
        assert_eq!(Run { state: RunState::Interrupted, ..run }.duration_ms(), None);
    }
}
