//! `cron.*`: jobs, runs of jobs, preview and pause.

pub use rouse_core::run::ManualRunMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::announcement::IncidentView;
use super::channel::{DeliveryDraft, MessageRoutes};
use super::job::{Follower, Job, JobDraft, RunState, WrittenSchedule};
use super::run::RunView;
use super::spending::SpentView;

/// A job with its status.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// The job in the job format, including unknown keys.
    #[ts(as = "Job")]
    pub job: Value,
    /// Description of the schedule, such as "Weekdays at 07:30".
    pub schedule_text: String,
    /// Time zone of the description; none if the description has no time.
    pub zone: Option<String>,
    /// Newest final states, oldest first, at most 14.
    pub recent: Vec<RunState>,
    /// Active and waiting runs.
    pub live_run_ids: Vec<String>,
    /// Open incident; none if the job is healthy.
    pub incident: Option<IncidentView>,
    /// Whether the predecessor of the job was deleted, so that the job never fires.
    pub is_predecessor_missing: bool,
    /// Spending since the first of the month, in the local zone.
    pub spent_this_month: SpentView,
    /// Channels and recipients of the next messages.
    pub routes: MessageRoutes,
}

/// `cron.add`, `cron.update`: the saved job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SavedJob {
    /// The job.
    #[serde(flatten)]
    pub view: JobView,
    /// Warnings, which do not prevent saving.
    pub warnings: Vec<JobWarning>,
}

/// A problem that would affect the job now. Not an error: a missing file or model may appear later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobWarning {
    /// Path of the field, such as `payload.contextPaths[0]`.
    pub field: String,
    /// Problem and fix, as a sentence.
    pub message: String,
}

/// `cron.check`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronCheckParams {
    /// The unsaved job.
    #[ts(as = "JobDraft")]
    pub job: Value,
}

/// `cron.check`: the warnings of a job without saving.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronCheckResult {
    /// The warnings.
    pub warnings: Vec<JobWarning>,
    /// Grants suggested by the message; none without a suggestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offers: Option<GrantOffers>,
}

/// Grants for hosts and folders that the job's message names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantOffers {
    /// Hosts for commands and requests.
    pub hosts: Vec<String>,
    /// Folders to read.
    pub folders: Vec<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronListParams {
    /// Also disabled jobs. Default: false.
    pub include_disabled: Option<bool>,
    /// Words in name, description or payload, or an id prefix.
    pub search: Option<String>,
    /// Only jobs with an open incident. A page may hold fewer than `limit` jobs before the last page.
    pub has_incident: Option<bool>,
    /// Page size: 1 to 500, default 100.
    pub limit: Option<u32>,
    /// `nextCursor` of the previous page. A job whose next slot moves meanwhile may appear twice or not at all; a `cron`
    /// event reports the move.
    pub cursor: Option<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronListResult {
    /// The jobs, by next slot.
    pub jobs: Vec<JobView>,
    /// Unreadable jobs, which never fire and can only be removed. The first page lists all that were found, also disabled
    /// ones; later pages list their own.
    pub broken: Vec<BrokenJob>,
    /// Cursor of the next page; none on the last page.
    pub next_cursor: Option<String>,
}

/// An unreadable job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BrokenJob {
    /// Id of the job, for `cron.remove`.
    pub id: String,
    /// Name of the job.
    pub name: String,
    /// The parse error.
    pub reason: String,
}

/// A job by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobRef {
    /// Id of the job; `jobId` is an alias.
    #[serde(alias = "jobId")]
    pub id: String,
}

/// `cron.add`: the new job.
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
    /// Merge patch of the job (RFC 7396: `null` removes a key).
    #[ts(type = "Record<string, unknown>")]
    pub patch: Value,
    /// Revision that the patch is based on; a stale one is refused.
    pub expected_revision: Option<i64>,
}

/// `cron.remove`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronRemoveParams {
    /// The job.
    pub id: String,
    /// The calling run. If the job owns it, the run continues.
    pub run_id: Option<String>,
}

/// `cron.remove`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronRemoveResult {
    /// The removed job, for undo: only the id of an unreadable job; none if no job had the id.
    #[ts(as = "Option<Job>")]
    pub job: Option<Value>,
    /// Enabled jobs that followed the removed job and no longer fire.
    pub followers: Vec<Follower>,
    /// Active runs of the job that were cancelled.
    #[serde(default)]
    pub cancelled_runs: u32,
    /// Pending approvals of the job that were withdrawn. Their runs are cancelled.
    #[serde(default)]
    pub withdrawn_approvals: u32,
    /// Whether the calling run continues.
    #[serde(default)]
    pub caller_continues: bool,
}

/// `cron.run`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronRunParams {
    /// The job.
    pub id: String,
    /// Default: `due`.
    pub mode: Option<ManualRunMode>,
    /// The active run that waits for the new run. Refused if the new run could never start.
    pub awaited_by: Option<String>,
}

/// A started or queued run.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StartedRun {
    /// Id of the run; none if no slot was due.
    pub run_id: Option<String>,
}

/// `cron.runs`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronRunsParams {
    /// The job.
    pub id: String,
    /// Maximum number of runs. Default: 20.
    pub limit: Option<u32>,
}

/// `cron.runs`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronRunsResult {
    /// The runs, newest first.
    pub entries: Vec<RunView>,
}

/// `cron.preview`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronPreviewParams {
    /// The unsaved schedule.
    #[ts(as = "WrittenSchedule")]
    pub schedule: Value,
    /// Job of the schedule, which determines the jitter; none for a new job.
    pub id: Option<String>,
    /// Unsaved delivery settings. Default: those of the job, or of the settings for a new job.
    pub delivery: Option<DeliveryDraft>,
    /// Number of slots: 1 to 50, default 5.
    pub count: Option<u32>,
}

/// `cron.preview`: the next slots.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronPreviewResult {
    /// Description of the schedule.
    pub text: String,
    /// Time zone of the schedule.
    pub zone: String,
    /// System time zone.
    pub local_zone: String,
    /// The next slots.
    pub next: Vec<PreviewSlot>,
    /// Notes on clock changes among the slots, and on the jitter of a new job.
    pub notes: Vec<String>,
    /// Channels and recipients of the next messages.
    pub routes: MessageRoutes,
    /// Why a channel or recipient of the job cannot get messages, as a sentence.
    pub route_problem: Option<String>,
}

/// One slot of a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PreviewSlot {
    /// The slot.
    pub at_ms: i64,
    /// Time in the zone of the job, such as `2026-11-23T07:30+01:00`.
    pub job_time: String,
    /// Time in the system zone.
    pub local_time: String,
    /// Note on a clock change that moved the slot.
    pub note: Option<String>,
}

/// `cron.webhook`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct WebhookParams {
    /// The job.
    pub id: String,
    /// Replaces the secret, or with `sign` the signing key. The old one becomes invalid at once.
    pub rotate: Option<bool>,
    /// Answers with the signing key instead of the secret, and creates the key if missing.
    pub sign: Option<bool>,
}

/// `cron.webhook`: the webhook of a job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    /// URL for POST requests, with the secret as `Authorization: Bearer …` or `X-Rouse-Secret`, or with a signature.
    pub url: String,
    /// The secret or the signing key (`whsec_…`), only in the response that created it.
    pub secret: Option<String>,
    /// Creation time of the secret or the signing key.
    pub made_at_ms: i64,
    /// Name of the stored secret with the signing key, with `sign`.
    pub signing_secret: Option<String>,
    /// Why the signing key is unavailable, or outside the keyring.
    pub problem: Option<String>,
}

/// `cron.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronStatus {
    /// Whether jobs fire.
    pub enabled: bool,
    /// Why jobs do not fire.
    pub off_reason: Option<String>,
    /// Error that prevents all firing, such as a full disk.
    pub problem: Option<String>,
    /// The global pause, if any.
    pub pause: Option<PauseView>,
    /// The next slot of all jobs; none if the pause skips it.
    pub next: Option<NextSlotView>,
    /// Active runs.
    pub running: u32,
    /// Runs that wait for a retry, without a permit.
    pub between_attempts: u32,
    /// Queued runs.
    pub queued: u32,
    /// Maximum concurrent runs.
    pub max_concurrent_runs: u32,
    /// All jobs.
    pub jobs: u32,
    /// Enabled jobs.
    pub enabled_jobs: u32,
    /// Enabled jobs with a failed newest run.
    pub failing_jobs: u32,
}

/// The global pause.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PauseView {
    /// Automatic end; none until resumed.
    pub until_ms: Option<i64>,
}

/// The next slot of all jobs.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NextSlotView {
    /// The job.
    pub job_id: String,
    /// Name of the job.
    pub name: String,
    /// The slot.
    pub at_ms: i64,
}

/// `cron.pause`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronPauseParams {
    /// Automatic end. Default: until resumed.
    pub until_ms: Option<i64>,
}
