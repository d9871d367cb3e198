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
    /// Which rules of time zones are in force.
    pub zone_data: ZoneDataStatus,
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
    /// Whether the model in use was never asked, so that nobody knows whether it answers.
    pub model_is_untried: bool,
    /// Models that did not answer when they were last asked.
    #[serde(default)]
    pub failing_models: Vec<FailingModel>,
    /// Whether notifications can be shown here.
    pub notifications: NotificationStatus,
    /// What the first-start card needs.
    pub first_start: FirstStart,
    /// Trouble that concerns everything (a full disk, a broken file), in words.
    pub problem: Option<String>,
}

/// A model that did not answer when it was last asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FailingModel {
    /// Its provider's name.
    pub provider: String,
    /// Its name at the provider.
    pub model: String,
    /// When it failed first, without an answer since.
    pub since_ms: i64,
    /// Its newest failure, in words.
    pub words: String,
    /// What to do about it, in words.
    pub mend: String,
    /// The environment variable that its key comes from; none where nobody has named one.
    pub key_env: Option<String>,
}

/// Which rules of time zones are in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDataStatus {
    /// The IANA version, such as `2026a`.
    pub version: String,
    /// The system's folder they are read from; none: those that came with Rouse.
    pub folder: Option<String>,
}

/// `system.storage`: how large the database is and what it holds.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StorageView {
    /// Bytes that hold something.
    #[ts(type = "number")]
    pub used_bytes: u64,
    /// Bytes that will be filled again, or given back.
    #[ts(type = "number")]
    pub free_bytes: u64,
    /// Runs of all jobs.
    pub runs: u32,
    /// When the oldest of them was made.
    pub oldest_run_at_ms: Option<i64>,
    /// Messages of all sessions.
    pub messages: u32,
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
    /// Whether the newest one should have been shown and was not: something has to be mended.
    #[serde(default)]
    pub failing: bool,
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
