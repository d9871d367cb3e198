//! All active runs and the tasks of their attempts.
//!
//! Each attempt is a separate task. A panic in the task ends the run as failed and nothing else.
//! Pitfall: an aborted task still reports after the end of the run, so forget the task when aborting.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rouse_core::{Job, JobId, Outcome, Run, RunId};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use tracing::field::display;

use super::active_run::ActiveRun;
use crate::ports::Runner;

/// The result of an attempt's task.
pub(crate) type AttemptResult = Result<(task::Id, Outcome), JoinError>;

/// The active runs by id.
pub(crate) struct ActiveRuns {
    runner: Arc<dyn Runner>,
    runs: BTreeMap<RunId, ActiveRun>,
    attempts: JoinSet<Outcome>,
    run_by_task: HashMap<task::Id, RunId>,
}

impl ActiveRuns {
    pub(crate) fn new(runner: Arc<dyn Runner>) -> Self {
        Self {
            runner,
            runs: BTreeMap::new(),
            attempts: JoinSet::new(),
            run_by_task: HashMap::new(),
        }
    }

    pub(crate) fn get(&self, id: &RunId) -> Option<&ActiveRun> {
        self.runs.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &RunId) -> Option<&mut ActiveRun> {
        self.runs.get_mut(id)
    }

    pub(crate) fn insert(&mut self, run: ActiveRun) {
        self.runs.insert(run.run.id.clone(), run);
    }

    pub(crate) fn remove(&mut self, id: &RunId) -> Option<ActiveRun> {
        self.runs.remove(id)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&ActiveRun) -> bool) {
        self.runs.retain(|_, run| keep(run));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ActiveRun> {
        self.runs.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ActiveRun> {
        self.runs.values_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The active runs of a job, without a run that deleted the job.
    pub(crate) fn of_job(&mut self, job: &JobId) -> impl Iterator<Item = &mut ActiveRun> {
        self.runs
            .values_mut()
            .filter(move |run| run.run.job_id.as_ref() == Some(job) && !run.has_deleted_own_job)
    }

    /// The ids of the runs that match.
    pub(crate) fn ids_where(&self, matches: impl Fn(&ActiveRun) -> bool) -> Vec<RunId> {
        let runs = self.runs.iter().filter(|(_, run)| matches(run));
        runs.map(|(id, _)| id.clone()).collect()
    }

    /// The earliest end of a time limit or grace.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.runs.values().filter_map(ActiveRun::deadline).min()
    }

    /// The earliest end of a backoff.
    pub(crate) fn next_backoff_end(&self) -> Option<Duration> {
        self.runs.values().filter_map(ActiveRun::backoff_end).min()
    }

    /// The runs whose backoff is over, in that order.
    pub(crate) fn take_backoffs_over(&mut self, now: Duration) -> Vec<RunId> {
        let over = self.runs.values_mut().filter_map(|run| {
            let end = run.backoff_end().filter(|end| *end <= now)?;
            run.is_resuming = true;
            Some((end, run.run.id.clone()))
        });
        let mut over: Vec<(Duration, RunId)> = over.collect();
        over.sort();
        over.into_iter().map(|(_, id)| id).collect()
    }

    /// Starts the task of an attempt.
    pub(crate) fn spawn_attempt(
        &mut self,
        run: &Run,
        job: Option<&Job>,
        cancel: &CancellationToken,
    ) -> AbortHandle {
        let (id, span) = (run.id.clone(), run_span(run));
        let (run, job, cancel) = (run.clone(), job.cloned(), cancel.clone());
        let runner = Arc::clone(&self.runner);
        // The call is inside the task, so that a panic before the first await is caught as well.
        let attempt = async move { runner.run(run, job, cancel).await }.instrument(span);
        let attempt = self.attempts.spawn(attempt);
        self.run_by_task.insert(attempt.id(), id);
        attempt
    }

    /// The run of an ended attempt and the outcome; none when the attempt was aborted or the run is gone.
    pub(crate) fn outcome_of(
        &mut self,
        result: AttemptResult,
    ) -> Option<(&mut ActiveRun, Outcome)> {
        let task = match &result {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let id = self.run_by_task.remove(&task)?;
        let run = self.runs.get_mut(&id)?;
        let outcome = match result {
            Ok((_, outcome)) => outcome,
            Err(error) => crash_outcome(&run.run, &error),
        };
        Some((run, outcome))
    }

    /// Enforces time limits and graces.
    pub(crate) fn enforce_deadlines(&mut self, now: Duration) {
        for run in self.runs.values_mut() {
            if let Some(attempt) = run.enforce_deadline(now) {
                self.run_by_task.remove(&attempt.id());
                let (job_id, name) = (run.run.job_id.as_ref().map(display), run.run.name_for_log());
                tracing::warn!(job_id, run_id = %run.run.id, name, "a run did not end in time and was aborted");
            }
        }
    }

    /// An attempt that has ended by now.
    pub(crate) fn try_next_result(&mut self) -> Option<AttemptResult> {
        self.attempts.try_join_next_with_id()
    }

    /// The next ended attempt; none when no attempt is at work.
    pub(crate) async fn next_result(&mut self) -> Option<AttemptResult> {
        self.attempts.join_next_with_id().await
    }

    /// Polls for the next ended attempt. Pending without an active attempt.
    pub(crate) fn poll_result(&mut self, context: &mut Context<'_>) -> Poll<AttemptResult> {
        match self.attempts.poll_join_next_with_id(context) {
            Poll::Ready(Some(result)) => Poll::Ready(result),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// The number of attempts at work.
    pub(crate) fn attempt_count(&self) -> usize {
        self.attempts.len()
    }

    pub(crate) fn abort_attempts(&mut self) {
        self.attempts.abort_all();
    }
}

/// The span that names the run on every log line of the work.
pub(crate) fn run_span(run: &Run) -> tracing::Span {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    // At the highest level, so that the span exists at every log level.
    tracing::error_span!("run", module = "cron", job_id, run_id, name = run.name_for_log())
}

fn crash_outcome(run: &Run, error: &JoinError) -> Outcome {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    tracing::error!(job_id, run_id, name = run.name_for_log(), %error, "a run crashed");
    Outcome::failed("The run crashed because of a bug in Rouse. The log has the details.")
}
