//! Backoffs between the attempts of a run, and pauses within an attempt.
//!
//! A backoff is in the store before it counts, so the next start finds the failure and the next attempt. The next
//! attempt is checked after a failure, after a change of the job, and after a restart; a pause or a stop of firing ends
//! backoffs at once.
//! Pitfall: a check only at the end of the backoff would miss a pause that is over by then.

use std::sync::Arc;

use rouse_core::Run;
use rouse_core::decide::{refuse_attempt, refuse_attempt_after_stop};
use rouse_core::job::Job;
use rouse_core::run::AbandonedRetries;
use rouse_core::{JobId, RunId, RunTrigger};
use rouse_store::{Backoff, StoreError};
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::state::active_run::{ActiveRun, BackoffWait, Phase, duration, milliseconds};
use crate::state::permits::PermitKind;
use crate::state::queued_run::{lane_of, lane_width};

impl Engine {
    /// Saves the backoffs that have begun, or ends their runs where no retry is left.
    pub(super) async fn save_backoffs(&mut self) -> Result<(), StoreError> {
        for id in self.active.ids_where(|run| run.unsaved_backoff().is_some()) {
            self.save_backoff(&id).await?;
        }
        Ok(())
    }

    async fn save_backoff(&mut self, id: &RunId) -> Result<(), StoreError> {
        let Some(active) = self.active.get(id) else { return Ok(()) };
        let Some(wait) = active.unsaved_backoff() else { return Ok(()) };
        let job = if active.has_deleted_own_job {
            active.job.as_deref().cloned()
        } else {
            self.job_of(&active.run).await?
        };
        let now = self.clock.now();
        let refusal = refuse_attempt(job.as_ref(), &active.run, &self.firing_at(now));
        if refusal.is_none() {
            let mut failure = (*wait.failure).clone();
            failure.usage = active.unsaved_usage();
            let left = milliseconds(wait.until.saturating_sub(self.clock.monotonic()));
            let backoff = Backoff {
                run_id: id.clone(),
                failure,
                wait_ms: milliseconds(wait.length),
                next_attempt_at: now.plus_ms(left),
                waits_for: active.run.waits_for,
                worked_ms: active.run.worked_ms,
            };
            self.store.save_backoff(&backoff, now).await?;
        }
        if let Some(active) = self.active.get_mut(id) {
            match refusal {
                Some(reason) => active.abandon_retries(&reason, AbandonedRetries::Suspended),
                None => active.mark_backoff_saved(),
            }
        }
        Ok(())
    }

    /// Ends the backoffs of scheduled runs: for `job`, or for all jobs.
    pub(super) fn abandon_scheduled_retries(&mut self, job: Option<&JobId>, reason: &str) {
        for active in self.active.iter_mut() {
            let is_of_job = job.is_none_or(|job| active.run.job_id.as_ref() == Some(job));
            let is_manual = matches!(active.run.trigger, RunTrigger::Manual | RunTrigger::Chat);
            if is_of_job && !is_manual {
                active.abandon_retries(reason, AbandonedRetries::Suspended);
            }
        }
    }

    /// Ends backoffs if the settings of a changed job refuse the retry.
    pub(super) fn abandon_refused_retries(&mut self, job: &Job) {
        let firing = self.firing_at(self.clock.now());
        for active in self.active.of_job(&job.id) {
            if let Some(reason) = refuse_attempt(Some(job), &active.run, &firing) {
                active.abandon_retries(&reason, AbandonedRetries::Suspended);
            }
        }
    }

    /// Restores a backoff of an earlier process: until the wall-clock instant, but no longer than the full backoff, in
    /// case of a clock rollback.
    pub(super) fn restore_backoff(&mut self, run: Run, job: Option<Arc<Job>>, backoff: Backoff) {
        let now = self.clock.now();
        let firing = self.firing_at(now);
        let refusal =
            refuse_attempt_after_stop(job.as_deref(), &run, &firing, backoff.next_attempt_at, now);
        let length = backoff.wait_ms.max(0);
        let left = backoff.next_attempt_at.since(now).clamp(0, length);
        let monotonic = self.clock.monotonic();
        let wait = BackoffWait {
            until: monotonic + duration(left),
            length: duration(length),
            failure: Box::new(backoff.failure),
            is_saved: true,
        };
        let (lane, permit) = (lane_of(&run), PermitKind::from(run.trigger));
        self.lanes.hold(lane.clone(), job.as_deref().map_or(1, lane_width));
        let (phase, cancel) = (Phase::Backoff(wait), CancellationToken::new());
        let mut active = ActiveRun::new(run, lane, permit, job, phase, cancel, monotonic);
        if let Some(reason) = refusal {
            active.abandon_retries(&reason, AbandonedRetries::Suspended);
        }
        self.active.insert(active);
    }
}
