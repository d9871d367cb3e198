//! From the lane to the runner: starting runs, attempts and their ends.
//!
//! All runs that may start are moved to `running` in one transaction before the first of them begins; those that may
//! start when their slots are claimed are claimed as running. Each attempt is a task of its own; a panic in it ends the
//! run as failed and nothing else. A slot may be in time when it is claimed and too late when its place is free, so it is
//! asked both times.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::decide::too_late_to_start;
use rouse_core::job::{Job, Overlap, ScheduleSpec, SessionTarget, WakeMode};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, UnixMs};
use rouse_store::StoreError;
use tokio::task::{self, AbortHandle, JoinError};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use tracing::field::display;

use crate::attempt::{Running, Why, Work};
use crate::engine::Engine;
use crate::finish::{WaitEnded, has_begun};
use crate::lanes::{LaneKey, Rank, Startable};
use crate::tick::REPLACED;

/// A run in its lane.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The row.
    pub(crate) run: Run,
    /// Its job as it is defined now.
    pub(crate) job: Option<Arc<Job>>,
}

impl Waiting {
    /// Its end, if it must not start any more.
    pub(crate) fn too_late(&self, now: UnixMs) -> Option<Outcome> {
        too_late(self.job.as_deref()?, &self.run, now)
    }
}

/// The end of a run that must not start any more, because it is later than its job allows.
pub(crate) fn too_late(job: &Job, run: &Run, now: UnixMs) -> Option<Outcome> {
    let reason = too_late_to_start(job, run, now)?;
    Some(Outcome { reason: Some(reason), ..Outcome::of(RunState::Missed) })
}

impl Engine {
    /// Puts a queued run into its lane. As long as the runs of an earlier life are not where they belong, it is left in the
    /// store and found with them: in its lane twice, it could begin twice.
    pub(crate) fn enqueue(&mut self, run: Run, job: Option<Arc<Job>>) {
        if self.has_taken_up {
            self.place(run, job);
        }
    }

    /// Puts a queued run into its lane, whatever an earlier life has left.
    pub(crate) fn place(&mut self, run: Run, job: Option<Arc<Job>>) {
        let lane = lane_of(&run);
        let width = job.as_deref().map_or(1, lane_width);
        let rank = Rank::from(run.trigger);
        self.lanes.enqueue(lane, width, rank, run.id.clone(), Waiting { run, job });
    }

    /// Starts every run that its lane and the cap let start; what has become too late while it waited ends as missed.
    pub(crate) async fn start_startable(&mut self) -> Result<Vec<RunId>, StoreError> {
        let mut started = Vec::new();
        loop {
            let now = self.clock.now();
            self.take_places_back();
            self.begin_next_attempts().await?;
            let startable = self.lanes.take_startable();
            if startable.is_empty() && !self.has_ends() {
                return Ok(started);
            }
            let startable = self.without_late(startable, now);
            if startable.is_empty() {
                // What their ends fire may start as well, and whoever takes the place of one that waited.
                self.record_ends().await?;
                continue;
            }
            let ids: Vec<RunId> = startable.iter().map(|run| run.id.clone()).collect();
            let moved = match self.store.start_runs(&ids, now).await {
                Ok(moved) => moved,
                Err(error) => {
                    self.lanes.put_back(startable);
                    return Err(error);
                }
            };
            let moved: HashSet<RunId> = moved.into_iter().collect();
            started.extend(self.begin(startable, |id| moved.contains(id)));
        }
    }

    /// Those that are still in time; the places of the others are free.
    fn without_late(
        &mut self,
        startable: Vec<Startable<Waiting>>,
        now: UnixMs,
    ) -> Vec<Startable<Waiting>> {
        let mut in_time = Vec::with_capacity(startable.len());
        for run in startable {
            match run.load.too_late(now) {
                None => in_time.push(run),
                Some(outcome) => {
                    self.lanes.finished(&run.lane, run.rank);
                    self.wait_ended.push_back(WaitEnded { id: run.id, outcome });
                }
            }
        }
        in_time
    }

    /// Begins the work of runs that the store has as running; answers which. They begin now, which is later than what
    /// was written with their claim by as long as the disk took.
    pub(crate) fn begin(
        &mut self,
        startable: Vec<Startable<Waiting>>,
        is_running: impl Fn(&RunId) -> bool,
    ) -> Vec<RunId> {
        let mut ids = Vec::with_capacity(startable.len());
        let now = self.clock.now();
        let monotonic = self.clock.monotonic();
        for Startable { lane, rank, id, load: Waiting { run, job }, .. } in startable {
            if !is_running(&id) {
                // It is not queued any more (its job was removed, its cancelling was the faster), or never was.
                self.lanes.finished(&lane, rank);
                continue;
            }
            let is_first = !has_begun(&run);
            let run = begun(run, now);
            if is_first {
                span_of(&run).in_scope(|| self.hooks.started(&run));
            }
            log_start(&run, job.as_deref());
            let cancel = CancellationToken::new();
            let work = Work::Attempt(self.begin_attempt(&run, job.as_deref(), &cancel));
            ids.push(id.clone());
            let running = Running::new(run, lane, job, (work, cancel), monotonic);
            self.running.insert(id, running.with_rank(rank));
        }
        ids
    }

    pub(crate) fn begin_attempt(
        &mut self,
        run: &Run,
        job: Option<&Job>,
        cancel: &CancellationToken,
    ) -> AbortHandle {
        let (run, job, cancel) = (run.clone(), job.cloned(), cancel.clone());
        let id = run.id.clone();
        let runner = Arc::clone(&self.runner);
        // The call is inside the task, so that a runner that panics before its first await is caught as well.
        let span = span_of(&run);
        let attempt =
            self.tasks.spawn(async move { runner.run(run, job, cancel).await }.instrument(span));
        self.runs_of_tasks.insert(attempt.id(), id);
        attempt
    }

    /// Lets a run go on in its attempt that has asked and was not parked.
    pub(crate) fn goes_on_unasked(&mut self, id: &RunId) {
        if let Some(mut running) = self.running.remove(id) {
            let Running { run, job, cancel, .. } = &running;
            running.work = Work::Attempt(self.begin_attempt(run, job.as_deref(), cancel));
            self.running.insert(id.clone(), running);
        }
    }

    /// Takes the end of an attempt into memory.
    pub(crate) fn attempt_ended(&mut self, result: Result<(task::Id, Outcome), JoinError>) {
        let task = match &result {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        // An attempt that was given up is nobody's any more; its run is over.
        let Some(id) = self.runs_of_tasks.remove(&task) else { return };
        let Some(running) = self.running.get_mut(&id) else { return };
        let outcome = match result {
            Ok((_, outcome)) => outcome,
            Err(error) => crashed(&running.run, &error),
        };
        running.attempt_ended(outcome, self.clock.monotonic(), self.config.model_patience);
        running.awaits.clear();
        if matches!(running.work, Work::Backoff(_)) && std::mem::take(&mut running.has_place) {
            self.lanes.rest(running.rank);
        }
    }

    /// Enforces time limits and graces.
    pub(crate) fn expire(&mut self, now: Duration) {
        for running in self.running.values_mut() {
            if let Some(attempt) = running.expire(now) {
                self.runs_of_tasks.remove(&attempt.id());
                let job_id = running.run.job_id.as_ref().map(display);
                tracing::warn!(
                    job_id,
                    run_id = %running.run.id,
                    name = running.run.name_for_log(),
                    "a run did not end in time and was given up"
                );
            }
        }
    }

    /// Ends all runs of a job, those that wait and those at work; how many were at work.
    pub(crate) fn end_runs_of(&mut self, job_id: &JobId, reason: &str) -> u32 {
        self.take_waiting_of(job_id, reason);
        let now = self.clock.monotonic();
        let ended = self.begun_runs_of(job_id);
        ended.map(|running| u32::from(running.end(Why::Cancelled(reason.to_owned()), now))).sum()
    }

    /// Ends the runs of a job whose place a newer one takes: those at work, those that wait for their next attempt and those
    /// that wait for their first. One that waits for an answer has no place, and one that has got its answer did not wait
    /// for a place before: it stays in its lane, in front of the newer one.
    pub(crate) fn replace_runs_of(&mut self, job_id: &JobId) {
        self.take_queued_of(job_id, REPLACED, |run| !has_begun(run));
        let now = self.clock.monotonic();
        self.begun_runs_of(job_id).for_each(|running| running.is_replaced(REPLACED, now));
    }

    /// The runs of a job that are in memory as begun. One that outlives its job is not the job's any more.
    pub(crate) fn begun_runs_of(&mut self, job_id: &JobId) -> impl Iterator<Item = &mut Running> {
        self.running.values_mut().filter(move |running| {
            running.run.job_id.as_ref() == Some(job_id) && !running.outlives_job
        })
    }

    /// Lets the run `by` go on without its job, if it is at work for it.
    pub(crate) fn outlives_its_job(&mut self, job_id: &JobId, by: Option<&RunId>) -> bool {
        let running = by.and_then(|by| self.running.get_mut(by));
        let Some(running) = running.filter(|running| running.run.job_id.as_ref() == Some(job_id))
        else {
            return false;
        };
        running.outlives_job = true;
        true
    }

    /// Takes the runs of a job that wait, for their place or for an answer, out of memory; their ends are to be recorded.
    pub(crate) fn take_waiting_of(&mut self, job_id: &JobId, reason: &str) {
        self.take_queued_of(job_id, reason, |_| true);
        self.end_parked_of(job_id, reason);
    }

    fn take_queued_of(&mut self, job_id: &JobId, reason: &str, goes: impl Fn(&Run) -> bool) {
        let lane = LaneKey::Job(job_id.clone());
        for id in self.lanes.remove_of(&lane, |waiting| goes(&waiting.run)) {
            let outcome =
                Outcome { reason: Some(reason.to_owned()), ..Outcome::of(RunState::Cancelled) };
            self.wait_ended.push_back(WaitEnded { id, outcome });
        }
    }
}

/// Every line that is written while the run is at work says which one it is.
pub(crate) fn span_of(run: &Run) -> tracing::Span {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    // Of the highest level, so that it is there whatever lines are asked for.
    tracing::error_span!("run", module = "cron", job_id, run_id, name = run.name_for_log())
}

/// The words are the cron RFC's.
fn log_start(run: &Run, job: Option<&Job>) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let (name, trigger) = (run.name_for_log(), run.trigger.name());
    let kind = job.map(|job| job.payload.kind());
    let schedule_kind = job.map(|job| schedule_kind(&job.schedule.spec));
    let session_target = job.map(|job| match job.session_target {
        SessionTarget::Main => "main",
        SessionTarget::Isolated => "isolated",
    });
    let wake_mode = job.map(|job| match job.wake_mode {
        WakeMode::Now => "now",
        WakeMode::NextHeartbeat => "next-heartbeat",
    });
    tracing::info!(
        job_id,
        run_id,
        name,
        trigger,
        kind,
        schedule_kind,
        session_target,
        wake_mode,
        "cron: job started"
    );
    let (name, payload) = (run.job_name.as_str(), display(&run.payload));
    tracing::info!(target: "rouse::payloads", module = "cron", job_id, run_id, name, payload, "cron: job payload");
}

const fn schedule_kind(schedule: &ScheduleSpec) -> &'static str {
    match schedule {
        ScheduleSpec::At { .. } => "at",
        ScheduleSpec::Every { .. } => "every",
        ScheduleSpec::Cron { .. } => "cron",
        ScheduleSpec::Event(_) => "event",
        ScheduleSpec::Webhook => "webhook",
        ScheduleSpec::Manual => "manual",
    }
}

/// A queued run whose first attempt begins at `now`.
pub(crate) fn begun(run: Run, now: UnixMs) -> Run {
    // A run that goes on after an answer began when it began.
    let started_at = run.started_at.or(Some(now));
    Run { state: RunState::Running, started_at, attempt: run.attempt.max(1), ..run }
}

pub(crate) fn lane_of(run: &Run) -> LaneKey {
    match &run.job_id {
        Some(job) => LaneKey::Job(job.clone()),
        None if run.is_trial() => LaneKey::Trials,
        None => LaneKey::Main,
    }
}

/// How many runs of a job may be at work at once.
pub(crate) fn lane_width(job: &Job) -> usize {
    match job.policies.overlap {
        Overlap::Parallel => job.policies.max_concurrent.unwrap_or(2) as usize,
        Overlap::Skip | Overlap::Queue | Overlap::CancelOther => 1,
    }
}

fn crashed(run: &Run, error: &JoinError) -> Outcome {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    tracing::error!(job_id, run_id, name = run.name_for_log(), %error, "a run crashed");
    Outcome::failed("It stopped because of a fault in Rouse. The log has the details.")
}
