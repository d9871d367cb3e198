//! The timer, `tick(now)`, claims, lanes, misfires, retries, heartbeat and recovery of Rouse.
//!
//! Owns the way of a run from its due instant to its recorded outcome: timer → `tick(now)` → claim (one transaction) →
//! lane → [`Runner`] → outcome (one transaction) → outbox. Scheduled, manual and catch-up runs and beats of the
//! heartbeat all take it. One task, the engine, owns everything that changes and works on one thing after the other;
//! a [`SchedulerHandle`] asks it. The engine never waits for a run, and a run may ask the engine anything.
//!
//! It refuses to know what a run does, to read the clock other than through the port, and to decide: what a due slot
//! becomes and whom an outcome tells are pure functions of `rouse_core::decide`. One could get it wrong by starting a
//! run before its claim is committed, by measuring a time limit with the wall clock, or by planning from the time of
//! the last run instead of from the grid of slots.

mod config;
mod error;
mod handle;
mod ports;
mod prepared;
mod status;

pub mod lanes;
pub mod timer;

mod ahead;
mod attempt;
mod awaited;
mod chat;
mod trial;
mod clock_change;
mod end_log;
mod engine;
mod events;
mod execute;
mod finish;
mod heartbeat;
mod jobs;
mod deaf;
mod listeners;
mod parked;
mod pause;
mod recovery;
mod restored;
mod requests;
mod retries;
mod set_back;
mod tick;
mod missed;
mod trouble;
mod untold;

pub use config::{HeartbeatConfig, SchedulerConfig};
pub use engine::Scheduler;
pub use error::SchedulerError;
pub use events::{Call, Called};
pub use handle::{RunMode, SchedulerHandle};
pub use heartbeat::COALESCE;
pub use jobs::Removed;
pub use ports::{MainSession, RunHooks, Runner};
pub use status::{
    HeartbeatStatus, LastRequest, LastSkip, NextSlot, Pause, Pending, Status, TickReport,
};
