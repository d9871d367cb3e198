//! Types of requests to the scheduler and of the answers.

use std::fmt;

use rouse_core::channel::Route;
use rouse_core::job::Job;
use rouse_core::{JobId, RunId, UnixMs};

/// The state of the scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerStatus {
    /// Whether slots fire. A pause is apart.
    pub firing: bool,
    /// Why slots do not fire.
    pub off_reason: Option<String>,
    /// The pause of all jobs.
    pub pause: Option<JobsPause>,
    /// The earliest next slot; none if covered by a pause.
    pub next: Option<UpcomingSlot>,
    /// Active runs without runs in a backoff.
    pub running: u32,
    /// Runs in a backoff; hold no permit.
    pub between_attempts: u32,
    /// Queued runs.
    pub queued: u32,
    /// The concurrency limit.
    pub max_concurrent_runs: u32,
    /// The heartbeat.
    pub heartbeat: HeartbeatSnapshot,
}

/// A pause of all jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobsPause {
    /// The start of the pause.
    pub since: UnixMs,
    /// The end of the pause; none until a person resumes.
    pub until: Option<UnixMs>,
    /// When `until` was last set.
    pub set_at: UnixMs,
}

impl JobsPause {
    /// Whether a slot at `at` is skipped. A slot at the very end fires.
    pub(crate) fn covers(self, at: UnixMs) -> bool {
        self.until.is_none_or(|until| until > at)
    }
}

/// The earliest next slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpcomingSlot {
    /// The job.
    pub job_id: JobId,
    /// The name of the job.
    pub name: String,
    /// The instant.
    pub at: UnixMs,
}

/// The state of the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatSnapshot {
    /// Whether turns come by schedule.
    pub enabled: bool,
    /// The interval in milliseconds.
    pub every_ms: i64,
    /// The active hours, such as `08:00–22:00`; always active when none.
    pub active_hours: Option<String>,
    /// The next scheduled turn; none while nothing fires.
    pub next_at: Option<UnixMs>,
    /// Why there is no next turn, or why the last turn was skipped.
    pub last_skip_reason: Option<String>,
    /// The last skipped turn, even if turns have run since.
    pub last_skip: Option<HeartbeatSkip>,
    /// Why a requested turn has not started; none without a request.
    pub pending: Option<PendingReason>,
    /// The newest request since the start, even if it shared the turn of another.
    pub last_request: Option<HeartbeatRequest>,
}

/// Why a requested heartbeat turn has not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingReason {
    /// Nothing fires, for this reason.
    Firing(String),
    /// There is no model.
    Model,
    /// Another turn is active.
    Turn,
    /// Too many turns were requested in the last minute.
    Burst,
    /// Further requests may share the turn.
    Coalesce,
    /// No model answered the turn before.
    Backoff,
}

/// A sentence without the full stop.
impl fmt::Display for PendingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Firing(reason) => return write!(f, "Waiting: {reason}"),
            Self::Model => "Waiting for a model",
            Self::Turn => "Waiting for the active turn",
            Self::Burst => "Too many wakes in the last minute; the turn is delayed",
            Self::Coalesce => "Starting in a moment",
            Self::Backoff => "No model answered the last turn; retrying later",
        })
    }
}

/// A request for a heartbeat turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// The reason that the requester gave.
    pub reason: String,
    /// The instant.
    pub at: UnixMs,
}

/// A skipped heartbeat turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatSkip {
    /// Why.
    pub reason: String,
    /// The instant of the turn.
    pub at: UnixMs,
}

/// The result of a tick.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TickReport {
    /// Jobs with claimed slots.
    pub claimed: usize,
    /// Runs that went into their lanes.
    pub queued: Vec<RunId>,
    /// Rows of skipped and missed slots.
    pub quiet: Vec<RunId>,
    /// Runs that started.
    pub started: Vec<RunId>,
}

/// A deleted job.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedJob {
    /// The job before the deletion.
    pub job: Job,
    /// The number of stopped active runs.
    pub stopped_runs: u32,
    /// Whether the deleting run continues.
    pub caller_continues: bool,
}

/// A chat message for the main session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// The text.
    pub text: String,
    /// The idempotency key; a message with a key is taken once.
    pub key: Option<String>,
    /// The place on a channel that gets the answer; none for a message of the app.
    pub reply_to: Option<Route>,
}

/// A call of a job's webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// The job.
    pub job_id: JobId,
    /// The request body.
    pub body: String,
    /// The idempotency key: the same call twice makes a single run.
    pub key: Option<String>,
}

/// The result of a webhook call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The call made a run.
    Fired {
        /// The run.
        run_id: RunId,
        /// Why the slot was skipped.
        reason: Option<String>,
    },
    /// The same call was made before.
    Repeated {
        /// The run.
        run_id: RunId,
        /// Why the slot was skipped.
        reason: Option<String>,
    },
    /// Another call was made with the same key.
    KeyConflict,
    /// The job does not fire now, for this reason.
    Refused(String),
}
