//! `config.*`: the settings.

use std::collections::BTreeMap;

use rouse_core::budget::Price;
use rouse_core::settings::{
    BudgetSection, ComputerSection, CronSection, GatewaySection, ModelSection, ProviderSection,
    RegistriesSection, RetentionSection, RiskyWorkspaceSection, SearchSection, SystemSection,
    ToolsSection,
};
use rouse_core::time::DayHours;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::job::QuietHours;

/// `config.get`: the settings in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigView {
    /// Path of the settings file.
    pub path: String,
    /// Whether the file was edited since Rouse read it. The edit applies at the next start or the next change by Rouse.
    pub changed_by_hand: bool,
    /// Error in the file; the settings stay as they were.
    pub problem: Option<String>,
    /// Unknown keys of the file. They are preserved and have no effect.
    pub unknown_keys: Vec<UnknownKey>,
    /// Settings that refer to something missing on this computer.
    pub unmet_settings: Vec<UnmetSetting>,
    /// Changed keys (dotted) that apply after a restart.
    pub pending_restart: Vec<String>,
    /// Revision of the file, for `expectedRevision`.
    pub revision: String,
    /// Scheduling.
    pub cron: CronSection,
    /// The heartbeat.
    pub heartbeat: HeartbeatConfigView,
    /// Hours in which notifications are held; none without quiet hours.
    pub quiet_hours: Option<QuietHours>,
    /// The model.
    pub model: ModelConfigView,
    /// The computer.
    pub system: SystemSection,
    /// Folder of the file tools.
    pub workspace: String,
    /// Wider folder of the file tools, with its root if enabled.
    pub risky_workspace: RiskyWorkspaceSection,
    /// Limits of tools and runs, which only the file can change.
    pub tools: ToolsSection,
    /// The search provider of `web_search`.
    pub search: SearchSection,
    /// Registries of servers and skills.
    pub registries: RegistriesSection,
    /// Channels of reports [default: the notification].
    pub deliver_to: Option<Vec<String>>,
    /// Channels of failures [default: those of reports].
    pub deliver_failures_to: Option<Vec<String>>,
    /// Channels of requests for an approval or input [default: those of reports].
    pub deliver_approvals_to: Option<Vec<String>>,
    /// Other computers by name.
    pub computers: BTreeMap<String, ComputerSection>,
    /// Address of the gateway.
    pub gateway: GatewaySection,
    /// Retention limits.
    pub retention: RetentionSection,
    /// Daily budget of all runs.
    pub budget: BudgetSection,
    /// Model prices.
    pub prices: PricesView,
    /// Keys that an environment variable overrides.
    pub overridden: Vec<OverriddenKey>,
}

/// An unknown key of the settings file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnknownKey {
    /// The key, dotted.
    pub key: String,
    /// Line in the file.
    pub line: Option<u32>,
    /// Most similar known key.
    pub nearest: Option<String>,
    /// Message, without a final period.
    pub text: String,
}

/// A setting that refers to a missing folder, provider, key or program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnmetSetting {
    /// The key, dotted.
    pub key: String,
    /// Line in the file; none for a value from an environment variable.
    pub line: Option<u32>,
    /// Message, without a final period.
    pub text: String,
}

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatConfigView {
    /// Whether the heartbeat is enabled.
    pub enabled: bool,
    /// Interval in milliseconds.
    pub every_ms: i64,
    /// Hours of the periodic heartbeat. Default: always.
    pub active_hours: Option<DayHours>,
    /// Additional instructions for heartbeat turns.
    pub prompt: Option<String>,
    /// Skills of all turns of the main session, including the chat.
    pub skills: Vec<String>,
    /// Model of these turns. Default: the default model.
    pub model: Option<String>,
}

/// Model prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PricesView {
    /// Date of the built-in list prices.
    pub listed_on: String,
    /// Prices from the settings file, which take precedence.
    pub own: Vec<PriceView>,
}

/// Price of a model from the settings file, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PriceView {
    /// Model name; a final `*` is a wildcard.
    pub model: String,
    /// The price.
    #[serde(flatten)]
    pub price: Price,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelConfigView {
    /// Provider, model and patience.
    #[serde(flatten)]
    pub choice: ModelSection,
    /// Configured providers.
    pub providers: Vec<ProviderConfigView>,
}

/// A provider in the settings file, with a reference to the key instead of the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigView {
    /// Name.
    pub name: String,
    /// Settings of the provider.
    #[serde(flatten)]
    pub settings: ProviderSection,
}

/// A key that an environment variable overrides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverriddenKey {
    /// The key, such as `cron.enabled`.
    pub key: String,
    /// The variable, such as `ROUSE_SKIP_CRON`.
    pub variable: String,
}

/// `config.patch`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ConfigPatchParams {
    /// Merge patch of the file, such as `{cron: {enabled: false}}`; `null` removes a key. Keys: those with `editable` in
    /// the schema of the settings, and `heartbeat.everyMs`.
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Revision that the patch is based on; a stale one is refused.
    pub expected_revision: Option<String>,
}
