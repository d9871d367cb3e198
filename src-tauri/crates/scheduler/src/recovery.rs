//! What an earlier life left behind.
//!
//! Runs that were cut off become `interrupted`, and by policy another one makes up for them, in the same transaction.
//! Runs that waited for their next attempt go on waiting (see `retries`). Runs that still waited go back into their lanes, unless their time is over or their job is gone. This happens before
//! the first tick, so that a slot that has come meanwhile sees the runs that are there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rouse_core::approval::Approval;
use rouse_core::decide::{Calls, Ended, Firing, JobFate, Recovery, announce, recover};
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Job, payload_to_json};
use rouse_core::{DeliveryId, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Interruption, StoreError};
use serde_json::Value;

use crate::engine::Engine;
use crate::events::{replacing, rows};
use crate::execute::too_late;
use crate::finish::{WaitEnded, has_begun};
use crate::tick::new_run;

const CUT_OFF: &str = "Rouse stopped while it was at work";
/// Why a run ends that nobody can begin any more.
const UNREADABLE: &str = "What it was to do cannot be read any more; the log says why";

impl Engine {
    /// Takes up the runs of an earlier life. What it has done before it fails needs no doing again, and lanes are filled
    /// when nothing can fail any more.
    pub(crate) async fn recover(&mut self) -> Result<(), StoreError> {
        let mut jobs = KnownJobs::default();
        let mut between_attempts = Vec::new();
        let mut replacing = HashSet::new();
        for run in self.store.running_runs().await? {
            self.refresh_listeners().await?;
            let job = jobs.of(&run, self).await?;
            match self.store.backoff(&run.id).await? {
                Some(backoff) => between_attempts.push((run, job, backoff)),
                None => replacing.extend(self.recover_cut_off(run, job).await?),
            }
        }
        self.load_parked().await?;
        let mut waiting = Vec::new();
        for run in self.store.queued_runs().await? {
            let job = jobs.of(&run, self).await?;
            waiting.push((run, job));
        }
        // They have begun, so they are in their lanes before those that have not.
        for (run, job, backoff) in between_attempts {
            self.take_up_wait(run, job, backoff);
        }
        for (run, job) in waiting {
            // It was fired by one of the ends just now, and is newer than all that its job has in a lane.
            if let Some(job_id) = run.job_id.as_ref().filter(|_| replacing.contains(&run.id)) {
                self.replace_runs_of(job_id);
            }
            self.recover_waiting(run, job).await?;
        }
        Ok(())
    }

    /// Ends the run or lets it go on; answers which of the runs that its end fires take the place of others of their job.
    async fn recover_cut_off(
        &mut self,
        run: Run,
        job: Option<Arc<Job>>,
    ) -> Result<Vec<RunId>, StoreError> {
        let now = self.clock.now();
        let calls = self.calls_of(&run).await?;
        let recovery = match self.firing_at(now) {
            // A pause is for what happens by itself.
            Firing::Off(_) if run.trigger != RunTrigger::Chat => Recovery::Leave,
            _ => recover(job.as_deref(), &run, calls, now),
        };
        if recovery == Recovery::GoOn && self.store.put_back(&run.id, now).await?.is_some() {
            let job_id = run.job_id.as_ref().map(tracing::field::display);
            tracing::info!(job_id, run_id = %run.id, name = run.name_for_log(), "a run that was cut off goes on");
            return Ok(Vec::new());
        }
        let run_again = match (recovery, &job) {
            (Recovery::RunAgain, Some(job)) => Some(makes_up_for(&run, job, now)),
            _ => None,
        };
        let outcome =
            Outcome { reason: Some(CUT_OFF.to_owned()), ..Outcome::of(RunState::Interrupted) };
        let key = DeliveryId::generate(now);
        // Whoever gets the outcome of the run that makes up for it need not hear of this one, nor who has heard it of another.
        let is_told = match (&run_again, job.as_deref()) {
            (Some(_), _) => false,
            (None, Some(job)) => !self.is_silent(job, RunState::Interrupted).await?,
            (None, None) => true,
        };
        let deliveries = if is_told {
            announce(&cut_off(job.as_deref(), &run, &outcome), key).deliveries
        } else {
            Vec::new()
        };
        let job_id = run.job_id.as_ref().map(tracing::field::display);
        tracing::warn!(job_id, run_id = %run.id, name = run.name_for_log(), again = run_again.is_some(), "a run was cut off");
        // Whatever waits for the end of this run waits for the one that makes up for it.
        let follows = match run_again {
            Some(_) => Vec::new(),
            None => self.plan_after(&run, &outcome, None).await?,
        };
        let fired = rows(&follows);
        let reminders = self.untold_by(&run, &outcome).await?;
        let (run_id, reason) = (run.id, CUT_OFF.to_owned());
        if !deliveries.is_empty() || !reminders.is_empty() {
            self.outbox.notify_one();
        }
        let interruption =
            Interruption { run_id, reason, deliveries, reminders, run_again, fired, now };
        if let Some(ended) = self.store.mark_interrupted(&interruption).await? {
            self.hooks.finished(&ended);
        }
        if run.trigger == RunTrigger::Heartbeat {
            // The events that it had not got to are still queued; they get the turn that was asked for.
            self.heartbeat.request_for_events("interrupted");
        }
        Ok(replacing(&follows))
    }

    async fn calls_of(&self, run: &Run) -> Result<Calls, StoreError> {
        if self.store.has_unrepeatable_step(&run.id).await? {
            return Ok(Calls::Unrepeatable);
        }
        let asked = self.store.approvals_of(&run.id).await?;
        let goes_on = asked.last().is_some_and(Approval::lets_its_run_go_on);
        Ok(if goes_on { Calls::Answered } else { Calls::Repeatable })
    }

    async fn recover_waiting(&mut self, run: Run, job: Option<Arc<Job>>) -> Result<(), StoreError> {
        let is_beat = run.trigger == RunTrigger::Heartbeat;
        let is_extra_beat = is_beat && !self.heartbeat.takes_over() && !has_begun(&run);
        let end = match (&job, &run.job_id) {
            (None, Some(id)) => {
                let is_there = self.store.has_job(id).await?;
                let reason = if is_there { UNREADABLE } else { "The job was removed" };
                Some(Outcome {
                    reason: Some(reason.to_owned()),
                    ..Outcome::of(RunState::Cancelled)
                })
            }
            _ if is_extra_beat => Some(Outcome::skipped("Another beat was waiting already")),
            _ => self.reason_not_to_start(&run, job.as_deref()),
        };
        match end {
            Some(outcome) => self.wait_ended.push_back(WaitEnded { id: run.id, outcome }),
            None => self.place(run, job),
        }
        Ok(())
    }

    /// A run that a slot asked for must still be wanted; one by hand is.
    fn reason_not_to_start(&self, run: &Run, job: Option<&Job>) -> Option<Outcome> {
        let job = job.filter(|_| run.trigger != RunTrigger::Manual && !has_begun(run))?;
        if let Firing::Off(reason) = self.firing_at(self.clock.now()) {
            return Some(Outcome::skipped(reason));
        }
        if !job.enabled {
            return Some(Outcome::skipped("The job was switched off"));
        }
        too_late(job, run, self.clock.now())
    }
}

/// The end of a run that was cut off: it did not fail, so it is no incident, and it changes nothing about its job.
const fn cut_off<'a>(job: Option<&'a Job>, run: &'a Run, outcome: &'a Outcome) -> Ended<'a> {
    let (fate, incident) = (&JobFate::Stays, &IncidentStep::Nothing);
    Ended { job, run, outcome, fate, incident, previous_result: None }
}

fn makes_up_for(run: &Run, job: &Job, now: UnixMs) -> Run {
    Run {
        retry_of: Some(run.id.clone()),
        makes_up_for: run.slot_at,
        stands_for: run.stands_for,
        ..new_run(Some(job), RunTrigger::CatchUp, payload_to_json(&job.payload), now)
    }
}

/// Jobs read while recovering, each once for runs that were claimed with the same work.
#[derive(Default)]
struct KnownJobs(HashMap<JobId, (Value, Option<Arc<Job>>)>);

impl KnownJobs {
    async fn of(&mut self, run: &Run, engine: &Engine) -> Result<Option<Arc<Job>>, StoreError> {
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
