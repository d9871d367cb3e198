//! How a job behaves when things do not go as planned.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::folder::FolderGrant;
use crate::money::MicroUsd;
use crate::quiet::QuietPolicy;

/// All policies of a job; every field has a default, so an empty object is a full answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policies {
    /// Slots that passed while nothing could fire.
    pub misfire: Misfire,
    /// A slot that comes while a run of the same job is still going.
    pub overlap: Overlap,
    /// Runs of this job at the same time, for `parallel`.
    pub max_concurrent: Option<u32>,
    /// Least seconds between the starts of two runs.
    pub cooldown_seconds: Option<u32>,
    /// Time limit of each attempt of a run.
    pub timeout_seconds: Option<u32>,
    /// Pauses the job after so many failures in a row.
    pub pause_after_failures: Option<u32>,
    /// Spending limits.
    pub budget: Option<Budget>,
    /// Which outcomes are worth a notification.
    pub notify: Option<Notify>,
    /// Whether notifications wait for the end of quiet hours.
    pub quiet_hours: QuietPolicy,
    /// What becomes of calls that need a person's yes.
    pub approvals: Approvals,
    /// How long a question waits for its answer; half an hour when absent.
    pub approval_seconds: Option<u32>,
    /// Hosts that its calls may reach: `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Folders beside the workspace that its calls may read or write.
    pub folders: Vec<FolderGrant>,
    /// How what a model has chosen to run is confined.
    pub sandbox: Sandbox,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// Slots that passed while nothing could fire.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Misfire {
    /// What happens with them.
    pub mode: MisfireMode,
    /// A slot later than this is missed, whatever the mode; of those that one run stands for, the newest counts.
    pub max_lateness_seconds: Option<u32>,
    /// Most slots made up for by `runAll`.
    pub limit: Option<u32>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// What happens with slots that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MisfireMode {
    /// They are recorded as missed.
    Skip,
    /// One late run stands for all of them.
    #[default]
    RunOnce,
    /// Each gets its run, the newest `limit` of them.
    RunAll,
}

/// A slot that comes while a run of the same job is still going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is recorded as skipped.
    #[default]
    Skip,
    /// It waits for its turn.
    Queue,
    /// It runs beside, up to `maxConcurrent`.
    Parallel,
    /// It ends the run that is going and takes its place.
    CancelOther,
}

/// Spending limits of one job. A day is one in the job's zone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Budget {
    /// Tokens of one run.
    pub tokens_per_run: Option<u64>,
    /// Tokens of all its runs of a day.
    pub tokens_per_day: Option<u64>,
    /// Dollars of one run.
    pub usd_per_run: Option<MicroUsd>,
    /// Dollars of all its runs of a day.
    pub usd_per_day: Option<MicroUsd>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// What becomes of calls that need a person's yes and have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Approvals {
    /// The run parks, and the person is asked.
    #[default]
    Ask,
    /// The model is told no at once.
    Deny,
    /// Tools that need one are not offered at all.
    Skip,
}

impl Approvals {
    /// The word of a job for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Skip => "skip",
        }
    }
}

/// How what a model has chosen to run is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandbox {
    /// In the sandbox, or not at all.
    #[default]
    Required,
    /// With the person's own rights, each call asked for.
    Open,
}

/// Which outcomes are worth a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// Every finished run.
    Always,
    /// Results and failures, not "nothing to report".
    #[default]
    Findings,
    /// Failures only.
    Failure,
    /// None.
    Never,
}
