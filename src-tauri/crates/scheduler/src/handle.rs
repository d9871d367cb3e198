//! The handle through which other rooms use the scheduler.
//!
//! Each method sends a request to the engine and waits for the answer. Requests are handled in order, each after the
//! slots that are due then. A handle keeps nothing alive: after the engine has stopped, every method returns `Stopped`.

use std::time::Duration;

use rouse_core::approval::{ApprovalDecision, DecisionSource};
use rouse_core::run::ManualRunMode;
use rouse_core::{ApprovalId, Job, JobId, RunId, UnixMs};
use rouse_store::{DecisionResult, SOURCE_HOOK, SOURCE_WAKE};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::config::SchedulerConfig;
use crate::error::SchedulerError;
use crate::state::store_backoff::ProblemText;
use crate::status::{
    ChatMessage, DeletedJob, SchedulerStatus, TickReport, WebhookOutcome, WebhookRequest,
};

/// The channel for an answer.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, SchedulerError>>;

/// A request to the engine.
#[derive(Debug)]
pub(crate) enum EngineRequest {
    AddJob {
        job: Box<Job>,
        reply: ReplySender<Job>,
    },
    UpdateJob {
        update: JobUpdate,
        reply: ReplySender<Job>,
    },
    RemoveJob {
        id: JobId,
        by: Option<RunId>,
        reply: ReplySender<Option<DeletedJob>>,
    },
    RunNow {
        id: JobId,
        mode: ManualRunMode,
        awaited_by: Option<RunId>,
        reply: ReplySender<Option<RunId>>,
    },
    AwaitRun {
        id: RunId,
        by: RunId,
        reply: ReplySender<()>,
    },
    Retry {
        id: RunId,
        reply: ReplySender<RunId>,
    },
    Cancel {
        id: RunId,
        reason: String,
        reply: ReplySender<bool>,
    },
    Decide {
        id: ApprovalId,
        answer: Box<ApprovalDecision>,
        from: DecisionSource,
        reply: ReplySender<DecisionResult>,
    },
    Pause {
        until: Option<UnixMs>,
        reply: ReplySender<()>,
    },
    Resume {
        reply: ReplySender<()>,
    },
    Status {
        reply: ReplySender<SchedulerStatus>,
    },
    RequestHeartbeat {
        reason: String,
        coalesce: Duration,
        reply: ReplySender<()>,
    },
    QueueWake {
        text: String,
        source: &'static str,
        reply: ReplySender<()>,
    },
    Chat {
        message: ChatMessage,
        reply: ReplySender<RunId>,
    },
    TryTool {
        tool: String,
        arguments: Value,
        reply: ReplySender<RunId>,
    },
    CallWebhook {
        call: WebhookRequest,
        reply: ReplySender<WebhookOutcome>,
    },
    SetConfig {
        config: Box<SchedulerConfig>,
        reply: ReplySender<()>,
    },
    ClockChanged {
        reply: ReplySender<()>,
    },
    ApprovalsMoved {
        reply: ReplySender<()>,
    },
    Tick {
        now: UnixMs,
        reply: ReplySender<TickReport>,
    },
    Shutdown {
        reply: ReplySender<()>,
    },
}

/// A change of a job.
#[derive(Debug)]
pub(crate) struct JobUpdate {
    pub(crate) id: JobId,
    pub(crate) patch: Value,
    pub(crate) expected_revision: Option<i64>,
    /// Whether a change of the job's work revokes the grants.
    pub(crate) revokes_grants: bool,
}

/// Sends requests to the scheduler. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SchedulerHandle {
    pub(crate) requests: mpsc::UnboundedSender<EngineRequest>,
    pub(crate) problem: ProblemText,
}

impl SchedulerHandle {
    /// Saves a new job with its next slot, which is strictly in the future.
    ///
    /// # Errors
    /// An instant in the past, a taken id, or a failure of the store.
    pub async fn add_job(&self, job: Job) -> Result<Job, SchedulerError> {
        self.request(|reply| EngineRequest::AddJob { job: Box::new(job), reply }).await
    }

    /// Patches a job. The next slot moves only if the schedule changes or the job is enabled, and never into the past.
    ///
    /// # Errors
    /// An invalid job, a stale revision, no such job, or a failure of the store.
    pub async fn update_job(
        &self,
        id: &JobId,
        patch: Value,
        expected_revision: Option<i64>,
    ) -> Result<Job, SchedulerError> {
        let (id, revokes_grants) = (id.clone(), false);
        let update = JobUpdate { id, patch, expected_revision, revokes_grants };
        self.request(|reply| EngineRequest::UpdateJob { update, reply }).await
    }

    /// Patches a job with a definition from a file. A change of the job's work (`Job::is_same_work`) revokes the
    /// grants.
    ///
    /// # Errors
    /// As `update_job`.
    pub async fn replace_job(
        &self,
        id: &JobId,
        patch: Value,
        expected_revision: Option<i64>,
    ) -> Result<Job, SchedulerError> {
        let (id, revokes_grants) = (id.clone(), true);
        let update = JobUpdate { id, patch, expected_revision, revokes_grants };
        self.request(|reply| EngineRequest::UpdateJob { update, reply }).await
    }

    /// Deletes a job and stops the runs, except the deleting run `by`. None if there is no such job.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn remove_job(
        &self,
        id: &JobId,
        by: Option<&RunId>,
    ) -> Result<Option<DeletedJob>, SchedulerError> {
        self.request(|reply| EngineRequest::RemoveJob { id: id.clone(), by: by.cloned(), reply })
            .await
    }

    /// Runs a job by hand, in the job's lane; the schedule does not move. None with `Due` if no slot is due.
    ///
    /// # Errors
    /// No such job, or a failure of the store.
    pub async fn run_now(
        &self,
        id: &JobId,
        mode: ManualRunMode,
    ) -> Result<Option<RunId>, SchedulerError> {
        let (id, awaited_by) = (id.clone(), None);
        self.request(|reply| EngineRequest::RunNow { id, mode, awaited_by, reply }).await
    }

    /// As `run_now`, for the active run `by` that waits for the end of the new run.
    ///
    /// # Errors
    /// As `run_now`, and `Deadlock` if the new run needs the lane or permit of `by`.
    pub async fn run_awaited(
        &self,
        id: &JobId,
        mode: ManualRunMode,
        by: &RunId,
    ) -> Result<Option<RunId>, SchedulerError> {
        let (id, awaited_by) = (id.clone(), Some(by.clone()));
        self.request(|reply| EngineRequest::RunNow { id, mode, awaited_by, reply }).await
    }

    /// Notes that the active run `by` waits for the end of the existing run `id`.
    ///
    /// # Errors
    /// `Deadlock` if `id` needs the lane or permit of `by`.
    pub async fn await_run(&self, id: &RunId, by: &RunId) -> Result<(), SchedulerError> {
        self.request(|reply| EngineRequest::AwaitRun { id: id.clone(), by: by.clone(), reply })
            .await
    }

    /// Runs the job of an ended run again, with current settings.
    ///
    /// # Errors
    /// No such run, a run that has not ended, a deleted job, or a failure of the store.
    pub async fn retry(&self, id: &RunId) -> Result<RunId, SchedulerError> {
        self.request(|reply| EngineRequest::Retry { id: id.clone(), reply }).await
    }

    /// Cancels a run: at once if queued or parked, within two seconds if active. False if already ended.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, id: &RunId, reason: &str) -> Result<bool, SchedulerError> {
        let (id, reason) = (id.clone(), reason.to_owned());
        self.request(|reply| EngineRequest::Cancel { id, reason, reply }).await
    }

    /// Decides an approval. The first decision counts; the last open approval resumes the run.
    ///
    /// # Errors
    /// No such approval, or a failure of the store.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        answer: ApprovalDecision,
        from: impl Into<DecisionSource>,
    ) -> Result<DecisionResult, SchedulerError> {
        let (id, answer, from) = (id.clone(), Box::new(answer), from.into());
        self.request(|reply| EngineRequest::Decide { id, answer, from, reply }).await
    }

    /// Pauses all jobs, until then or until `resume`. Queued runs are skipped; active runs continue.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn pause(&self, until: Option<UnixMs>) -> Result<(), SchedulerError> {
        self.request(|reply| EngineRequest::Pause { until, reply }).await
    }

    /// Ends the pause.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn resume(&self) -> Result<(), SchedulerError> {
        self.request(|reply| EngineRequest::Resume { reply }).await
    }

    /// The state of the scheduler.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn status(&self) -> Result<SchedulerStatus, SchedulerError> {
        self.request(|reply| EngineRequest::Status { reply }).await
    }

    /// Requests a turn of the main session. Requests within `coalesce` share a turn. The turn waits for the end of an
    /// active turn and, without a model, for a model.
    pub async fn request_heartbeat(&self, reason: &str, coalesce: Duration) {
        let reason = reason.to_owned();
        let sent =
            self.request(|reply| EngineRequest::RequestHeartbeat { reason, coalesce, reply }).await;
        if let Err(error) = sent {
            tracing::debug!(%error, "a heartbeat request was not taken");
        }
    }

    /// Queues a system event for the main session, with the fired runs. Requests no turn.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn queue_wake(&self, text: &str) -> Result<(), SchedulerError> {
        let text = text.to_owned();
        self.request(|reply| EngineRequest::QueueWake { text, source: SOURCE_WAKE, reply }).await
    }

    /// As `queue_wake`, for a system event from a program: the text is untrusted input.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn queue_untrusted_wake(&self, text: &str) -> Result<(), SchedulerError> {
        let text = text.to_owned();
        self.request(|reply| EngineRequest::QueueWake { text, source: SOURCE_HOOK, reply }).await
    }

    /// Sends a chat message to the main session, as a separate run behind earlier turns.
    ///
    /// # Errors
    /// Another message with the same key, or a failure of the store.
    pub async fn chat(&self, message: ChatMessage) -> Result<RunId, SchedulerError> {
        self.request(|reply| EngineRequest::Chat { message, reply }).await
    }

    /// Tries a tool: a single call through the gate, as a separate run.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn try_tool(&self, tool: &str, arguments: Value) -> Result<RunId, SchedulerError> {
        let tool = tool.to_owned();
        self.request(|reply| EngineRequest::TryTool { tool, arguments, reply }).await
    }

    /// Fires a job by its webhook. The caller has checked the secret.
    ///
    /// # Errors
    /// No such job, a job without a webhook, or a failure of the store.
    pub async fn call_webhook(
        &self,
        call: WebhookRequest,
    ) -> Result<WebhookOutcome, SchedulerError> {
        self.request(|reply| EngineRequest::CallWebhook { call, reply }).await
    }

    /// Changes the settings.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn set_config(&self, config: SchedulerConfig) -> Result<(), SchedulerError> {
        let config = Box::new(config);
        self.request(|reply| EngineRequest::SetConfig { config, reply }).await
    }

    /// Reports a clock jump or a resume from suspend that the timer cannot see.
    ///
    /// # Errors
    /// `Stopped`.
    pub async fn clock_changed(&self) -> Result<(), SchedulerError> {
        self.request(|reply| EngineRequest::ClockChanged { reply }).await
    }

    /// Reports that approvals expire at other times than before.
    ///
    /// # Errors
    /// `Stopped`.
    pub async fn approvals_moved(&self) -> Result<(), SchedulerError> {
        self.request(|reply| EngineRequest::ApprovalsMoved { reply }).await
    }

    /// Claims every slot that is due at `now` and starts runs. The timer does the same by itself.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn tick(&self, now: UnixMs) -> Result<TickReport, SchedulerError> {
        self.request(|reply| EngineRequest::Tick { now, reply }).await
    }

    /// Stops claiming and stops active runs, for at most two seconds. Runs that do not end by then are interrupted at
    /// the next start.
    pub async fn shutdown(&self) {
        if let Err(error) = self.request(|reply| EngineRequest::Shutdown { reply }).await {
            tracing::debug!(%error, "the scheduler had stopped already");
        }
    }

    /// Why runs cannot be saved, as a sentence; none without a problem.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.problem.get()
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> EngineRequest,
    ) -> Result<T, SchedulerError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).map_err(|_| SchedulerError::Stopped)?;
        answer.await.unwrap_or(Err(SchedulerError::Stopped))
    }
}
