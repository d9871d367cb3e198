//! `cron.export`, `cron.ledger`, `cron.import`: jobs and run logs as files.

pub use rouse_core::import::ImportFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::cron::{JobWarning, PreviewSlot};
use super::job::{Job, JobFact, RfcStatus, RunState, RunTrigger};

/// `cron.export`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronExportParams {
    /// Only this job.
    pub id: Option<String>,
}

/// `cron.export`, also an input of `cron.import`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronExportResult {
    /// Format name: `rouse`.
    pub format: String,
    /// Format version.
    pub version: u32,
    /// The jobs, including unknown keys.
    #[ts(as = "Vec<Job>")]
    pub jobs: Vec<Value>,
}

/// `cron.ledger`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronLedgerParams {
    /// The job.
    pub id: String,
    /// `next` of the previous page.
    pub before: Option<String>,
}

/// `cron.ledger`: a page of a job's finished runs, in the run log format.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronLedgerResult {
    /// The entries, newest first; a log file has the reverse order.
    pub entries: Vec<LedgerEntry>,
    /// Cursor of the next page; none on the last page.
    pub next: Option<String>,
}

/// An entry of a job's run log: the fields of the cron RFC and further ones. Absent values are omitted.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are documented in rouse_core::run::Run")]
pub struct LedgerEntry {
    /// End of the run.
    pub ts: i64,
    pub job_id: String,
    /// Always `finished`.
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RfcStatus>,
    /// Error, or the reason of an interrupted run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Summary, error or reason, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    pub run_id: String,
    pub name: String,
    pub state: RunState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub trigger: RunTrigger,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_slot_at_ms: Option<i64>,
    pub slot_count: u32,
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `cron.import`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronImportParams {
    /// Text of the file.
    pub text: String,
    /// Format. Default: detected.
    pub format: Option<ImportFormat>,
    /// Report without saving.
    pub dry_run: Option<bool>,
    /// Enable jobs that are enabled in the file. Default: import all disabled.
    pub enable: Option<bool>,
    /// Replace existing jobs with the same id. Default: skip them.
    pub update: Option<bool>,
}

/// `cron.import`: one line per job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronImportResult {
    /// Format of the file.
    pub format: ImportFormat,
    /// The lines, in the order of the file.
    pub lines: Vec<ImportLine>,
}

/// Result for one job of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportLine {
    /// Name of the job, or position in the file.
    pub name: String,
    /// Id of the imported job; none if refused.
    pub id: Option<String>,
    /// Outcome, or expected outcome of a dry run.
    pub outcome: ImportOutcome,
    /// Whether the job is enabled after the import.
    pub enabled: bool,
    /// Why the job was skipped or refused.
    pub reason: Option<String>,
    /// Notes on the conversion.
    pub notes: Vec<String>,
    /// Warnings about the job.
    pub warnings: Vec<JobWarning>,
    /// Description of the schedule; none if refused.
    pub schedule_text: Option<String>,
    /// Time zone of the description; none if the description has no time.
    pub zone: Option<String>,
    /// Next slots of the enabled job, at most three.
    pub next: Vec<PreviewSlot>,
    /// Task and settings of the job, with escaped invisible characters; empty if refused.
    pub facts: Vec<JobFact>,
}

/// Outcome for one job of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ImportOutcome {
    /// Added.
    Created,
    /// Replaced an existing job.
    Updated,
    /// Enabled an existing, otherwise equal job.
    SwitchedOn,
    /// Not changed.
    Skipped,
    /// Invalid.
    Refused,
}
