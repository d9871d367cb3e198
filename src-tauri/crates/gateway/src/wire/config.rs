//! `config.*`: the settings that people change.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::QuietHours;

/// `config.get`: the settings in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigView {
    /// Where the file is.
    pub path: String,
    /// Changes with every change of the file.
    pub revision: String,
    /// Scheduling.
    pub cron: CronConfigView,
    /// The heartbeat.
    pub heartbeat: HeartbeatConfigView,
    /// When notifications wait for the morning; never when none.
    pub quiet_hours: Option<QuietHours>,
    /// The model.
    pub model: ModelConfigView,
    /// The computer.
    pub system: SystemConfigView,
    /// The folder that file tools may see.
    pub workspace: String,
    /// What is kept.
    pub retention: RetentionConfigView,
    /// Keys (dotted) that an environment variable overrides, with its name.
    pub overridden: Vec<OverriddenKey>,
}

/// The computer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SystemConfigView {
    /// Whether it is kept awake while a run is at work.
    pub keep_awake: bool,
}

/// Scheduling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronConfigView {
    /// The kill switch: off stops all firing.
    pub enabled: bool,
    /// Most runs at work at the same time.
    pub max_concurrent_runs: u32,
}

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatConfigView {
    /// On or off.
    pub enabled: bool,
    /// Milliseconds between beats.
    pub every_ms: i64,
    /// When it may beat by itself; always when none.
    pub active_hours: Option<DayHours>,
    /// The person's own words about every turn of the main session.
    pub prompt: Option<String>,
    /// The model of these turns; the usual one when none.
    pub model: Option<String>,
}

/// A stretch of every day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DayHours {
    /// The first time of day, such as `08:00`.
    pub from: String,
    /// The time of day at which it ends.
    pub to: String,
    /// The zone; the system's when none.
    pub tz: Option<String>,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RetentionConfigView {
    /// The newest runs of each job.
    pub runs_per_job: u32,
    /// The newest messages of each job's session.
    pub messages_per_session: u32,
    /// With more than so many megabytes in use, the oldest runs of all go as well.
    pub max_database_mb: u32,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelConfigView {
    /// The provider's name; none: the best one found.
    pub provider: Option<String>,
    /// The model's name; none: the provider's own choice.
    pub name: Option<String>,
    /// Providers by name, as configured.
    pub providers: Vec<ProviderConfigView>,
}

/// A provider in the configuration file. Keys never stand there: only the name of the variable that holds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigView {
    /// Its name.
    pub name: String,
    /// `openai` or `anthropic`.
    pub kind: String,
    /// Where it is.
    pub base_url: String,
    /// Its model.
    pub model: String,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
}

/// A key that the environment overrides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverriddenKey {
    /// `cron.enabled`.
    pub key: String,
    /// `ROUSE_SKIP_CRON`.
    pub variable: String,
}

/// `config.patch`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ConfigPatchParams {
    /// Laid over the file: `{cron: {enabled: false}}`; `null` removes a key. Same keys as in `config.get`:
    /// `cron.enabled`, `cron.maxConcurrentRuns`, `heartbeat.enabled`, `heartbeat.everyMs`,
    /// `quietHours.{from, to, tz, days}`, `model.provider`, `model.name`, `workspace`,
    /// `retention.{runsPerJob, messagesPerSession, maxDatabaseMb}`, `providers.<name>.{kind, baseUrl, model, keyEnv}`.
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Refused when the file has changed since.
    pub expected_revision: Option<String>,
}
