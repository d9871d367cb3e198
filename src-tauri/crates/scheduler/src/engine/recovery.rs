//! Recovery of the runs of an earlier process.
//!
//! Interrupted runs end as `interrupted`, and by policy a catch-up run replaces each, in the same transaction. Runs in
//! a backoff stay in the backoff. Queued runs go back into their lanes, unless the run is too late or the job is gone.
//! Recovery precedes the first tick, so that slots meet these runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rouse_core::approval::Approval;
use rouse_core::decide::{Announcement, Firing, InterruptedCalls, JobEffect, Recovery, recover};
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Job, to_json};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Interruption, StoreError};
use serde_json::Value;
use tracing::field::display;

use super::Engine;
use super::run_end::EndParts;
use crate::state::event_run::replacing_ids;
use crate::state::queued_run::{
    QueueExit, cancelled_outcome, has_started, missed_outcome, new_run,
};

const INTERRUPTED: &str = "Rouse stopped during the run";
const UNREADABLE: &str = "The payload cannot be read. The log has the details";

impl Engine {
    /// Recovers all runs. A failure leaves only finished steps; lanes are filled after the last read.
    pub(super) async fn recover_runs(&mut self) -> Result<(), StoreError> {
        let mut jobs = RecoveredJobs::default();
        let mut in_backoff = Vec::new();
        let mut replacing = HashSet::new();
        for run in self.store.running_runs().await? {
            self.refresh_listeners().await?;
            let job = jobs.get(&run, self).await?;
            match self.store.backoff(&run.id).await? {
                Some(backoff) => in_backoff.push((run, job, backoff)),
                None => replacing.extend(self.recover_interrupted(run, job).await?),
            }
        }
        self.load_parked().await?;
        let mut queued = Vec::new();
        for run in self.store.queued_runs().await? {
            let job = jobs.get(&run, self).await?;
            queued.push((run, job));
        }
        // Runs in a backoff have started, so they precede queued runs in their lanes.
        for (run, job, backoff) in in_backoff {
            self.restore_backoff(run, job, backoff);
        }
        for (run, job) in queued {
            // Fired by an end above, so newer than all runs of the job.
            if let Some(job_id) = run.job_id.as_ref().filter(|_| replacing.contains(&run.id)) {
                self.replace_runs_of(job_id);
            }
            self.recover_queued(run, job).await?;
        }
        Ok(())
    }

    /// Ends an interrupted run or lets it continue. Returns the fired runs that replace others.
    async fn recover_interrupted(
        &mut self,
        run: Run,
        job: Option<Arc<Job>>,
    ) -> Result<Vec<RunId>, StoreError> {
        let now = self.clock.now();
        let calls = self.calls_of(&run).await?;
        let recovery = match self.firing_at(now) {
            // Chat continues in a pause.
            Firing::Off(_) if run.trigger != RunTrigger::Chat => Recovery::KeepInterrupted,
            _ => recover(job.as_deref(), &run, calls, now),
        };
        let (job_id, name) = (run.job_id.as_ref().map(display), run.name_for_log());
        if recovery == Recovery::Resume && self.store.requeue_run(&run.id, now).await?.is_some() {
            tracing::info!(job_id, run_id = %run.id, name, "an interrupted run continues");
            return Ok(Vec::new());
        }
        let run_again = match (recovery, &job) {
            (Recovery::Rerun, Some(job)) => Some(catch_up_run(&run, job, now)),
            _ => None,
        };
        tracing::warn!(job_id, run_id = %run.id, name, again = run_again.is_some(), "a run was interrupted");
        let outcome =
            Outcome { reason: Some(INTERRUPTED.to_owned()), ..Outcome::of(RunState::Interrupted) };
        let announcement =
            self.interruption_notice(&run, &outcome, job.as_deref(), run_again.is_some()).await?;
        let parts = EndParts {
            run: &run,
            outcome: &outcome,
            job: None,
            job_effect: JobEffect::Keep,
            incident: IncidentStep::Nothing,
            announcement,
            reminders: self.undelivered_reminders(&run, &outcome).await?,
            fires_events: run_again.is_none(),
        };
        let end = self.build_end(parts).await?;
        if !end.finish.deliveries.is_empty() || !end.finish.reminders.is_empty() {
            self.outbox.notify_one();
        }
        let interruption = Interruption {
            run_id: run.id,
            reason: INTERRUPTED.to_owned(),
            deliveries: end.finish.deliveries,
            reminders: end.finish.reminders,
            rerun: run_again,
            fired: end.finish.fired,
            now,
        };
        if let Some(ended) = self.store.interrupt_run(&interruption).await? {
            self.hooks.finished(&ended);
        }
        if run.trigger == RunTrigger::Heartbeat {
            // Undrained events are still queued.
            self.heartbeat.request_for_events("interrupted");
        }
        Ok(replacing_ids(&end.event_runs))
    }

    /// The announcement of an interrupted run: no failure, so no incident. The outcome of a catch-up run replaces the
    /// announcement.
    async fn interruption_notice(
        &self,
        run: &Run,
        outcome: &Outcome,
        job: Option<&Job>,
        has_catch_up_run: bool,
    ) -> Result<Announcement, StoreError> {
        let was_announced = match job {
            Some(job) => self.was_announced_as(job, RunState::Interrupted).await?,
            None => false,
        };
        if has_catch_up_run || was_announced {
            return Ok(Announcement::default());
        }
        let (job_effect, incident) = (JobEffect::Keep, IncidentStep::Nothing);
        let announced = self.announcement(run, outcome, job, &job_effect, &incident).await?;
        Ok(Announcement { system_event: None, ..announced })
    }

    async fn calls_of(&self, run: &Run) -> Result<InterruptedCalls, StoreError> {
        let approvals = self.store.approvals_of_run(&run.id).await?;
        let newest = approvals.last();
        // An unused decision is for a call that has not begun, also after a call that asked for it.
        if newest.is_some_and(Approval::has_unused_decision) {
            return Ok(InterruptedCalls::Decided);
        }
        if self.store.has_unrepeatable_step(&run.id).await? {
            return Ok(InterruptedCalls::Unrepeatable);
        }
        let continues = newest.is_some_and(Approval::resumes_run);
        Ok(if continues { InterruptedCalls::Decided } else { InterruptedCalls::Repeatable })
    }

    async fn recover_queued(&mut self, run: Run, job: Option<Arc<Job>>) -> Result<(), StoreError> {
        let is_heartbeat = run.trigger == RunTrigger::Heartbeat;
        let is_extra_turn = is_heartbeat && !self.heartbeat.begin_run() && !has_started(&run);
        let outcome = match (&job, &run.job_id) {
            (None, Some(id)) => {
                let exists = self.store.has_job(id).await?;
                Some(cancelled_outcome(if exists { UNREADABLE } else { "The job was removed" }))
            }
            _ if is_extra_turn => Some(Outcome::skipped("Another heartbeat turn was queued")),
            _ => self.outcome_instead_of_start(&run, job.as_deref()),
        };
        match outcome {
            Some(outcome) => self.queue_exits.push_back(QueueExit { id: run.id, outcome }),
            None => self.enqueue_recovered(run, job),
        }
        Ok(())
    }

    /// The end of a scheduled run that may not start any more. Manual runs may.
    fn outcome_instead_of_start(&self, run: &Run, job: Option<&Job>) -> Option<Outcome> {
        let job = job.filter(|_| run.trigger != RunTrigger::Manual && !has_started(run))?;
        if let Firing::Off(reason) = self.firing_at(self.clock.now()) {
            return Some(Outcome::skipped(reason));
        }
        if !job.enabled {
            return Some(Outcome::skipped("The job was switched off"));
        }
        missed_outcome(job, run, self.clock.now())
    }
}

/// The catch-up run of an interrupted run.
fn catch_up_run(run: &Run, job: &Job, now: UnixMs) -> Run {
    Run {
        retry_of: Some(run.id.clone()),
        catch_up_slot_at: run.slot_at,
        slot_count: run.slot_count,
        ..new_run(Some(job), RunTrigger::CatchUp, to_json(&job.payload), now)
    }
}

/// Jobs by id, read once for runs with the same payload.
#[derive(Default)]
struct RecoveredJobs(HashMap<JobId, (Value, Option<Arc<Job>>)>);

impl RecoveredJobs {
    async fn get(&mut self, run: &Run, engine: &Engine) -> Result<Option<Arc<Job>>, StoreError> {
        let Some(id) = &run.job_id else { return Ok(None) };
        if let Some((payload, known)) = self.0.get(id)
            && *payload == run.payload
        {
            return Ok(known.clone());
        }
        let job = engine.job_of(run).await?.map(Arc::new);
        self.0.insert(id.clone(), (run.payload.clone(), job.clone()));
        Ok(job)
    }
}
