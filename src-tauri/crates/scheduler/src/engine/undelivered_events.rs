//! Reminders that a turn of the main session should have delivered and did not.
//!
//! With a model, a reminder is a system event that a turn puts into words. If that turn ends without an answer
//! (provider down, budget used up, time limit), each reminder becomes a notification and stays queued for the next
//! turn. If the turn ends with nothing to report, the drained reminders become notifications too, because a model may
//! not withhold reminders.
//! Pitfall: leave out events that were queued during the turn; they get another turn.

use rouse_core::decide::announce_reminder;
use rouse_core::delivery::NewDelivery;
use rouse_core::{Outcome, Run, RunId, RunState};
use rouse_store::StoreError;

use super::Engine;

impl Engine {
    /// The notifications in place of undelivered reminders of this turn, with the runs that queued the reminders.
    pub(super) async fn undelivered_reminders(
        &self,
        run: &Run,
        outcome: &Outcome,
    ) -> Result<Vec<(RunId, NewDelivery)>, StoreError> {
        let events = match outcome.state {
            _ if !run.trigger.is_main_turn() => Vec::new(),
            RunState::NothingToReport => self.store.undelivered_reminders_shown_to(&run.id).await?,
            // Undrained events are still queued for another turn.
            RunState::Interrupted => self.store.undelivered_reminders_drained_by(&run.id).await?,
            // The person has seen a cancelled turn.
            RunState::Skipped | RunState::Failed | RunState::TimedOut => {
                let until = run.started_at.unwrap_or_else(|| self.clock.now());
                self.store.undelivered_reminders(until).await?
            }
            _ => Vec::new(),
        };
        let mut reminders = Vec::new();
        for event in events {
            let job = match self.store.job(&event.job_id).await {
                // The reminder must come even if the job is unreadable.
                Err(StoreError::Unreadable { .. }) => None,
                job => job?,
            };
            let (key, job) = (event.key, job.as_ref());
            let channels = &self.channels.now();
            let rows = announce_reminder(key, &event.job_name, &event.text, job, channels);
            reminders.extend(rows.into_iter().map(|row| (event.run_id.clone(), row)));
        }
        Ok(reminders)
    }
}
