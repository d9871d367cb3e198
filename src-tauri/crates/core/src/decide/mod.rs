//! Decisions as pure functions: what a due slot becomes, what a finished run tells whom and does to its job, whether to
//! try again, what becomes of what the end of the process cut off.
//!
//! The scheduler carries these out in one transaction each; nothing here reads the store or the clock.

mod claim;
mod event;
mod delivery;
mod digest;
mod fate;
mod incident;
mod missed;
mod question;
mod recovery;
mod retry;
mod wait;

#[cfg(test)]
mod sample;

pub use claim::{ClaimPlan, Due, Firing, PlannedRun, plan_claim};
pub(crate) use claim::{DEFAULT_LIMIT, QUEUE_BOUND};
pub use delivery::{Announcement, Ended, announce, first_sentence, remind, title_by_job};
pub use digest::{ToldRun, digest, digest_of_crowd};
pub use event::{EventPlan, plan_event};
pub use fate::{JobFate, fate_of_job};
pub use incident::{SETTLED_MS, incident_step};
pub use missed::announce_missed;
pub use question::question;
pub use recovery::{Calls, Recovery, recover, too_late_to_start};
pub use retry::{no_further_attempt, refuse_attempt, refuse_attempt_after_stop, retry_after_ms};
pub use wait::model_pause;
