//! Prefetch of the next slot's jobs while the engine is idle.
//!
//! Reading the jobs at the instant would be a third of a run's delay. A prefetch is valid as long as the store has no
//! later commit. A crowd is only counted, to know the lead, so that many jobs do not sit in memory for hours.
//! Pitfall: do not track changes in the engine, because other rooms write as well.

use rouse_store::StoreError;

use super::Engine;
use crate::state::slot_schedule::{SlotPrefetch, lead_ms};

/// Maximum jobs that are prefetched.
const MAX_PREFETCH: u32 = 16;

impl Engine {
    /// Prefetches the next slot's jobs, unless a run is active and would write before. A failed read is repeated when
    /// the slot is due.
    pub(super) async fn prefetch_next_slot(&mut self) -> Result<(), StoreError> {
        let at = self.next_due().await?;
        let Some(at) = at.filter(|_| self.active.is_empty()) else { return Ok(()) };
        let commits = self.store.commit_count();
        if self.slots.prefetch_for(at).is_some_and(|prefetch| prefetch.commits == commits) {
            return Ok(());
        }
        let jobs = self.store.due_jobs_up_to(at, MAX_PREFETCH).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the next slot was not prefetched");
            None
        });
        let slots = match &jobs {
            Some(_) => 1,
            None => self.store.count_due(at).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "the next slots could not be counted");
                1
            }),
        };
        self.slots.set_prefetch(SlotPrefetch { at, commits, jobs, lead_ms: lead_ms(slots) });
        Ok(())
    }
}
