//! What was spent, and what jobs will probably cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::WrittenSchedule;

/// What was spent in a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpentView {
    /// Tokens, sent and received.
    pub tokens: u64,
    /// Millionths of a US dollar, as far as prices are known.
    pub cost_micro_usd: u64,
    /// Tokens of which nobody knows what they cost; they are in `tokens` as well.
    pub unpriced_tokens: u64,
}

/// `spending.get`: what everything has spent, in the local zone: jobs, those that are gone included, the heartbeat and
/// the chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpendingView {
    /// Since midnight.
    pub today: SpentView,
    /// Since the first of the month.
    pub month: SpentView,
    /// When the budgets of the day are new.
    pub day_ends_at_ms: i64,
    /// The budget of a day in tokens; none without one.
    pub tokens_per_day: Option<u64>,
    /// The budget of a day in dollars; none without one.
    pub usd_per_day: Option<f64>,
}

/// `cron.estimate`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronEstimateParams {
    /// The job whose runs tell what one costs; none for one that is new.
    pub id: Option<String>,
    /// The schedule as it stands in the form.
    #[ts(as = "WrittenSchedule")]
    pub schedule: Value,
}

/// `cron.estimate`: what a job will probably cost a month, by its past runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronEstimateResult {
    /// In a sentence.
    pub text: String,
    /// The runs that it is told from: the newest that have used a model, or a tool that costs something.
    pub based_on_runs: u32,
    /// Runs of the next 30 days by the schedule; none where a schedule does not say it.
    pub runs_per_month: Option<u32>,
    /// What one run uses: the median.
    pub tokens_per_run: Option<u64>,
    /// What one run costs: the median; none where the price of a run is not known.
    pub cost_per_run_micro_usd: Option<u64>,
    /// Both together.
    pub tokens_per_month: Option<u64>,
    /// Both together.
    pub cost_per_month_micro_usd: Option<u64>,
}
