//! Ends of runs before their work is done: cancelled, replaced, skipped, or stopped by the shutdown.

use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger};
use rouse_store::StoreError;

use super::Engine;
use crate::error::SchedulerError;
use crate::state::active_run::{STOP_GRACE, StopCause};
use crate::state::lanes::LaneKey;
use crate::state::queued_run::{QueueExit, cancelled_outcome, has_started};

/// The reason of a run that a newer slot replaces.
const REPLACED: &str = "Replaced by a newer slot";

impl Engine {
    /// Cancels a run. False if already ended.
    pub(super) async fn cancel(
        &mut self,
        id: &RunId,
        reason: &str,
    ) -> Result<bool, SchedulerError> {
        if let Some(active) = self.active.get_mut(id) {
            let cause = StopCause::Cancelled(reason.to_owned());
            return Ok(active.stop(cause, self.clock.monotonic()));
        }
        let waits = |run: Run| matches!(run.state, RunState::Queued | RunState::AwaitingApproval);
        if !self.store.run(id).await?.is_some_and(waits) {
            return Ok(false);
        }
        self.refresh_listeners().await?;
        let is_cancelled = self.record_queue_exit(id, &cancelled_outcome(reason)).await?;
        self.parked.remove(id);
        if let Some(queued) = self.lanes.remove(id)
            && queued.run.trigger == RunTrigger::Heartbeat
        {
            self.heartbeat.end_run();
        }
        Ok(is_cancelled)
    }

    /// Cancels all runs of a job. Returns how many were active.
    pub(super) fn cancel_runs_of(&mut self, job: &JobId, reason: &str) -> u32 {
        self.cancel_waiting_runs_of(job, reason);
        let now = self.clock.monotonic();
        let cause = StopCause::Cancelled(reason.to_owned());
        let active = self.active.of_job(job);
        active.map(|active| u32::from(active.stop(cause.clone(), now))).sum()
    }

    /// Cancels the queued and parked runs of a job.
    pub(super) fn cancel_waiting_runs_of(&mut self, job: &JobId, reason: &str) {
        self.cancel_queued_runs_of(job, reason, |_| true);
        for id in self.parked.remove_of_job(job) {
            self.queue_exits.push_back(QueueExit::cancelled(id, reason));
        }
    }

    /// Cancels the runs that a newer run of `job` replaces: active runs, and queued runs that have not started. A
    /// parked run holds nothing. A run that continues after its approval stays in the lane, before the newer run.
    pub(super) fn replace_runs_of(&mut self, job: &JobId) {
        self.cancel_queued_runs_of(job, REPLACED, |run| !has_started(run));
        let now = self.clock.monotonic();
        self.active.of_job(job).for_each(|active| active.replace(REPLACED, now));
    }

    fn cancel_queued_runs_of(&mut self, job: &JobId, reason: &str, matches: impl Fn(&Run) -> bool) {
        let lane = LaneKey::Job(job.clone());
        for id in self.lanes.remove_from(&lane, |queued| matches(&queued.run)) {
            self.queue_exits.push_back(QueueExit::cancelled(id, reason));
        }
    }

    /// Skips the queued runs of slots, events and webhooks, and ends their backoffs: for `job`, or for all jobs.
    pub(super) fn skip_scheduled_runs(&mut self, job: Option<&JobId>, reason: &str) {
        self.abandon_scheduled_retries(job, reason);
        let is_skipped = |run: &Run| {
            let is_scheduled = !matches!(
                run.trigger,
                RunTrigger::Manual | RunTrigger::Heartbeat | RunTrigger::Chat
            );
            let is_of_job = job.is_none_or(|job| run.job_id.as_ref() == Some(job));
            is_scheduled && is_of_job && !has_started(run)
        };
        for id in self.lanes.remove_where(|queued| is_skipped(&queued.run)) {
            self.queue_exits.push_back(QueueExit { id, outcome: Outcome::skipped(reason) });
        }
    }

    /// Cancels and records the queued and parked runs of a job that is about to be deleted, with the fired runs.
    pub(super) async fn end_waiting_runs_of(
        &mut self,
        job: &JobId,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.cancel_waiting_runs_of(job, reason);
        self.record_queue_exits().await
    }

    /// Stops active runs and waits for their ends. A run in a backoff, or without an end in time, stays in the store
    /// for the next start.
    pub(super) async fn shut_down(&mut self) {
        let now = self.clock.monotonic();
        for active in self.active.iter_mut() {
            active.stop(StopCause::Shutdown, now);
        }
        let ends = async {
            while let Some(result) = self.active.next_result().await {
                self.end_attempt(result);
            }
        };
        if tokio::time::timeout(STOP_GRACE, ends).await.is_err() {
            let runs = self.active.attempt_count();
            tracing::warn!(runs, "runs did not end in time and are cut off");
        }
        if let Err(error) = self.save_backoffs().await {
            tracing::error!(%error, "backoffs could not be saved; the next start finds their runs interrupted");
        }
        self.active.retain(|active| !active.is_left_to_recovery());
        self.active.enforce_deadlines(self.clock.monotonic() + STOP_GRACE);
        if let Err(error) = self.record_ends().await {
            tracing::error!(%error, "ends of runs could not be saved; the next start finds interrupted runs");
        }
        self.active.abort_attempts();
    }
}
