//! From the lane to the runner: starts of runs and retries.
//!
//! All startable runs are marked as running in one transaction before the first run begins. A slot may be in time when
//! claimed and too late when a permit is free, so lateness is checked at both points.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::job::Job;
use rouse_core::{Run, RunId, RunTrigger};
use rouse_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::Engine;
use super::run_log::log_start;
use crate::state::active_run::{ActiveRun, Phase};
use crate::state::active_runs::run_span;
use crate::state::lanes::Startable;
use crate::state::permits::PermitKind;
use crate::state::queued_run::{
    QueueExit, QueuedRun, has_started, lane_of, lane_width, started_run,
};

impl Engine {
    /// Puts a queued run into its lane. Before recovery, the run stays in the store for recovery; a run twice in its
    /// lane could start twice.
    pub(super) fn enqueue(&mut self, run: Run, job: Option<Arc<Job>>) {
        if self.is_recovered {
            self.enqueue_recovered(run, job);
        }
    }

    /// Puts a queued run into the lane during recovery.
    pub(super) fn enqueue_recovered(&mut self, run: Run, job: Option<Arc<Job>>) {
        let width = job.as_deref().map_or(1, lane_width);
        let permit = PermitKind::from(run.trigger);
        self.lanes.enqueue(lane_of(&run), width, permit, run.id.clone(), QueuedRun { run, job });
    }

    /// Starts every run with a free lane and permit. A run that became too late in the queue ends as missed.
    pub(super) async fn start_runs(&mut self) -> Result<Vec<RunId>, StoreError> {
        let mut started = Vec::new();
        loop {
            let now = self.clock.now();
            self.resume_after_backoff().await?;
            let startable = self.lanes.take_startable();
            if startable.is_empty() && !self.has_unrecorded_ends() {
                return Ok(started);
            }
            let mut in_time = Vec::with_capacity(startable.len());
            for run in startable {
                match run.load.missed(now) {
                    None => in_time.push(run),
                    Some(outcome) => {
                        self.lanes.finish(&run.lane, run.permit);
                        self.queue_exits.push_back(QueueExit { id: run.id, outcome });
                    }
                }
            }
            if in_time.is_empty() {
                // The runs that these ends fire may start as well.
                self.record_ends().await?;
                continue;
            }
            let ids: Vec<RunId> = in_time.iter().map(|run| run.id.clone()).collect();
            let running = match self.store.start_runs(&ids, now).await {
                Ok(running) => running,
                Err(error) => {
                    self.lanes.put_back(in_time);
                    return Err(error);
                }
            };
            let running: HashSet<RunId> = running.into_iter().collect();
            started.extend(self.start_attempts(in_time, |id| running.contains(id)));
        }
    }

    /// Starts the first attempts of runs that are running in the store. The start is later than `started_at` of the row
    /// by the duration of the commit.
    pub(super) fn start_attempts(
        &mut self,
        startable: Vec<Startable<QueuedRun>>,
        is_running: impl Fn(&RunId) -> bool,
    ) -> Vec<RunId> {
        let mut started = Vec::with_capacity(startable.len());
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        for Startable { lane, permit, id, load: QueuedRun { run, job }, .. } in startable {
            if !is_running(&id) {
                // The run was cancelled, the job was deleted, or the slot had fired before.
                self.lanes.finish(&lane, permit);
                continue;
            }
            let is_first = !has_started(&run);
            let run = started_run(run, now);
            if is_first {
                run_span(&run).in_scope(|| self.hooks.started(&run));
            }
            log_start(&run, job.as_deref());
            let cancel = CancellationToken::new();
            let attempt = self.active.spawn_attempt(&run, job.as_deref(), &cancel);
            let phase = Phase::Attempt(attempt);
            self.active.insert(ActiveRun::new(run, lane, permit, job, phase, cancel, monotonic));
            started.push(id);
        }
        started
    }

    /// Queues the runs whose backoff is over, and starts as many attempts as there are permits. An attempt is counted
    /// in the store before the start, so that no attempt is made twice.
    async fn resume_after_backoff(&mut self) -> Result<(), StoreError> {
        for id in self.active.take_backoffs_over(self.clock.monotonic()) {
            if let Some(run) = self.active.get(&id) {
                self.lanes.queue_resuming(run.permit, id);
            }
        }
        while let Some((permit, id)) = self.lanes.take_resumable() {
            let Some(active) = self.active.get_mut(&id).filter(|run| run.is_in_backoff()) else {
                // The run ended in the queue.
                self.lanes.release_permit(permit);
                continue;
            };
            active.is_resuming = false;
            let attempt = active.run.attempt + u32::from(active.run.waits_for.is_none());
            if let Err(error) = self.store.begin_attempt(&id, attempt, self.clock.now()).await {
                self.lanes.release_permit(permit);
                return Err(error);
            }
            if let Some(mut active) = self.active.remove(&id) {
                active.run.attempt = attempt;
                let job = active.job.as_deref();
                let task = self.active.spawn_attempt(&active.run, job, &active.cancel);
                active.resume(task, self.clock.monotonic());
                self.active.insert(active);
            }
        }
        Ok(())
    }

    /// Frees lane and permit of a run with a recorded end.
    pub(super) fn release(&mut self, id: &RunId) {
        if let Some(active) = self.active.remove(id) {
            if active.holds_permit {
                self.lanes.finish(&active.lane, active.permit);
            } else {
                self.lanes.leave(&active.lane);
            }
            if active.run.trigger == RunTrigger::Heartbeat {
                self.heartbeat.end_run();
            }
        }
    }
}
