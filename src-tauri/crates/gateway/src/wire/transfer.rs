//! `cron.export`, `cron.ledger`, `cron.import`: jobs and their runs as files.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::{Job, JobWarning, PreviewSlot, RfcStatus, RunState, RunTrigger};

/// `cron.export`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronExportParams {
    /// Only this job.
    pub id: Option<String>,
}

/// `cron.export`, and what `cron.import` reads.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronExportResult {
    /// Who wrote it: `rouse`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// The jobs, kept keys included.
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
    /// `next` of the page before.
    pub before: Option<String>,
}

/// `cron.ledger`: a page of a job's runs that are over, as its run log has them.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronLedgerResult {
    /// Newest first; a log has them the other way round.
    pub entries: Vec<LedgerEntry>,
    /// Where the next page begins; none: this was the last one.
    pub next: Option<String>,
}

/// A line of a job's run log, in the words of the cron RFC and with what Rouse knows beyond it. Absent values are left
/// out.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are documented in rouse_core::run::Run")]
pub struct LedgerEntry {
    /// When it ended.
    pub ts: i64,
    pub job_id: String,
    /// Always `finished`.
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RfcStatus>,
    /// What failed; of a run that was cut off, why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What came of it: its outcome in words, else its error, else its reason.
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
    pub stands_for: u32,
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ImportFormat {
    /// `cron.export`.
    Rouse,
    /// The `jobs.json` of the cron RFC.
    Rfc,
    /// OpenClaw's jobs as JSON.
    OpenClaw,
    /// A user's crontab.
    Crontab,
    /// A system's crontab, with a user before each command.
    SystemCrontab,
}

/// `cron.import`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronImportParams {
    /// The file's text.
    pub text: String,
    /// Where it comes from; looked for when absent.
    pub format: Option<ImportFormat>,
    /// Only report what would happen.
    pub dry_run: Option<bool>,
    /// Switch those jobs on that are on in the file; all come in switched off when absent.
    pub enable: Option<bool>,
    /// Replace jobs that are here under the same id; they are left alone when absent.
    pub update: Option<bool>,
}

/// `cron.import`: one line a job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronImportResult {
    /// As which the file was read.
    pub format: ImportFormat,
    /// In the order of the file.
    pub lines: Vec<ImportLine>,
}

/// What became of one job of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportLine {
    /// The job's name, or its place in the file.
    pub name: String,
    /// Its id here; none when it was refused.
    pub id: Option<String>,
    /// What happened, or would happen.
    pub outcome: ImportOutcome,
    /// Whether it is switched on afterwards.
    pub enabled: bool,
    /// Why it was skipped or refused.
    pub reason: Option<String>,
    /// What else to know about it.
    pub notes: Vec<String>,
    /// What will keep it from doing what it says, as far as it can be known now.
    pub warnings: Vec<JobWarning>,
    /// When it fires, in words; none when it was refused.
    pub schedule_text: Option<String>,
    /// The zone in which the words tell its times; none where they tell none.
    pub zone: Option<String>,
    /// The next times at which it fires once it is on, at most three.
    pub next: Vec<PreviewSlot>,
    /// What it does and how, whole, with all that cannot be seen shown by its number; what it does comes first. None of one
    /// that is not taken.
    pub facts: Vec<JobFact>,
}

/// A fact about a job: what it does, or something about it that is not the default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobFact {
    /// What it is about, in a word: `does`, `tools`, `ends`.
    pub about: String,
    /// The fact, in words.
    pub text: String,
}

/// What happened to one job of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ImportOutcome {
    /// It is new.
    Created,
    /// It replaced the one with its id.
    Updated,
    /// The same job was here and off; nothing else about it changed.
    SwitchedOn,
    /// Nothing was done, and nothing had to be.
    Skipped,
    /// It cannot be taken.
    Refused,
}
