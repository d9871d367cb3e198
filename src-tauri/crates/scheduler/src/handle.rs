//! The handle: what other rooms ask of the scheduler.
//!
//! Each method is one message to the engine and its answer. Requests are answered in the order in which they came, each
//! after the slots that were due when it was looked at. A handle keeps nothing alive: when the engine has stopped,
//! every method says so.

use std::time::Duration;

use rouse_core::approval::{Answer, AnsweredFrom};
use rouse_core::{ApprovalId, Job, JobId, RunId, UnixMs};
use rouse_store::{Decided, HOOK, WAKE};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::trouble::Sentence;
use crate::{Call, Called, Removed, SchedulerConfig, SchedulerError, Status, TickReport};

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, SchedulerError>>;

/// What can be asked of the engine.
#[derive(Debug)]
pub(crate) enum Request {
    Add(Box<Job>, Reply<Job>),
    Update(JobId, Value, Option<i64>, Reply<Job>),
    Replace(JobId, Value, Option<i64>, Reply<Job>),
    Remove(JobId, Option<RunId>, Reply<Option<Removed>>),
    RunNow(JobId, RunMode, Option<RunId>, Reply<Option<RunId>>),
    Await(RunId, RunId, Reply<()>),
    Retry(RunId, Reply<RunId>),
    Cancel(RunId, String, Reply<bool>),
    Decide(ApprovalId, Box<Answer>, AnsweredFrom, Reply<Decided>),
    Pause(Option<UnixMs>, Reply<()>),
    Resume(Reply<()>),
    Status(Reply<Status>),
    Heartbeat(String, Duration, Reply<()>),
    Wake(String, &'static str, Reply<()>),
    Chat(String, Option<String>, Reply<RunId>),
    Try(String, Value, Reply<RunId>),
    CallWebhook(Call, Reply<Called>),
    SetConfig(Box<SchedulerConfig>, Reply<()>),
    ClockChanged(Reply<()>),
    QuestionsMoved(Reply<()>),
    Tick(UnixMs, Reply<TickReport>),
    Shutdown(Reply<()>),
}

/// Which runs by hand are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    /// Only when its slot has come.
    Due,
    /// In any case.
    Force,
}

/// A way to ask the scheduler. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SchedulerHandle {
    pub(crate) requests: mpsc::UnboundedSender<Request>,
    pub(crate) problem: Sentence,
}

impl SchedulerHandle {
    /// Saves a new job with its next slot, which is strictly in the future.
    ///
    /// # Errors
    /// An instant in the past, an id that is taken, or the store's refusal.
    pub async fn add_job(&self, job: Job) -> Result<Job, SchedulerError> {
        self.ask(|reply| Request::Add(Box::new(job), reply)).await
    }

    /// Lays `patch` over a job. The next slot moves only if the schedule changes or the job is switched on, and never
    /// into the past.
    ///
    /// # Errors
    /// A job that would not be one any more, a stale revision, no such job, or the store's refusal.
    pub async fn update_job(
        &self,
        id: &JobId,
        patch: Value,
        expected_revision: Option<i64>,
    ) -> Result<Job, SchedulerError> {
        self.ask(|reply| Request::Update(id.clone(), patch, expected_revision, reply)).await
    }

    /// The same for a definition that came from elsewhere: where it gives the job other work (`Job::is_same_work`), what the job was granted is
    /// taken back with it.
    ///
    /// # Errors
    /// As `update_job`.
    pub async fn replace_job(
        &self,
        id: &JobId,
        patch: Value,
        expected_revision: Option<i64>,
    ) -> Result<Job, SchedulerError> {
        self.ask(|reply| Request::Replace(id.clone(), patch, expected_revision, reply)).await
    }

    /// Removes a job and ends what it is doing, but not the run `by` which it is asked; answers it, or none when there was
    /// none.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn remove_job(
        &self,
        id: &JobId,
        by: Option<&RunId>,
    ) -> Result<Option<Removed>, SchedulerError> {
        self.ask(|reply| Request::Remove(id.clone(), by.cloned(), reply)).await
    }

    /// Runs a job by hand, on its lane; its schedule does not move. None when `Due` is asked and it is not.
    ///
    /// # Errors
    /// No such job, or the store's refusal.
    pub async fn run_now(
        &self,
        id: &JobId,
        mode: RunMode,
    ) -> Result<Option<RunId>, SchedulerError> {
        self.ask(|reply| Request::RunNow(id.clone(), mode, None, reply)).await
    }

    /// The same for a run at work, `by`, that waits for the end of the new one and lends its place meanwhile. One that is not
    /// at work lends nothing.
    ///
    /// # Errors
    /// As `run_now`, and one that could not begin before `by` has ended.
    pub async fn run_awaited(
        &self,
        id: &JobId,
        mode: RunMode,
        by: &RunId,
    ) -> Result<Option<RunId>, SchedulerError> {
        self.ask(|reply| Request::RunNow(id.clone(), mode, Some(by.clone()), reply)).await
    }

    /// The run at work `by` waits for the end of the run `id`, which exists, and lends its place meanwhile.
    ///
    /// # Errors
    /// One that could not begin before `by` has ended.
    pub async fn wait_for(&self, id: &RunId, by: &RunId) -> Result<(), SchedulerError> {
        self.ask(|reply| Request::Await(id.clone(), by.clone(), reply)).await
    }

    /// Runs the job of a run that is over again, as it is defined now.
    ///
    /// # Errors
    /// No such run, one that is not over, one whose job is gone, or the store's refusal.
    pub async fn retry(&self, id: &RunId) -> Result<RunId, SchedulerError> {
        self.ask(|reply| Request::Retry(id.clone(), reply)).await
    }

    /// Ends a run: at once when it waits, within two seconds when it is at work. False when there is nothing to end.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn cancel(&self, id: &RunId, reason: &str) -> Result<bool, SchedulerError> {
        self.ask(|reply| Request::Cancel(id.clone(), reason.to_owned(), reply)).await
    }

    /// Takes a person's answer to a question of a run; the first one counts, and with the last one the run goes on.
    ///
    /// # Errors
    /// No such question, or the store's refusal.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        answer: Answer,
        from: AnsweredFrom,
    ) -> Result<Decided, SchedulerError> {
        self.ask(|reply| Request::Decide(id.clone(), Box::new(answer), from, reply)).await
    }

    /// Pauses everything, until then or until `resume`. What waits is skipped; what is at work goes on.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn pause(&self, until: Option<UnixMs>) -> Result<(), SchedulerError> {
        self.ask(|reply| Request::Pause(until, reply)).await
    }

    /// Ends the pause.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn resume(&self) -> Result<(), SchedulerError> {
        self.ask(Request::Resume).await
    }

    /// How things stand.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn status(&self) -> Result<Status, SchedulerError> {
        self.ask(Request::Status).await
    }

    /// Asks for a turn of the main session. What is asked within `coalesce` of the first request is the same turn, a
    /// turn that is going is waited for, and without a model it waits for one.
    pub async fn request_heartbeat(&self, reason: &str, coalesce: Duration) {
        let asked = self.ask(|reply| Request::Heartbeat(reason.to_owned(), coalesce, reply)).await;
        if let Err(error) = asked {
            tracing::debug!(%error, "nobody is left to take a request for a heartbeat");
        }
    }

    /// Queues a line for the main session, with the runs that it fires. A turn is asked for apart.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn queue_wake(&self, text: &str) -> Result<(), SchedulerError> {
        self.ask(|reply| Request::Wake(text.to_owned(), WAKE, reply)).await
    }

    /// The same for a line that a program has sent: what it says is text from outside.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn queue_wake_of_program(&self, text: &str) -> Result<(), SchedulerError> {
        self.ask(|reply| Request::Wake(text.to_owned(), HOOK, reply)).await
    }

    /// Takes what a person writes to the main session. It is saved as a run of its own, which gets its turn when those
    /// before it are over. Whoever may send it twice gives it a key, and it is taken once.
    ///
    /// # Errors
    /// The store's refusal, and another message under the same key.
    pub async fn chat(&self, text: &str, key: Option<&str>) -> Result<RunId, SchedulerError> {
        let key = key.map(str::to_owned);
        self.ask(|reply| Request::Chat(text.to_owned(), key, reply)).await
    }

    /// Takes a call that a person tries a tool with. It is saved as a run of its own.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn try_tool(&self, tool: &str, arguments: Value) -> Result<RunId, SchedulerError> {
        self.ask(|reply| Request::Try(tool.to_owned(), arguments, reply)).await
    }

    /// Fires a job because its webhook was called, by somebody who may.
    ///
    /// # Errors
    /// No such job, one without a webhook, or the store's refusal.
    pub async fn call_webhook(&self, call: Call) -> Result<Called, SchedulerError> {
        self.ask(|reply| Request::CallWebhook(call, reply)).await
    }

    /// Changes the settings.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn set_config(&self, config: SchedulerConfig) -> Result<(), SchedulerError> {
        self.ask(|reply| Request::SetConfig(Box::new(config), reply)).await
    }

    /// Tells that the wall clock was set or the machine woke up, where the system says so by other ways than the timer.
    ///
    /// # Errors
    /// Only when the scheduler has stopped.
    pub async fn clock_changed(&self) -> Result<(), SchedulerError> {
        self.ask(Request::ClockChanged).await
    }

    /// Tells that questions end at other times than before, because they are told earlier or later.
    ///
    /// # Errors
    /// Only when the scheduler has stopped.
    pub async fn questions_moved(&self) -> Result<(), SchedulerError> {
        self.ask(Request::QuestionsMoved).await
    }

    /// Claims every slot that is due at `now` and starts what may start. The timer does this by itself.
    ///
    /// # Errors
    /// The store's refusal.
    pub async fn tick(&self, now: UnixMs) -> Result<TickReport, SchedulerError> {
        self.ask(|reply| Request::Tick(now, reply)).await
    }

    /// Stops claiming, asks the runs at work to end, and waits at most two seconds. What is still at work then is found
    /// as interrupted by the next start.
    pub async fn shutdown(&self) {
        let asked = self.ask(Request::Shutdown).await;
        if let Err(error) = asked {
            tracing::debug!(%error, "the scheduler had stopped already");
        }
    }

    /// What keeps runs from being recorded, as a sentence; none when all is well.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.problem.get()
    }

    async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, SchedulerError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).map_err(|_| SchedulerError::Stopped)?;
        answer.await.unwrap_or(Err(SchedulerError::Stopped))
    }
}
