//! `cron.*`: jobs, their runs, preview, pause.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::{Job, JobDraft, RunState, RunView, Schedule};

/// A job with what every view of it needs.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// The job in the job format, kept keys included.
    #[ts(as = "Job")]
    pub job: Value,
    /// When it fires, in words: "Weekdays at 07:30".
    pub schedule_text: String,
    /// The zone of a cron schedule.
    pub zone: Option<String>,
    /// The newest final states, oldest first, at most 14.
    pub recent: Vec<RunState>,
    /// Runs of it that are going or waiting.
    pub live_run_ids: Vec<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronListParams {
    /// Also jobs that are switched off; no when absent.
    pub include_disabled: Option<bool>,
    /// Words in name or description.
    pub search: Option<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronListResult {
    /// Soonest first.
    pub jobs: Vec<JobView>,
}

/// One job by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobRef {
    /// The job.
    pub id: String,
}

/// `cron.add`: the draft itself.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(transparent)]
pub struct CronAddParams(#[ts(as = "JobDraft")] pub Value);

/// `cron.update`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronUpdateParams {
    /// The job.
    pub id: String,
    /// Laid over the job (RFC 7396: `null` removes a key).
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Refused when the job has changed since.
    pub expected_revision: Option<i64>,
}

/// `cron.remove`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronRemoveResult {
    /// The job as it was, to add it again; none when there was none.
    #[ts(as = "Option<Job>")]
    pub job: Option<Value>,
}

/// Whether a run asks for the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum RunMode {
    /// Only when a slot is due.
    Due,
    /// In any case.
    Force,
}

/// `cron.run`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronRunParams {
    /// The job.
    pub id: String,
    /// `due` when absent.
    pub mode: Option<RunMode>,
}

/// A run that was started or asked for.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StartedRun {
    /// The run; none when nothing was due.
    pub run_id: Option<String>,
}

/// `cron.runs`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronRunsParams {
    /// The job.
    pub id: String,
    /// At most so many; 20 when absent.
    pub limit: Option<u32>,
}

/// `cron.runs`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronRunsResult {
    /// Newest first.
    pub entries: Vec<RunView>,
}

/// `cron.preview`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronPreviewParams {
    /// The schedule as it stands in the form.
    #[ts(as = "Schedule")]
    pub schedule: Value,
    /// How many slots; 5 when absent, at most 50.
    pub count: Option<u32>,
}

/// `cron.preview`: what the engine would do.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronPreviewResult {
    /// When it fires, in words.
    pub text: String,
    /// The zone it is computed in.
    pub zone: String,
    /// The system's zone.
    pub local_zone: String,
    /// The next slots.
    pub next: Vec<PreviewSlot>,
    /// Changes of clocks within the shown slots, in words.
    pub notes: Vec<String>,
}

/// One slot of a preview.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PreviewSlot {
    /// The instant.
    pub at_ms: i64,
    /// In the job's zone: `2026-11-23T07:30+01:00`.
    pub job_time: String,
    /// In the system's zone.
    pub local_time: String,
    /// Why it is not simply the time of the pattern: a change of clocks, in words.
    pub note: Option<String>,
}

/// `cron.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronStatus {
    /// Whether jobs fire.
    pub enabled: bool,
    /// Why they do not.
    pub off_reason: Option<String>,
    /// The pause, when everything is paused.
    pub pause: Option<Pause>,
    /// The next slot of all.
    pub next: Option<NextSlot>,
    /// Runs at work.
    pub running: u32,
    /// Runs that wait.
    pub queued: u32,
    /// Most runs at work at the same time.
    pub max_concurrent_runs: u32,
    /// All jobs.
    pub jobs: u32,
    /// Enabled jobs.
    pub enabled_jobs: u32,
    /// Enabled jobs whose newest run failed.
    pub failing_jobs: u32,
}

/// A pause of everything.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// When it ends by itself; none: until resumed.
    pub until_ms: Option<i64>,
}

/// The next slot of all jobs.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NextSlot {
    /// The job.
    pub job_id: String,
    /// Its name.
    pub name: String,
    /// The slot.
    pub at_ms: i64,
}

/// `cron.pause`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronPauseParams {
    /// When it ends by itself; absent: until resumed.
    pub until_ms: Option<i64>,
}

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
    /// Version of this shape.
    pub version: u32,
    /// The jobs, kept keys included.
    #[ts(as = "Vec<Job>")]
    pub jobs: Vec<Value>,
}

/// `cron.import`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronImportParams {
    /// Jobs in the job format.
    #[ts(type = "Array<Record<string, unknown>>")]
    pub jobs: Vec<Value>,
    /// Only report what would happen.
    pub dry_run: Option<bool>,
    /// Keep `enabled` as the file says; imported jobs are switched off when absent.
    pub keep_enabled: Option<bool>,
}

/// `cron.import`: one line a job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronImportResult {
    /// In the order of the input.
    pub lines: Vec<ImportLine>,
}

/// What became of one imported job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportLine {
    /// The job's name, or its place in the input.
    pub name: String,
    /// The id it got.
    pub id: Option<String>,
    /// Whether it was (or would be) added.
    pub ok: bool,
    /// What is wrong with it, or what to know.
    pub message: Option<String>,
}
