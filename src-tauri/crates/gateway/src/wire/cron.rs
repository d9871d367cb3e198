//! `cron.*`: jobs, their runs, preview, pause.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::{IncidentView, Job, JobDraft, RunState, RunView, SpentView, WrittenSchedule};

/// A job with what every view of it needs.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// The job in the job format, kept keys included.
    #[ts(as = "Job")]
    pub job: Value,
    /// When it fires, in words: "Weekdays at 07:30".
    pub schedule_text: String,
    /// The zone in which the words tell its times; none where they tell none.
    pub zone: Option<String>,
    /// The newest final states, oldest first, at most 14.
    pub recent: Vec<RunState>,
    /// Runs of it that are going or waiting.
    pub live_run_ids: Vec<String>,
    /// Why it fails at present, or why it was paused; none when all is well.
    pub incident: Option<IncidentView>,
    /// It waits for a job that is not there any more, and does not fire.
    pub predecessor_is_gone: bool,
    /// What it has spent since the first of the month, in the local zone.
    pub spent_this_month: SpentView,
}

/// `cron.add`, `cron.update`: the job as it is now.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SavedJob {
    /// The job.
    #[serde(flatten)]
    pub view: JobView,
    /// What will keep it from doing what it says, as far as it can be known now; it is saved all the same.
    pub warnings: Vec<JobWarning>,
}

/// Something that will go wrong with a job as things stand now. It is no refusal: a file may come, a model may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobWarning {
    /// The path of the field, as in an error: `payload.contextPaths[0]`.
    pub field: String,
    /// What is wrong and what to do, as a sentence.
    pub message: String,
}

/// `cron.check`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronCheckParams {
    /// The job as it stands in the form; nothing is saved.
    #[ts(as = "JobDraft")]
    pub job: Value,
}

/// `cron.check`: what saving it would warn of.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CronCheckResult {
    /// The warnings.
    pub warnings: Vec<JobWarning>,
    /// What its message names and the job does not grant yet; none when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offers: Option<GrantOffers>,
}

/// Hosts and folders that a job's message names, offered as grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantOffers {
    /// Hosts that its commands and requests could be allowed to reach.
    pub hosts: Vec<String>,
    /// Folders of this computer that its calls could be allowed to read.
    pub folders: Vec<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct CronListParams {
    /// Also jobs that are switched off; no when absent.
    pub include_disabled: Option<bool>,
    /// Words in name, description or payload, or the beginning of an id.
    pub search: Option<String>,
    /// When true, only jobs that have failed and not worked again since. A page of them may hold fewer than `limit`
    /// though there are more; `nextCursor` tells.
    pub has_incident: Option<bool>,
    /// At most so many; 100 when absent, at most 500.
    pub limit: Option<u32>,
    /// Continue after this page's end: `nextCursor` of an earlier answer. A job whose next slot moves in between can be
    /// on both pages, or on neither; an event tells that it moved.
    pub cursor: Option<String>,
}

/// `cron.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronListResult {
    /// Soonest first.
    pub jobs: Vec<JobView>,
    /// Jobs that nobody can read; they do not fire and can only be removed. On the first page all that were met, on or
    /// off; on others those of that page.
    pub broken: Vec<BrokenJob>,
    /// The cursor of the next page; none on the last one.
    pub next_cursor: Option<String>,
}

/// A job that cannot be read: garbled by hand, by a disk, or by a program that knew better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BrokenJob {
    /// Its id, for `cron.remove`.
    pub id: String,
    /// What people called it.
    pub name: String,
    /// What is wrong, in words.
    pub reason: String,
}

/// One job by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JobRef {
    /// The job.
    // Where something else than a job is named as well, its id is called `jobId`.
    #[serde(alias = "jobId")]
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
#[ts(optional_fields)]
pub struct CronRemoveParams {
    /// The job.
    pub id: String,
    /// The run that asks: it goes on when it is one of the job's.
    pub run_id: Option<String>,
}

/// What became of the job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronRemoveResult {
    /// The job as it was, to add it again; none when there was none. Of one that nobody can read only the id.
    #[ts(as = "Option<Job>")]
    pub job: Option<Value>,
    /// Jobs that are on and wait for it, by name: they do not fire any more.
    pub followers: Vec<Follower>,
    /// Its runs at work that were told to end.
    #[serde(default)]
    pub ended_runs: u32,
    /// Whether the run that has asked goes on, with its answer still to tell.
    #[serde(default)]
    pub goes_on: bool,
}

/// A job that waits for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Follower {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
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
    /// A run at work that waits for the end of the new one; it lends its place under the cap as long as it does.
    pub awaited_by: Option<String>,
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
    #[ts(as = "WrittenSchedule")]
    pub schedule: Value,
    /// The job that it is the schedule of, whose own spread moves the slots; none for a new one.
    pub id: Option<String>,
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
    /// Changes of clocks within the shown slots, in words; and how much later a job without an id may fire.
    pub notes: Vec<String>,
}

/// One slot of a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
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

/// `cron.webhook`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct WebhookParams {
    /// The job.
    pub id: String,
    /// Makes a new secret; the one before is worth nothing any more.
    pub rotate: Option<bool>,
}

/// `cron.webhook`: where a job's webhook is.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    /// Where to POST, with the secret as `Authorization: Bearer …` or `X-Rouse-Secret`.
    pub url: String,
    /// The secret, in the answer that made it and never again.
    pub secret: Option<String>,
    /// When the secret was made.
    pub made_at_ms: i64,
}

/// `cron.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CronStatus {
    /// Whether jobs fire.
    pub enabled: bool,
    /// Why they do not.
    pub off_reason: Option<String>,
    /// Why nothing can fire although it should (a full disk, a broken file), in words.
    pub problem: Option<String>,
    /// The pause, when everything is paused.
    pub pause: Option<Pause>,
    /// The next slot of all; none as long as it comes in the pause, which leaves it out.
    pub next: Option<NextSlot>,
    /// Runs at work.
    pub running: u32,
    /// Runs that wait for their next attempt after a failure; they hold no place.
    pub between_attempts: u32,
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
