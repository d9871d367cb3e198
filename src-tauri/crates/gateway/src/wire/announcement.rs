//! What a job has to tell: why it fails, and whether a condition would tell its last result.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Why a job fails, from its first failure on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct IncidentView {
    /// The first failure in words.
    pub cause: String,
    /// When the first run failed of it.
    pub opened_at_ms: i64,
    /// Runs that failed of it.
    pub count: u32,
    /// The first of them.
    pub first_run_id: String,
    /// The newest of them.
    pub last_run_id: String,
    /// When the newest of them failed.
    pub last_at_ms: i64,
    /// Why the job was switched off because of it: "Paused after 3 failures in a row"; none when it was not.
    pub paused_because: Option<String>,
}

/// `cron.tryCondition`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronTryConditionParams {
    /// The job whose last result it is tried on; none while it has not been saved: then only the words are checked.
    pub id: Option<String>,
    /// The expression.
    pub cel: String,
}

/// `cron.tryCondition`: what the engine would do with the last result.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronTryConditionResult {
    /// What is wrong with the expression, or why it cannot be worked out.
    pub problem: Option<String>,
    /// Whether it holds; none with a problem or without a result.
    pub holds: Option<bool>,
    /// The last result, on which it was tried; none when the job has none yet.
    pub on: Option<TriedResult>,
}

/// A result that a condition was tried on.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TriedResult {
    /// The run that had it.
    pub run_id: String,
    /// When that run was made.
    pub at_ms: i64,
    /// The result.
    pub result: Value,
    /// The one before, `previous`; `null` when there was none.
    pub previous: Value,
}
