//! `config.*`: the settings that people change.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

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
    /// The model.
    pub model: ModelConfigView,
    /// The folder that file tools may see.
    pub workspace: String,
    /// Keys (dotted) that an environment variable overrides, with its name.
    pub overridden: Vec<OverriddenKey>,
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
    /// `cron.enabled`, `cron.maxConcurrentRuns`, `heartbeat.enabled`, `heartbeat.everyMs`, `model.provider`,
    /// `model.name`, `workspace`, `providers.<name>.{kind, baseUrl, model, keyEnv}`.
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Refused when the file has changed since.
    pub expected_revision: Option<String>,
}
