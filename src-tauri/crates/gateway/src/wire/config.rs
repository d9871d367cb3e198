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
    /// Whether the file was changed by hand since it was read. What it says then counts from the next start, or the next
    /// change by Rouse.
    pub changed_by_hand: bool,
    /// What is wrong with the file as it is now, in words; what was in force stays in force.
    pub problem: Option<String>,
    /// Keys of the file that mean nothing to Rouse. They stay where they are and have no effect.
    pub unknown_keys: Vec<UnknownKey>,
    /// What the settings ask for and this computer does not have. Nothing that needs it works until it is there.
    pub troubles: Vec<ConfigTrouble>,
    /// Keys (dotted) that were changed since the start and count from the next one on.
    pub from_next_start: Vec<String>,
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
    /// The folder that file tools may see, unless a wider one is opened to them.
    pub workspace: String,
    /// The wider folder that a person may open to them.
    pub risky_workspace: RiskyWorkspaceView,
    /// Limits of tools and runs. They are changed in the file only.
    pub tools: ToolsConfigView,
    /// The search provider of `web_search`.
    pub search: SearchConfigView,
    /// Where clients find the engine.
    pub gateway: GatewayConfigView,
    /// What is kept.
    pub retention: RetentionConfigView,
    /// What all runs together may spend.
    pub budget: BudgetConfigView,
    /// What models cost.
    pub prices: PricesView,
    /// Keys (dotted) that an environment variable overrides, with its name.
    pub overridden: Vec<OverriddenKey>,
}

/// A key of the settings file that means nothing to Rouse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnknownKey {
    /// Which one, dotted.
    pub key: String,
    /// Its line in the file.
    pub line: Option<u32>,
    /// The setting that was probably meant.
    pub nearest: Option<String>,
    /// All of it as a sentence without its end.
    pub text: String,
}

/// A setting that asks for what is not there: a folder, a provider, a key, a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigTrouble {
    /// Which one, dotted.
    pub key: String,
    /// Its line in the file; none where a variable says it.
    pub line: Option<u32>,
    /// All of it as a sentence without its end.
    pub text: String,
}

/// The wider folder that a person may open to the file tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RiskyWorkspaceView {
    /// Whether it is open.
    pub enabled: bool,
    /// Which one, while it is open.
    pub root: Option<String>,
}

/// The computer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SystemConfigView {
    /// Whether it is kept awake while a run is at work.
    pub keep_awake: bool,
}

/// Limits of tools and runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsConfigView {
    /// The largest file that is read, in bytes.
    #[ts(type = "number")]
    pub read_file_max_bytes: u64,
    /// Turns of a model in one run.
    pub max_steps: u32,
    /// The time of a command that names none, in milliseconds.
    #[ts(type = "number")]
    pub run_command_timeout_ms: u64,
    /// Hosts of the own network that requests may reach.
    pub allow_private_hosts: Vec<String>,
}

/// The search provider of `web_search`. Its key is named, never shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SearchConfigView {
    /// Which; if none, the first whose usual variable holds a key.
    pub provider: Option<String>,
    /// Its address, if that is not the usual one.
    pub url: Option<String>,
    /// The environment variable with its key, if that is not the usual one.
    pub key_env: Option<String>,
    /// The stored secret that is its key.
    pub key_secret: Option<String>,
}

/// Where clients find the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GatewayConfigView {
    /// The port on 127.0.0.1 that is tried first.
    pub port: u16,
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
    /// Skills that every turn of the main session is told of, answers in the chat among them.
    pub skills: Vec<String>,
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

/// What all runs together may spend on a day of the local zone: jobs, the heartbeat and the chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BudgetConfigView {
    /// Tokens; no limit when none.
    pub tokens_per_day: Option<u64>,
    /// Dollars; no limit when none.
    pub usd_per_day: Option<f64>,
}

/// What models cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PricesView {
    /// The day of the list prices that Rouse knows.
    pub listed_on: String,
    /// The person's own prices, which go before those. They stand in the file.
    pub own: Vec<PriceView>,
}

/// The person's own price of a model, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PriceView {
    /// The model's name; `*` at its end stands for anything.
    pub model: String,
    /// Sent.
    pub input: f64,
    /// Sent again, out of the provider's cache; as much as sent when none.
    pub cached: Option<f64>,
    /// Received.
    pub output: f64,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelConfigView {
    /// The provider's name; none: the best one found.
    pub provider: Option<String>,
    /// The model's name; none: the provider's own choice.
    pub name: Option<String>,
    /// How long a run of a job waits in all for models that cannot answer for now, in seconds.
    pub patience_seconds: u32,
    /// Providers by name, as configured.
    pub providers: Vec<ProviderConfigView>,
}

/// A provider in the configuration file. Keys never stand there: only the name of the variable that holds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigView {
    /// Its name.
    pub name: String,
    /// Its wire: `openai`, `openai-responses`, `openrouter` or `anthropic`.
    pub kind: String,
    /// Where it is.
    pub base_url: String,
    /// Its model.
    pub model: String,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// The stored secret that is its key.
    pub key_secret: Option<String>,
    /// The context window of its model in tokens, where the file says it.
    pub context_tokens: Option<u32>,
    /// How much its models reason, where the file says it: `low`, `medium`, `high` or `max`.
    pub effort: Option<String>,
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
    /// `budget.{tokensPerDay, usdPerDay}`, `retention.{runsPerJob, messagesPerSession, maxDatabaseMb}`, `providers.<name>.{kind, baseUrl, model, keyEnv, keySecret, contextTokens, effort}`.
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Refused when the file has changed since.
    pub expected_revision: Option<String>,
}
