//! Jobs with an event pattern that cannot be compiled.
//!
//! An earlier version may have accepted the pattern, or the file was edited by hand. Such a job is paused with a failed
//! run: one incident and one notification, for this job only.
//! Pitfall: with skipped events instead, the problem stays hidden until an awaited event.

use rouse_core::decide::JobEffect;
use rouse_core::job::{Job, to_json};
use rouse_core::{Outcome, RunTrigger};
use rouse_store::StoreError;

use super::Engine;
use super::run_end::EndParts;
use super::run_log::log_end;
use crate::state::event_listeners::InvalidPattern;
use crate::state::queued_run::new_run;

impl Engine {
    /// Pauses the jobs with invalid patterns.
    pub(super) async fn pause_jobs_with_invalid_patterns(&mut self) -> Result<(), StoreError> {
        // Before the list is read, so that a pattern found meanwhile is handled the next time.
        if !self.listeners.take_has_invalid() {
            return Ok(());
        }
        let paused = self.pause_invalid().await;
        if paused.is_err() {
            self.listeners.set_has_invalid();
        }
        paused
    }

    async fn pause_invalid(&mut self) -> Result<(), StoreError> {
        self.refresh_listeners().await?;
        for invalid in self.listeners.invalid_patterns() {
            self.pause_job_with(invalid).await?;
        }
        Ok(())
    }

    async fn pause_job_with(&mut self, pattern: InvalidPattern) -> Result<(), StoreError> {
        let InvalidPattern { job_id, revision, reason } = pattern;
        let is_unchanged = |job: &Job| job.enabled && job.state.revision == revision;
        let Some(job) = self.store.job(&job_id).await?.filter(is_unchanged) else { return Ok(()) };
        let now = self.clock.now();
        let run = new_run(Some(&job), RunTrigger::Event, to_json(&job.payload), now);
        let outcome =
            Outcome::failed(format!("{reason}. Change the pattern and switch the job on again."));
        let job_effect = JobEffect::Pause(reason);
        let incident = self.incident_step(Some(&job), &outcome, now).await?;
        let announcement =
            self.announcement(&run, &outcome, Some(&job), &job_effect, &incident).await?;
        let parts = EndParts {
            run: &run,
            outcome: &outcome,
            job: Some(job.clone()),
            job_effect,
            incident,
            announcement,
            reminders: Vec::new(),
            fires_events: true,
        };
        let end = self.build_end(parts).await?;
        let is_new = self.store.insert_ended_run(&run, &end.finish).await?.is_some();
        log_end(&run, &outcome, None, now);
        self.incidents.apply(Some(&job_id), &end.finish.incident);
        self.enqueue_event_runs(end.event_runs, |_| is_new);
        self.listeners.invalidate();
        self.outbox.notify_one();
        self.apply_job_effect(&job, &end.job_effect, &run.id);
        Ok(())
    }
}
