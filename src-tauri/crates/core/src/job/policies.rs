//! The policies of a job: misfires, overlap, limits, notifications, approvals, grants, sandbox.
//!
//! The names of a closed set are camelCase in the document (serde) and kebab-case on the command line (strum).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::field_schema::is_default;
use super::folder::FolderGrant;
use crate::budget::MicroUsd;
use crate::json_fields::text_of;
use crate::time::QuietPolicy;

/// The policies of a job. Each field has a default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct Policies {
    /// Slots that passed while nothing could fire.
    #[serde(skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<Misfire>")]
    pub misfire: Misfire,
    /// A slot that comes while the previous run is running.
    #[serde(skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<Overlap>")]
    pub overlap: Overlap,
    /// Maximum parallel runs of this job with `overlap: parallel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Concurrent runs", range(min = 1, max = 100))]
    pub max_concurrent: Option<u32>,
    /// Minimum seconds between the starts of two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub cooldown_seconds: Option<u32>,
    /// Time limit of each attempt in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Time limit", range(min = 1, max = 604_800))]
    pub timeout_seconds: Option<u32>,
    /// Pauses the job after this number of consecutive failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_after_failures: Option<u32>,
    /// Spending limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Which outcomes are worth a notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Notify about")]
    pub notify: Option<Notify>,
    /// Channels of reports and failures: `NAME` or `NAME:RECIPIENT`; those of the settings when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = text_of("channel-target"), "maxItems" = 10))]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub deliver_to: Vec<String>,
    /// Whether notifications wait for the end of quiet hours.
    #[serde(skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<QuietPolicy>")]
    pub quiet_hours: QuietPolicy,
    /// Calls that need an approval.
    #[serde(skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<Approvals>")]
    pub approvals: Approvals,
    /// Seconds until an approval expires [default: 1800].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Approval timeout", range(min = 60, max = 604_800))]
    pub approval_seconds: Option<u32>,
    /// Hosts that calls may reach: `host` or `host:port`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = text_of("host")))]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub hosts: Vec<String>,
    /// Folders outside the workspace that calls may read or write: `PATH` or `PATH:write`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<FolderGrant>>")]
    pub folders: Vec<FolderGrant>,
    /// Confinement of commands that a model runs.
    #[serde(skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<Sandbox>")]
    pub sandbox: Sandbox,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// Slots that passed while nothing could fire.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct Misfire {
    /// How passed slots are caught up.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(title = "Misfire policy")]
    #[ts(optional, as = "Option<MisfireMode>")]
    pub mode: MisfireMode,
    /// A slot later than this is missed in every mode. Where one run stands for several slots, the newest counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_622_400))]
    pub max_lateness_seconds: Option<u32>,
    /// Maximum catch-up runs with `mode: runAll` [default: 10].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Catch-up limit", range(min = 1, max = 100))]
    pub limit: Option<u32>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// How passed slots are caught up.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum MisfireMode {
    /// Not at all: the slots are recorded as missed.
    Skip,
    /// One catch-up run stands for all.
    #[default]
    RunOnce,
    /// One catch-up run for each of the newest `limit` slots.
    RunAll,
}

/// A slot that comes while the previous run is running.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum Overlap {
    /// The slot is recorded as skipped.
    #[default]
    Skip,
    /// The new run is queued.
    Queue,
    /// The new run starts in parallel, up to `maxConcurrent`.
    Parallel,
    /// The previous run is cancelled.
    CancelOther,
}

/// Spending limits of one job. A day is a day in the job's zone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Budget {
    /// Tokens per run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub tokens_per_run: Option<u64>,
    /// Tokens per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub tokens_per_day: Option<u64>,
    /// Dollars per run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "USD per run")]
    pub usd_per_run: Option<MicroUsd>,
    /// Dollars per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "USD per day")]
    pub usd_per_day: Option<MicroUsd>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// Calls that need an approval and have neither approval nor grant.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum Approvals {
    /// The run parks until the approval is decided.
    #[default]
    Ask,
    /// The call is denied at once.
    Deny,
    /// Tools that need an approval are not offered.
    Skip,
}

impl Approvals {
    /// The name in the job format.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Confinement of commands that a model runs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum Sandbox {
    /// In the sandbox, or not at all.
    #[default]
    Required,
    /// With the user's own rights; each call needs an approval.
    Open,
}

/// Which outcomes are worth a notification.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum Notify {
    /// Every finished run.
    Always,
    /// Reports and failures.
    #[default]
    Findings,
    /// Failures only.
    Failure,
    /// Nothing.
    Never,
}
