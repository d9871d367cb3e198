//! The settings of the scheduler.

use std::time::Duration;

use rouse_core::schedule::DayWindow;

/// Settings that can change while the scheduler runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Maximum active scheduled runs, and maximum active manual runs; at least 1 of each.
    pub max_concurrent_runs: usize,
    /// Whether slots fire. Otherwise due slots are recorded as skipped.
    pub firing: bool,
    /// Why slots do not fire, as a sentence for the person; empty when firing.
    pub off_reason: String,
    /// Maximum wait of a run for unavailable models in all attempts; zero fails the run at once.
    pub model_patience: Duration,
    /// The heartbeat.
    pub heartbeat: HeartbeatConfig,
}

/// The settings of the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// Whether turns come by schedule. A requested turn comes either way.
    pub enabled: bool,
    /// The interval in milliseconds, at least 1,000.
    pub every_ms: i64,
    /// When scheduled turns may come; always when none.
    pub active_hours: Option<DayWindow>,
}
