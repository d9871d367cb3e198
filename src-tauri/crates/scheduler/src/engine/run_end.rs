//! The end of a run: all changes that are committed with the final state.
//!
//! Owns the one builder for ends of all kinds: an attempt's outcome, a run that leaves the queue, an interrupted run,
//! and a job with an invalid pattern. The callers decide job_effect, incident and announcement; the builder adds the
//! fired runs and assembles the row changes.

use rouse_core::condition::ConditionVerdict;
use rouse_core::decide::{
    Announcement, FinishedRun, JobEffect, SETTLED_MS, announce, decide_job_effect, incident_step,
};
use rouse_core::delivery::NewDelivery;
use rouse_core::incident::IncidentStep;
use rouse_core::job::{Job, NotifyWhen, NotifyWord, Payload, WakeMode};
use rouse_core::{DeliveryId, Outcome, Run, RunId, RunState, UnixMs};
use rouse_store::{RunEnd, StoreError};
use serde_json::Value;

use super::Engine;
use crate::state::active_run::ActiveRun;
use crate::state::event_run::{EventRun, fired_rows};
use crate::state::queued_run::job_as_claimed;

/// An end that is ready to be committed.
pub(super) struct PlannedEnd {
    pub(super) job: Option<Job>,
    pub(super) job_effect: JobEffect,
    pub(super) event_runs: Vec<EventRun>,
    pub(super) finish: RunEnd,
}

impl PlannedEnd {
    /// An end without announcement, event runs or effects on the job.
    pub(super) fn quiet(run_id: RunId, outcome: Outcome, now: UnixMs) -> Self {
        let finish = RunEnd::of(run_id, outcome, now);
        Self { job: None, job_effect: JobEffect::Keep, event_runs: Vec::new(), finish }
    }

    /// Whether the end fires no run and deletes no job, so may be committed together with ends of other jobs.
    pub(super) fn is_independent(&self) -> bool {
        self.event_runs.is_empty() && self.job_effect != JobEffect::Delete
    }

    /// Whether the end changes only the state of a row.
    pub(super) const fn is_quiet(&self) -> bool {
        self.finish.deliveries.is_empty()
            && self.finish.system_event.is_none()
            && self.event_runs.is_empty()
    }
}

/// The input of the builder.
pub(super) struct EndParts<'a> {
    pub(super) run: &'a Run,
    pub(super) outcome: &'a Outcome,
    pub(super) job: Option<Job>,
    pub(super) job_effect: JobEffect,
    pub(super) incident: IncidentStep,
    pub(super) announcement: Announcement,
    /// Notifications in place of undelivered reminders of this turn, with the runs that queued the reminders.
    pub(super) reminders: Vec<(RunId, NewDelivery)>,
    /// Whether the end is an event for other jobs.
    pub(super) fires_events: bool,
}

impl Engine {
    /// Builds the end of a run.
    pub(super) async fn build_end(&self, parts: EndParts<'_>) -> Result<PlannedEnd, StoreError> {
        let EndParts { run, outcome, job, job_effect, incident, announcement, reminders, .. } =
            parts;
        let Announcement { deliveries, system_event } = announcement;
        let event_runs = if parts.fires_events {
            self.event_runs_after(run, outcome, system_event.as_deref()).await?
        } else {
            Vec::new()
        };
        let finish = RunEnd {
            started_at: run.started_at,
            fired: fired_rows(&event_runs),
            deliveries,
            reminders,
            wake_reason: requested_turn(job.as_ref(), outcome),
            system_event,
            is_user_reminder: job.as_ref().is_some_and(Job::reminds_in_persons_words),
            incident,
            pause_job: job_effect.pause_reason().map(str::to_owned),
            delete_job: job_effect == JobEffect::Delete,
            ..RunEnd::of(run.id.clone(), outcome.clone(), self.clock.now())
        };
        Ok(PlannedEnd { job, job_effect, event_runs, finish })
    }

    /// The end of an active run with `outcome`.
    pub(super) async fn end_of_active_run(
        &self,
        active: &ActiveRun,
        outcome: &Outcome,
    ) -> Result<PlannedEnd, StoreError> {
        let run = &active.run;
        // After a run deleted its own job, the outcome is announced with the deleted job's settings and leaves the job
        // unchanged.
        let is_deleted = active.has_deleted_own_job && active.job.is_some();
        let job =
            if is_deleted { active.job.as_deref().cloned() } else { self.job_of(run).await? };
        let job_effect = match job.as_ref().filter(|_| !is_deleted) {
            Some(job) => decide_job_effect(job, run, outcome, self.has_open_slot(job, run).await?),
            None => JobEffect::Keep,
        };
        // The person sees the failure of a watched run.
        let incident = if run.is_watched() {
            IncidentStep::Nothing
        } else {
            self.incident_step(job.as_ref(), outcome, self.clock.now()).await?
        };
        let announcement =
            self.announcement(run, outcome, job.as_ref(), &job_effect, &incident).await?;
        let reminders = self.undelivered_reminders(run, outcome).await?;
        let incident = if is_deleted { IncidentStep::Nothing } else { incident };
        let fires_events = true;
        let parts = EndParts {
            run,
            outcome,
            job,
            job_effect,
            incident,
            announcement,
            reminders,
            fires_events,
        };
        self.build_end(parts).await
    }

    /// The end of a queued or parked run. The row is read only if the end may be announced or fire a run.
    pub(super) async fn end_of_queue_exit(
        &self,
        id: &RunId,
        outcome: &Outcome,
    ) -> Result<PlannedEnd, StoreError> {
        let is_missed = outcome.state == RunState::Missed;
        let fires_skips = self.listeners.match_skipped_runs();
        let run = if is_missed || fires_skips { self.store.run(id).await? } else { None };
        let Some(run) = run else {
            return Ok(PlannedEnd::quiet(id.clone(), outcome.clone(), self.clock.now()));
        };
        let announcement = if is_missed {
            self.missed_notice(&run, outcome).await?
        } else {
            Announcement::default()
        };
        let parts = EndParts {
            run: &run,
            outcome,
            job: None,
            job_effect: JobEffect::Keep,
            incident: IncidentStep::Nothing,
            fires_events: fires_skips || announcement.system_event.is_some(),
            announcement,
            reminders: Vec::new(),
        };
        self.build_end(parts).await
    }

    /// The announcement of an outcome, by notify policy, job_effect and incident of the job.
    pub(super) async fn announcement(
        &self,
        run: &Run,
        outcome: &Outcome,
        job: Option<&Job>,
        job_effect: &JobEffect,
        incident: &IncidentStep,
    ) -> Result<Announcement, StoreError> {
        let previous = self.previous_result(job).await?;
        let previous_result = previous.as_ref();
        let channels = &*self.channels.now();
        let ended =
            FinishedRun { job, run, outcome, job_effect, incident, previous_result, channels };
        Ok(announce(&ended, DeliveryId::generate(self.clock.now())))
    }

    async fn previous_result(&self, job: Option<&Job>) -> Result<Option<Value>, StoreError> {
        match job {
            Some(Job { id, payload: Payload::ToolCall(call), .. })
                if call.notify_when == NotifyWhen::Word(NotifyWord::Changed) =>
            {
                self.store.last_result(id).await
            }
            _ => Ok(None),
        }
    }

    /// Whether another run for a slot keeps a job that is deleted after a run. Matters for a run without a slot only.
    async fn has_open_slot(&self, job: &Job, run: &Run) -> Result<bool, StoreError> {
        let matters = job.delete_after_run && run.slot().is_none();
        Ok(matters && self.store.has_open_slot_run(&job.id, &run.id).await?)
    }

    /// The effect of an outcome on the job's incidents. A healthy job without incidents costs no read.
    pub(super) async fn incident_step(
        &self,
        job: Option<&Job>,
        outcome: &Outcome,
        now: UnixMs,
    ) -> Result<IncidentStep, StoreError> {
        let id = job.map(|job| &job.id);
        let is_unhealthy = outcome.state.is_failure()
            || matches!(outcome.verdict, Some(ConditionVerdict::Broken(_)))
            || job.is_some() && outcome.is_model_unavailable();
        let mut known = if id.is_none_or(|id| is_unhealthy || self.incidents.may_have(id)) {
            self.store.open_incidents(id).await?
        } else {
            Vec::new()
        };
        if is_unhealthy {
            known.extend(self.store.recovered_incidents(id, now.plus_ms(-SETTLED_MS)).await?);
        }
        Ok(incident_step(job, outcome, &known, now))
    }

    /// The job with current settings and the payload of `run`; none when deleted or unreadable.
    pub(super) async fn job_of(&self, run: &Run) -> Result<Option<Job>, StoreError> {
        let Some(id) = &run.job_id else { return Ok(None) };
        match self.store.job(id).await {
            Err(error @ StoreError::Unreadable { .. }) => {
                // The job's runs must end all the same.
                let name = run.name_for_log();
                tracing::error!(%error, job_id = %id, run_id = %run.id, name, "the job of a run cannot be read");
                Ok(None)
            }
            job => Ok(job?.and_then(|job| job_as_claimed(job, run))),
        }
    }
}

/// The reason for a turn of the main session, if the outcome is a reminder that wakes the session at once.
fn requested_turn(job: Option<&Job>, outcome: &Outcome) -> Option<String> {
    let job = job.filter(|job| job.wake_mode == WakeMode::Now)?;
    let is_reminder = matches!(job.payload, Payload::SystemEvent { .. });
    (is_reminder && outcome.state == RunState::Succeeded).then(|| format!("cron:{}", job.id))
}
