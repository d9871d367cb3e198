//! The scheduler of Rouse: timer, `tick(now)`, claims, lanes, misfires, retries, heartbeat and recovery.
//!
//! Owns the way of a run from the due instant to the recorded outcome: timer → `tick(now)` → claim (one transaction) →
//! lane → [`Runner`] → outcome (one transaction) → outbox. Scheduled, manual and catch-up runs and heartbeat turns all
//! take this way. A single task, the engine, owns all state and handles the events in order; a [`SchedulerHandle`]
//! sends requests. The engine never waits for a run, so a run may send any request.
//!
//! Never knows the work of a run, reads the clock only through the port, and decides nothing: `rouse_core::decide`
//! does.
//! Pitfalls: starting a run before the claim is committed; measuring a time limit with the wall clock; planning from
//! the time of the last run instead of the schedule grid.

mod config;
mod error;
mod handle;
mod ports;
mod status;

pub mod timer;

mod state;

mod engine;

mod scheduler;

pub use config::{HeartbeatConfig, SchedulerConfig};
pub use error::SchedulerError;
pub use handle::SchedulerHandle;
pub use ports::{MainSession, RunHooks, Runner};
pub use rouse_core::run::ManualRunMode;
pub use scheduler::Scheduler;
pub use state::{lanes, permits};
pub use status::{
    ChatMessage, DeletedJob, HeartbeatRequest, HeartbeatSkip, HeartbeatSnapshot, JobsPause,
    PendingReason, SchedulerStatus, TickReport, UpcomingSlot, WebhookOutcome, WebhookRequest,
};

/// Requests for a heartbeat turn within this time share a turn, unless the caller sets another time.
pub const COALESCE: std::time::Duration = std::time::Duration::from_millis(250);
