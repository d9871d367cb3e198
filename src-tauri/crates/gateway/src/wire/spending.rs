//! Spending, and cost estimates of jobs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::job::WrittenSchedule;

/// Spending in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpentView {
    /// Input and output tokens.
    pub tokens: u64,
    /// Cost in micro-dollars of all tokens with a known price.
    pub cost_micro_usd: u64,
    /// Tokens without a known price, included in `tokens`.
    pub unpriced_tokens: u64,
}

/// `spending.get`: spending of all jobs (including deleted ones), the heartbeat and the chat, in the local zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpendingView {
    /// Since midnight.
    pub today: SpentView,
    /// Since the first of the month.
    pub month: SpentView,
    /// Reset of the daily budgets.
    pub day_ends_at_ms: i64,
    /// Daily token budget, if set.
    pub tokens_per_day: Option<u64>,
    /// Daily cost budget in US dollars, if set.
    pub usd_per_day: Option<f64>,
}

/// `cron.estimate`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronEstimateParams {
    /// Job with the runs to estimate from; none for a new job.
    pub id: Option<String>,
    /// The unsaved schedule.
    #[ts(as = "WrittenSchedule")]
    pub schedule: Value,
}

/// `cron.estimate`: the monthly cost of a job, estimated from past runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronEstimateResult {
    /// The estimate as a sentence.
    pub text: String,
    /// Number of runs behind the estimate: the newest with a model call or a paid tool.
    pub based_on_runs: u32,
    /// Runs in the next 30 days; none for a trigger without a schedule.
    pub runs_per_month: Option<u32>,
    /// Median tokens per run.
    pub tokens_per_run: Option<u64>,
    /// Median cost per run; none if the price of a run is unknown.
    pub cost_per_run_micro_usd: Option<u64>,
    /// Tokens per run times runs per month.
    pub tokens_per_month: Option<u64>,
    /// Cost per run times runs per month.
    pub cost_per_month_micro_usd: Option<u64>,
}
