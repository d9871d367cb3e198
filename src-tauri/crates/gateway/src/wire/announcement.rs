//! Incidents of jobs, and trials of notification conditions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// An open incident of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct IncidentView {
    /// Error of the first failed run.
    pub cause: String,
    /// Time of the first failure.
    pub opened_at_ms: i64,
    /// Number of failed runs.
    pub count: u32,
    /// First failed run.
    pub first_run_id: String,
    /// Newest failed run.
    pub last_run_id: String,
    /// Time of the newest failure.
    pub last_at_ms: i64,
    /// Why the incident paused the job, such as "Paused after 3 failures in a row"; none if not paused.
    pub paused_because: Option<String>,
}

/// `cron.tryCondition`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronTryConditionParams {
    /// Job with the result to test; none for an unsaved job, where only the syntax is checked.
    pub id: Option<String>,
    /// The CEL expression.
    pub cel: String,
}

/// `cron.tryCondition`: the verdict on the last result.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronTryConditionResult {
    /// Syntax or evaluation error.
    pub problem: Option<String>,
    /// Value of the expression; none with an error or without a result.
    pub holds: Option<bool>,
    /// The last result; none before the first.
    pub on: Option<ConditionSample>,
}

/// A result for a condition.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConditionSample {
    /// Run of the result.
    pub run_id: String,
    /// Creation time of the run.
    pub at_ms: i64,
    /// The result.
    pub result: Value,
    /// The previous result; `null` for the first.
    pub previous: Value,
}
