//! The settings of the scheduler.

use std::time::Duration;

use rouse_core::schedule::DayWindow;

/// What can be changed while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Runs at work at the same time, over all lanes; at least one.
    pub max_concurrent_runs: usize,
    /// Whether slots fire. Off, they are recorded as skipped.
    pub firing: bool,
    /// Why slots do not fire, as a sentence for the person; empty while they do.
    pub off_reason: String,
    /// How long a run of a job waits in all for models that cannot answer for now; zero: not at all.
    pub model_patience: Duration,
    /// The heartbeat.
    pub heartbeat: HeartbeatConfig,
}

/// The settings of the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// Whether it beats by itself. A wake gets its turn either way.
    pub enabled: bool,
    /// Milliseconds between beats, at least 1,000.
    pub every_ms: i64,
    /// When it may beat by itself; always when none.
    pub active_hours: Option<DayWindow>,
}
