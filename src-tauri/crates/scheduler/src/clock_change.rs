//! When the wall clock was set, or the machine woke up.
//!
//! A step forward needs nothing: slots that lie in the past now are due, and policy decides. After a step back every
//! job would sleep for the length of the step, so a next slot that is farther away than the first one after the new now
//! is taken nearer. Slots that have their row fire no second time; the store leaves them alone.

use rouse_core::{JobId, UnixMs};
use rouse_store::{JobQuery, StoreError};

use crate::engine::Engine;

impl Engine {
    pub(crate) async fn plan_anew_if_clock_was_set(&mut self) -> Result<(), StoreError> {
        if !self.clock_was_set {
            return Ok(());
        }
        let now = self.clock.now();
        tracing::info!(now = now.0, "the clock was set; next slots are looked at again");
        let jobs = self.store.jobs(&JobQuery::default()).await?;
        let nearer: Vec<(JobId, Option<UnixMs>)> = jobs
            .iter()
            .filter_map(|job| {
                let stored = job.state.next_run_at?;
                let nearest = self.slots.of(job).map_or(None, |slots| slots.next_after(now))?;
                (nearest < stored).then(|| (job.id.clone(), Some(nearest)))
            })
            .collect();
        if !nearer.is_empty() {
            self.store.set_next_run(&nearer, now).await?;
            self.next_due_is_stale = true;
        }
        self.plan_beat().await?;
        self.clock_was_set = false;
        Ok(())
    }
}
