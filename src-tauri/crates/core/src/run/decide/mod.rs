//! Decisions about slots, runs and jobs, as pure functions.
//!
//! Owns the outcome of a due slot or an event, retries, recovery after a crash, incidents, notifications, and the
//! effect of a run on the job. The scheduler applies each decision in a single transaction. Never reads the store or
//! the clock.

mod claim;
mod event;
mod retry;
mod model_backoff;
mod recovery;
mod incident;
mod job_effect;
mod delivery;
mod missed_notification;
mod approval_request;
mod digest;

#[cfg(test)]
mod fixtures;

pub use approval_request::{announce_approval, has_decision_buttons};
pub use claim::{ClaimPlan, DueSlot, Firing, PlannedRun, plan_claim};
pub use delivery::{
    Announcement, FinishedRun, announce, announce_reminder, first_sentence, notification_title,
};
pub use digest::{DigestRun, build_digest, build_mass_digest};
pub use event::{EventPlan, plan_event};
pub use incident::{SETTLED_MS, incident_step};
pub use job_effect::{JobEffect, decide_job_effect};
pub use missed_notification::announce_missed;
pub use model_backoff::model_backoff;
pub use recovery::{InterruptedCalls, Recovery, recover, too_late_to_start};
pub use retry::{
    abandoned_retries_reason, refuse_attempt, refuse_attempt_after_stop, retry_after_ms,
};
