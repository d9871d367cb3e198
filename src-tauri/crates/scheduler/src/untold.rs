//! Reminders that the main session was to tell and has not told.
//!
//! Where there is a model, a reminder is a line that a turn of the main session tells in its own words. When that turn ends
//! without an answer (the provider is down, the budget is used up, the time is over), each reminder it was to tell is a
//! notification by itself, as where there is no model; it stays queued for the next turn that works. When it ends with
//! nothing to report, so is each reminder that it was shown: what a person wants to be told is not for a model to keep. One
//! could get it wrong by taking lines that were queued while the turn was at work: they get a turn of their own.

use rouse_core::decide::remind;
use rouse_core::delivery::NewDelivery;
use rouse_core::{Outcome, Run, RunId, RunState};
use rouse_store::StoreError;

use crate::engine::Engine;

impl Engine {
    /// What is told instead of what this run was to tell, with the runs that queued it.
    pub(crate) async fn untold_by(
        &self,
        run: &Run,
        outcome: &Outcome,
    ) -> Result<Vec<(RunId, NewDelivery)>, StoreError> {
        let untold = match outcome.state {
            _ if !run.trigger.is_main_turn() => Vec::new(),
            RunState::NothingToReport => self.store.reminders_untold_by(&run.id).await?,
            // What it had not drained is queued still, and gets another turn.
            RunState::Interrupted => self.store.reminders_drained_by(&run.id).await?,
            state if is_without_answer(state) => {
                let until = run.started_at.unwrap_or_else(|| self.clock.now());
                self.store.untold_reminders(until).await?
            }
            _ => Vec::new(),
        };
        let mut told = Vec::new();
        for line in untold {
            let job = match self.store.job(&line.job_id).await {
                // A reminder must come all the same.
                Err(StoreError::Unreadable { .. }) => None,
                job => job?,
            };
            let delivery = remind(line.key, &line.job_name, &line.text, job.as_ref());
            told.extend(delivery.map(|delivery| (line.run_id, delivery)));
        }
        Ok(told)
    }
}

/// A turn that a person has cancelled was seen by them.
const fn is_without_answer(state: RunState) -> bool {
    matches!(state, RunState::Skipped | RunState::Failed | RunState::TimedOut)
}
