//! `system.status`: one answer for the rail, the tray and `rouse cron status`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{CronStatus, HeartbeatStatus};

/// `system.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SystemStatus {
    /// Rouse's version.
    pub version: String,
    /// How the engine runs.
    pub mode: EngineMode,
    /// The engine's process.
    pub pid: u32,
    /// The engine's clock.
    pub now_ms: i64,
    /// When the engine started.
    pub started_at_ms: i64,
    /// The system's zone.
    pub zone: String,
    /// Where the data lives.
    pub home: String,
    /// The number of the newest event.
    pub seq: i64,
    /// The scheduler.
    pub cron: CronStatus,
    /// The heartbeat.
    pub heartbeat: HeartbeatStatus,
    /// The model in use, for people: "llama3.2 · Ollama on this computer"; none: no model yet.
    pub model: Option<String>,
    /// Whether notifications can be shown here.
    pub notifications: NotificationStatus,
    /// What the first-start card needs.
    pub first_start: FirstStart,
    /// Trouble that concerns everything (a full disk, a broken file), in words.
    pub problem: Option<String>,
}

/// How the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EngineMode {
    /// Inside the desktop app.
    App,
    /// `rouse serve`.
    Serve,
}

/// Whether notifications can be shown.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotificationStatus {
    /// Whether they can.
    pub available: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// What the first-start card needs.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FirstStart {
    /// Whether the card was put away.
    pub dismissed: bool,
    /// The example job, while it exists.
    pub example_job_id: Option<String>,
    /// Its first run.
    pub example_run_id: Option<String>,
}
