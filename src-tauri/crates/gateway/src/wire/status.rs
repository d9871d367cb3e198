//! `system.*`: status for the sidebar, the tray and `rouse cron status`, and storage.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::cron::CronStatus;
use super::heartbeat::HeartbeatStatus;

/// `system.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SystemStatus {
    /// Version of Rouse.
    pub version: String,
    /// Host of the engine.
    pub mode: EngineMode,
    /// Process id of the engine.
    pub pid: u32,
    /// Time of the engine.
    pub now_ms: i64,
    /// Start of the engine.
    pub started_at_ms: i64,
    /// System time zone.
    pub zone: String,
    /// Time zone database in use.
    pub zone_data: ZoneDataStatus,
    /// Data directory.
    pub home: String,
    /// Number of the newest event.
    pub seq: i64,
    /// The scheduler.
    pub cron: CronStatus,
    /// The heartbeat.
    pub heartbeat: HeartbeatStatus,
    /// Display name of the active model, such as "llama3.2 · Ollama on this computer"; none without a model.
    pub model: Option<String>,
    /// Whether the active model has had no request so far.
    pub is_model_untested: bool,
    /// Models with a failed last request.
    #[serde(default)]
    pub failing_models: Vec<FailingModel>,
    /// Availability of notifications.
    pub notifications: NotificationStatus,
    /// State of the first-start card.
    pub first_start: FirstStart,
    /// Error that affects the whole engine, such as a full disk.
    pub problem: Option<String>,
}

/// A model with a failed last request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FailingModel {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// First failure since the last answer.
    pub since_ms: i64,
    /// Newest error.
    pub message: String,
    /// Fix, as a sentence.
    pub fix: String,
    /// Environment variable with the key, if configured.
    pub key_env: Option<String>,
}

/// The time zone database in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDataStatus {
    /// IANA version, such as `2026a`.
    pub version: String,
    /// Folder of the system database; none for the built-in one.
    pub folder: Option<String>,
}

/// `system.storage`: size and content of the database.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StorageView {
    /// Used bytes.
    #[ts(type = "number")]
    pub used_bytes: u64,
    /// Free bytes inside the file.
    #[ts(type = "number")]
    pub free_bytes: u64,
    /// Number of runs.
    pub runs: u32,
    /// Creation time of the oldest run.
    pub oldest_run_at_ms: Option<i64>,
    /// Number of messages.
    pub messages: u32,
}

/// Host of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EngineMode {
    /// The desktop app.
    App,
    /// `rouse serve`.
    Serve,
}

/// Availability of notifications.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotificationStatus {
    /// Whether notifications can be shown.
    pub available: bool,
    /// Why not, if unavailable.
    pub reason: Option<String>,
    /// Whether the newest notification failed.
    #[serde(default)]
    pub failing: bool,
}

/// State of the first-start card.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FirstStart {
    /// Whether the card was dismissed.
    pub dismissed: bool,
    /// Id of the example job, if it exists.
    pub example_job_id: Option<String>,
    /// First run of the example job.
    pub example_run_id: Option<String>,
}
