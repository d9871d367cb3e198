//! Settings: the document of `config.toml`.
//!
//! Owns each section as a type: its keys, bounds, defaults and JSON schema. Keys that clients may change have `editable` in
//! the schema. The host reads the file and lays environment variables over the document; the gateway shows the sections.
//! Never knows files, variables or TOML.
//! Pitfall: a second default; `Default` of the section is the only one.

mod computer;
mod host_name;
mod provider;
mod registry_address;
mod schema;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::budget::{Limit, MicroUsd, Price};
use crate::channel::ChannelSection;
use crate::model::Effort;
use crate::time::{DayHours, QuietHours};

pub use computer::{ComputerSection, SshAddress};
pub use provider::{HookPoint, ProviderKind, SearchKind};
pub use schema::{is_secret_name, read_settings, settings_schema};

/// The document.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SettingsDocument {
    /// Scheduling.
    pub cron: CronSection,
    /// The heartbeat.
    pub heartbeat: HeartbeatSection,
    /// Hours in which notifications are held [default: none].
    #[schemars(extend("editable" = true, "expected" = HOURS_TABLE))]
    pub quiet_hours: Option<QuietHours>,
    /// The model.
    pub model: ModelSection,
    /// Providers by name.
    #[schemars(extend("editable" = true))]
    pub providers: BTreeMap<String, ProviderSection>,
    /// The folder of the file tools [default: `workspace` in the data directory].
    #[schemars(extend("editable" = true))]
    pub workspace: Option<String>,
    /// A wider folder for the file tools.
    pub risky_workspace: RiskyWorkspaceSection,
    /// Limits of tools and runs.
    pub tools: ToolsSection,
    /// Web search.
    pub search: SearchSection,
    /// Registries of servers and skills.
    pub registries: RegistriesSection,
    /// Channels by name.
    #[schemars(extend("editable" = true))]
    pub channels: BTreeMap<String, ChannelSection>,
    /// Channels of reports, and of each message without channels of its own [default: the notification].
    #[schemars(extend(
        "items" = crate::json_fields::text_of("channel-target"),
        "minItems" = 1,
        "editable" = true
    ))]
    pub deliver_to: Option<Vec<String>>,
    /// Channels of failures [default: those of `deliverTo`].
    #[schemars(extend(
        "items" = crate::json_fields::text_of("channel-target"),
        "minItems" = 1,
        "editable" = true
    ))]
    pub deliver_failures_to: Option<Vec<String>>,
    /// Channels of requests for an approval or input [default: those of `deliverTo`].
    #[schemars(extend(
        "items" = crate::json_fields::text_of("channel-target"),
        "minItems" = 1,
        "editable" = true
    ))]
    pub deliver_approvals_to: Option<Vec<String>>,
    /// Other computers by name, which this computer reaches over SSH.
    #[schemars(extend("editable" = true))]
    pub computers: BTreeMap<String, ComputerSection>,
    /// Hook commands.
    #[schemars(extend("expected" = "a list of tables ([[hooks]])"))]
    pub hooks: Vec<HookSection>,
    /// Stored history.
    pub retention: RetentionSection,
    /// The daily budget of all runs.
    pub budget: BudgetSection,
    /// Own prices by model name; a name may end with `*`.
    pub prices: BTreeMap<String, Price>,
    /// The computer.
    pub system: SystemSection,
    /// The loopback server.
    pub gateway: GatewaySection,
}

const HOURS_TABLE: &str = "a table such as { from = \"22:00\", to = \"07:00\" }";

/// Scheduling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct CronSection {
    /// Whether jobs fire.
    #[schemars(extend("editable" = true))]
    pub enabled: bool,
    /// Maximum active runs.
    #[schemars(range(min = 1, max = 1_000), extend("editable" = true))]
    pub max_concurrent_runs: u32,
}

impl Default for CronSection {
    fn default() -> Self {
        Self { enabled: true, max_concurrent_runs: 2 }
    }
}

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HeartbeatSection {
    /// Whether heartbeat turns are scheduled.
    #[schemars(extend("editable" = true))]
    pub enabled: bool,
    /// The interval, at least `1m` [default: 30m].
    #[serde(rename = "every", deserialize_with = "schema::duration_ms")]
    #[schemars(with = "String", extend("format" = "heartbeat-interval", "editable" = true))]
    pub every_ms: i64,
    /// Hours in which heartbeat turns are scheduled [default: always].
    #[schemars(extend("editable" = true, "expected" = HOURS_TABLE))]
    pub active_hours: Option<DayHours>,
    /// Additional instructions for heartbeat turns.
    #[schemars(extend("editable" = true))]
    pub prompt: Option<String>,
    /// Skills of each turn of the main session.
    #[schemars(extend(
        "items" = crate::json_fields::text_of("skill-name"),
        "maxItems" = crate::skills::MOST_SKILLS,
        "editable" = true
    ))]
    pub skills: Vec<String>,
    /// The model of heartbeat turns [default: the model of the settings].
    #[schemars(extend("editable" = true))]
    pub model: Option<String>,
}

impl Default for HeartbeatSection {
    fn default() -> Self {
        let (active_hours, prompt, skills, model) = (None, None, Vec::new(), None);
        Self { enabled: true, every_ms: 30 * 60_000, active_hours, prompt, skills, model }
    }
}

/// The model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSection {
    /// The provider's name [default: the best one found].
    #[schemars(extend("editable" = true))]
    pub provider: Option<String>,
    /// The model's name [default: the provider's choice].
    #[schemars(extend("editable" = true))]
    pub name: Option<String>,
    /// Maximum wait of a run for unavailable models, in seconds. A provider's outage is usually over within minutes.
    #[schemars(range(max = 86_400), extend("editable" = true))]
    pub patience_seconds: u32,
}

impl Default for ModelSection {
    fn default() -> Self {
        Self { provider: None, name: None, patience_seconds: 900 }
    }
}

/// A model provider. The API key is never here, only its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSection {
    /// The wire format [default: openai].
    #[serde(default)]
    pub kind: ProviderKind,
    /// The address.
    #[schemars(schema_with = "schema::web_address")]
    pub base_url: String,
    /// The model of jobs that name none.
    #[schemars(schema_with = "crate::json_fields::non_blank")]
    pub model: String,
    /// The environment variable with the API key.
    #[schemars(extend("format" = "variable-name"))]
    pub key_env: Option<String>,
    /// The stored secret with the API key.
    #[schemars(extend("format" = "secret-name"))]
    pub key_secret: Option<String>,
    /// The context window in tokens [default: known by the model's name].
    #[schemars(range(min = 2_000, max = 10_000_000))]
    pub context_tokens: Option<u32>,
    /// The reasoning effort of jobs that set none.
    pub effort: Option<Effort>,
}

/// A wider folder for the file tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct RiskyWorkspaceSection {
    /// Whether the wider folder is open.
    pub enabled: bool,
    /// The folder [default: the parent of the workspace].
    pub root: Option<String>,
}

/// Limits of tools and runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolsSection {
    /// The largest file of `read_file`, in bytes.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    #[ts(type = "number")]
    pub read_file_max_bytes: u64,
    /// Maximum model calls with tools per run, for jobs without `maxSteps`.
    #[schemars(range(min = 1, max = 50))]
    pub max_steps: u32,
    /// The time limit of commands without their own, in milliseconds.
    #[schemars(range(min = 1, max = 86_400_000))]
    #[ts(type = "number")]
    pub run_command_timeout_ms: u64,
    /// Hosts of the private network that `http` may reach.
    pub allow_private_hosts: Vec<String>,
}

impl Default for ToolsSection {
    fn default() -> Self {
        Self {
            read_file_max_bytes: 524_288,
            max_steps: 10,
            run_command_timeout_ms: 600_000,
            allow_private_hosts: Vec::new(),
        }
    }
}

/// Web search. The API key is never here, only its place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchSection {
    /// The provider [default: the first with a key in its usual variable].
    #[schemars(extend("editable" = true))]
    pub provider: Option<SearchKind>,
    /// The address [default: the provider's own].
    #[schemars(extend("format" = "web-address", "editable" = true))]
    pub url: Option<String>,
    /// The environment variable with the API key [default: the provider's usual variable].
    #[schemars(extend("format" = "variable-name", "editable" = true))]
    pub key_env: Option<String>,
    /// The stored secret with the API key.
    #[schemars(extend("format" = "secret-name", "editable" = true))]
    pub key_secret: Option<String>,
}

/// The registries of servers and skills. Rouse connects to a registry only for a search or an installation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistriesSection {
    /// Base address of a registry with the MCP registry API [default: none].
    #[schemars(extend("format" = "registry-address", "editable" = true))]
    pub servers: Option<String>,
    /// Base address of a skill registry with the ClawHub API [default: none].
    #[schemars(extend("format" = "registry-address", "editable" = true))]
    pub skills: Option<String>,
}

/// A command that is notified of, or consulted on, a step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSection {
    /// The step.
    pub on: HookPoint,
    /// The program, by name or absolute path, and its arguments.
    pub command: Vec<String>,
    /// The time limit, at most `10m`.
    #[serde(
        rename = "timeout",
        default = "schema::hook_timeout_ms",
        deserialize_with = "schema::duration_ms"
    )]
    #[schemars(with = "String", extend("format" = "hook-timeout"))]
    pub timeout_ms: i64,
}

/// Stored history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct RetentionSection {
    /// Newest runs to keep for each job.
    #[schemars(range(min = 10, max = 1_000_000), extend("editable" = true))]
    pub runs_per_job: u32,
    /// Newest messages to keep for each session of a job.
    #[schemars(range(min = 10, max = 1_000_000), extend("editable" = true))]
    pub messages_per_session: u32,
    /// Size of the database in megabytes beyond which the oldest runs of all jobs are deleted.
    #[schemars(range(min = 8, max = 1_000_000), extend("editable" = true))]
    pub max_database_mb: u32,
}

impl Default for RetentionSection {
    fn default() -> Self {
        Self { runs_per_job: 2_000, messages_per_session: 2_000, max_database_mb: 1_024 }
    }
}

/// The daily budget of all runs: jobs, heartbeat and chat. A day is one of the local zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSection {
    /// Maximum tokens [default: unlimited].
    #[schemars(range(min = 1, max = 1_000_000_000), extend("editable" = true))]
    #[ts(type = "number | null")]
    pub tokens_per_day: Option<u64>,
    /// Maximum dollars [default: unlimited].
    #[schemars(extend("editable" = true))]
    pub usd_per_day: Option<MicroUsd>,
}

impl BudgetSection {
    /// The limit on the spending of a day.
    #[must_use]
    pub const fn limit(self) -> Limit {
        Limit { tokens: self.tokens_per_day, usd: self.usd_per_day }
    }
}

/// The computer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemSection {
    /// Whether the computer stays awake while a run is active.
    #[schemars(extend("editable" = true))]
    pub keep_awake: bool,
}

/// The loopback server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewaySection {
    /// The preferred port; the next free port if another program has it.
    pub port: u16,
    /// Host names under which a reverse proxy on this computer forwards https requests to Rouse [default: none].
    #[schemars(extend("items" = crate::json_fields::text_of("host-name"), "maxItems" = 8))]
    pub names: Vec<String>,
}

impl Default for GatewaySection {
    fn default() -> Self {
        Self { port: 7_717, names: Vec::new() }
    }
}
