//! Commits of ends, and their effects in memory.
//!
//! Lane and permit of a run are free only when the end is in the store, so that a job's next run never starts before
//! the end of the previous run is recorded. An end that the store refuses stays in memory and is retried.

use rouse_core::decide::JobEffect;
use rouse_core::job::{Job, to_json};
use rouse_core::naming::for_log;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger};
use rouse_store::{RunEnd, StoreError};

use super::Engine;
use super::run_end::PlannedEnd;
use super::run_log::{log_end, log_outcome, log_unstarted_end};
use crate::COALESCE;
use crate::state::active_run::{ActiveRun, Phase};
use crate::state::active_runs::run_span;
use crate::state::event_run::EventRun;
use crate::state::incidents::OpenIncidents;
use crate::state::queued_run::{QueueExit, has_started};

/// The reason of the other runs of a one-shot job that end with the finished run.
const JOB_DONE: &str = "The job is done";
/// Maximum ends of a transaction; slots that are due meanwhile wait.
const MAX_BATCH: usize = 64;

impl Engine {
    pub(super) fn has_unrecorded_ends(&self) -> bool {
        !self.queue_exits.is_empty() || self.active.iter().any(ActiveRun::has_ended)
    }

    /// Records every run that has ended.
    pub(super) async fn record_ends(&mut self) -> Result<(), StoreError> {
        self.record_queue_exits().await?;
        self.record_active_ends().await
    }

    /// Records the runs that ended in their queues, or parked. Quiet ends are committed in batches, others singly,
    /// because announcement and fired runs depend on the ends before.
    pub(super) async fn record_queue_exits(&mut self) -> Result<(), StoreError> {
        if !self.queue_exits.is_empty() {
            self.refresh_listeners().await?;
        }
        while !self.queue_exits.is_empty() {
            let mut batch = Vec::new();
            for QueueExit { id, outcome } in self.queue_exits.iter().take(MAX_BATCH) {
                let end = self.end_of_queue_exit(id, outcome).await?;
                let is_quiet = end.is_quiet();
                if is_quiet || batch.is_empty() {
                    batch.push(end);
                }
                if !is_quiet {
                    break;
                }
            }
            let count = batch.len();
            self.commit_queue_exits(batch).await?;
            self.queue_exits.drain(..count);
        }
        Ok(())
    }

    /// Records the end of a queued or parked run. False if already ended.
    pub(super) async fn record_queue_exit(
        &mut self,
        id: &RunId,
        outcome: &Outcome,
    ) -> Result<bool, StoreError> {
        let end = self.end_of_queue_exit(id, outcome).await?;
        Ok(self.commit_queue_exits(vec![end]).await? > 0)
    }

    /// Commits ends of queued or parked runs. Returns how many had not ended before.
    async fn commit_queue_exits(&mut self, ends: Vec<PlannedEnd>) -> Result<usize, StoreError> {
        let (finishes, event_runs): (Vec<RunEnd>, Vec<_>) =
            ends.into_iter().map(|end| (end.finish, end.event_runs)).unzip();
        let ended = self.store.finish_runs(&finishes).await?;
        if finishes.iter().any(|finish| !finish.deliveries.is_empty()) {
            self.outbox.notify_one();
        }
        let mut count = 0;
        for (run, event_runs) in ended.iter().zip(event_runs) {
            let Some(run) = run else { continue };
            count += 1;
            log_unstarted_end(run, run.state, run.reason.as_deref(), self.clock.now());
            if has_started(run) {
                self.report_finished(run);
            }
            self.enqueue_event_runs(event_runs, |_| true);
        }
        Ok(count)
    }

    /// Records the ends of active runs. Independent ends of different jobs are committed together, so that a hundred
    /// simultaneous ends wait for the disk once. Any other end follows alone, because the fired runs depend on the runs
    /// that are active then.
    async fn record_active_ends(&mut self) -> Result<(), StoreError> {
        let ended = self.active.ids_where(ActiveRun::has_ended);
        if !ended.is_empty() {
            self.refresh_listeners().await?;
        }
        let (mut batch, mut batch_jobs, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for id in ended {
            let job_id = self.active.get(&id).and_then(|active| active.run.job_id.clone());
            if batch.len() >= MAX_BATCH || batch_jobs.contains(&job_id) {
                self.commit_active_ends(std::mem::take(&mut batch)).await?;
                batch_jobs.clear();
            }
            match self.end_or_park(&id).await? {
                Some(end) if end.is_independent() => {
                    batch.push(end);
                    batch_jobs.push(job_id);
                }
                Some(_) => alone.push(id),
                None => {}
            }
        }
        self.commit_active_ends(batch).await?;
        for id in alone {
            let mut end = self.end_or_park(&id).await?;
            if let Some(PlannedEnd { job: Some(job), job_effect: JobEffect::Delete, .. }) = &end {
                let job_id = job.id.clone();
                self.end_waiting_runs_of(&job_id, JOB_DONE).await?;
                end = self.end_or_park(&id).await?;
            }
            self.commit_active_ends(end.into_iter().collect()).await?;
        }
        Ok(())
    }

    /// The end of an active run; none if still active. A run that needs an approval is parked instead.
    async fn end_or_park(&mut self, id: &RunId) -> Result<Option<PlannedEnd>, StoreError> {
        let Some(active) = self.active.get(id) else { return Ok(None) };
        let Phase::Ended(outcome) = &active.phase else { return Ok(None) };
        if outcome.state == RunState::AwaitingApproval {
            let (run, outcome) = (active.run.clone(), outcome.clone());
            self.park(&run, &outcome).await?;
            return Ok(None);
        }
        self.end_of_active_run(active, outcome).await.map(Some)
    }

    /// Commits ends of active runs and applies each end as the store has it: an error in one end must not keep the
    /// permits of the others.
    async fn commit_active_ends(&mut self, ends: Vec<PlannedEnd>) -> Result<(), StoreError> {
        let (finishes, rest): (Vec<RunEnd>, Vec<_>) = ends
            .into_iter()
            .map(|end| (end.finish, (end.job, end.job_effect, end.event_runs)))
            .unzip();
        let ended = self.store.finish_runs(&finishes).await?;
        let mut applied = Ok(());
        for ((finish, (job, job_effect, event_runs)), ended) in finishes.iter().zip(rest).zip(ended)
        {
            if let Some(run) = &ended {
                self.report_finished(run);
            }
            let event_runs = if ended.is_some() { event_runs } else { Vec::new() };
            let this = self.apply_end(finish, job, &job_effect, event_runs).await;
            applied = applied.and(this);
        }
        applied
    }

    /// Applies a committed end: frees lane and permit, queues the fired runs, settles job and heartbeat.
    async fn apply_end(
        &mut self,
        finish: &RunEnd,
        job: Option<Job>,
        job_effect: &JobEffect,
        event_runs: Vec<EventRun>,
    ) -> Result<(), StoreError> {
        let Some(active) = self.active.get(&finish.run_id) else { return Ok(()) };
        let (run, outcome) = (active.run.clone(), &finish.outcome);
        let job_stays = *job_effect == JobEffect::Keep && !active.has_deleted_own_job;
        let next_run_at = job.as_ref().filter(|_| job_stays);
        log_end(&run, outcome, next_run_at.and_then(|job| job.state.next_run_at), finish.now);
        log_outcome(&run, outcome);
        self.incidents.apply(run.job_id.as_ref(), &finish.incident);
        self.release(&finish.run_id);
        self.enqueue_event_runs(event_runs, |_| true);
        if !finish.deliveries.is_empty() || !finish.reminders.is_empty() {
            self.outbox.notify_one();
        }
        if let Some(reason) = &finish.wake_reason {
            let (now, not_before) = (self.clock.now(), self.clock.monotonic() + COALESCE);
            self.heartbeat.request_stored(reason, now, not_before);
        }
        if let Some(job) = job {
            self.apply_job_effect(&job, job_effect, &finish.run_id);
        }
        self.apply_main_turn_end(&run, finish).await
    }

    /// Requests the turns that the end of a turn of the main session leaves open.
    async fn apply_main_turn_end(&mut self, run: &Run, finish: &RunEnd) -> Result<(), StoreError> {
        let outcome = &finish.outcome;
        let is_heartbeat = run.trigger == RunTrigger::Heartbeat;
        let is_skipped = outcome.state == RunState::Skipped;
        // No model answered. A turn that a budget has stopped is not repeated.
        let is_unanswered = is_skipped && outcome.budget.is_none() || outcome.state.is_failure();
        if is_heartbeat && is_unanswered && outcome.is_transient {
            self.heartbeat.request_repeat(self.clock.monotonic());
        } else if run.trigger.is_main_turn() {
            self.heartbeat.reset_unanswered();
        }
        let has_worked = matches!(outcome.state, RunState::Succeeded | RunState::NothingToReport);
        if let Some(started_at) =
            run.started_at.filter(|_| has_worked && run.trigger.is_main_turn())
        {
            return self.request_turn_for_leftover_events(started_at).await;
        }
        match outcome.reason.as_deref().filter(|_| is_heartbeat && is_skipped) {
            Some(reason) => self.skip_heartbeat(reason, finish.now).await,
            None => Ok(()),
        }
    }

    /// Stops the schedule and the other runs of a job that was deleted or paused with the run.
    pub(super) fn apply_job_effect(&mut self, job: &Job, job_effect: &JobEffect, by: &RunId) {
        match job_effect {
            JobEffect::Keep => {}
            JobEffect::Delete => {
                self.slots.invalidate();
                self.cancel_runs_of(&job.id, JOB_DONE);
            }
            JobEffect::Pause(reason) => {
                let name = for_log(&job.name, &to_json(&job.payload), job.id.as_str());
                tracing::warn!(job_id = %job.id, run_id = %by, name, reason, "a job was switched off");
                self.slots.invalidate();
                self.skip_scheduled_runs(Some(&job.id), reason);
            }
        }
    }

    /// Reports a run that had started to the hooks. Their log lines name the run.
    pub(super) fn report_finished(&self, run: &Run) {
        run_span(run).in_scope(|| self.hooks.finished(run));
    }

    /// Loads the jobs with open incidents.
    pub(super) async fn load_incidents(&mut self) -> Result<(), StoreError> {
        let jobs: Vec<JobId> = self.store.jobs_with_incidents().await?;
        self.incidents = OpenIncidents::load(jobs);
        Ok(())
    }
}
