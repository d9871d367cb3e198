//! `tick(now)`: the only function that claims slots.
//!
//! Every due slot becomes rows and the job moves to the next slot, in the same transaction. Runs that may start at once
//! are claimed as running; work begins after the commit. The store leaves a slot with a row alone, so neither a clock
//! rollback nor a second tick fires the slot again.

use rouse_core::UnixMs;
use rouse_core::decide::Firing;
use rouse_store::{DueJobs, StoreError};

use super::claim_planner::ClaimPlanner;
use super::{Engine, PAUSED};
use crate::status::TickReport;

/// Maximum jobs of a transaction. The first runs of a crowd start while the rest is claimed.
pub(super) const MAX_BATCH: u32 = 512;

impl Engine {
    /// Claims every slot that is due at `now` and starts runs.
    pub(super) async fn tick(&mut self, now: UnixMs) -> Result<TickReport, StoreError> {
        let mut report = TickReport::default();
        self.recover_once().await?;
        if let Some(until) = self.pause_end().filter(|until| *until <= now) {
            // After a suspend over the end of a pause, only earlier slots were paused.
            let firing = match self.firing_at(until) {
                Firing::On => Firing::Off(PAUSED.to_owned()),
                off => off,
            };
            self.claim_due(until.plus_ms(-1), &firing, &mut report).await?;
            self.end_pause(now).await?;
        }
        self.claim_due(now, &self.firing_at(now), &mut report).await?;
        report.started.extend(self.start_runs().await?);
        Ok(report)
    }

    /// Claims every slot that is due at `now`.
    pub(super) async fn claim_due(
        &mut self,
        now: UnixMs,
        firing: &Firing,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        self.slots.invalidate();
        let planner = self.claim_planner(now, firing.clone());
        let (first, due) = match self.slots.take_prefetched(now, self.store.commit_count()) {
            Some(all) => (Some(all), None),
            None => {
                let mut due = self.store.due_jobs(now, MAX_BATCH);
                (due.next().await?, Some(due))
            }
        };
        let Some(first) = first else { return Ok(()) };
        self.refresh_listeners().await?;
        let first = planner.plan_batch(first);
        // A single batch is nearly always all; another task would delay the claim.
        let mut rest = due.filter(DueJobs::has_more).map(|rest| planner.plan_in_background(rest));
        self.claim(first, now, report).await?;
        while let Some(rest) = &mut rest
            && let Some(planned) = rest.recv().await
        {
            self.claim(planned?, now, report).await?;
        }
        Ok(())
    }

    pub(super) fn claim_planner(&self, now: UnixMs, firing: Firing) -> ClaimPlanner {
        let paused_since = self.pause.map(|pause| pause.since);
        ClaimPlanner { zones: self.zones.zones.clone(), now, firing, paused_since }
    }
}
