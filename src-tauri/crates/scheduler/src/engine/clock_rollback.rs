//! Clock rollbacks: plans, deliveries, approvals and the pause that a clock ahead has left in the future.
//!
//! While Rouse runs, the timer reports a rollback. After a pause of Rouse, the store shows it: each event has the
//! instant of its write, so an event in the future means that the clock was set back since. A clock at a time long
//! before Rouse existed is no evidence; everything then waits until the clock is right.
//! Pitfall: look at several of the newest events, because a run that was cut off between the rollback and the
//! replanning may have written an event by the new clock.

use rouse_core::UnixMs;
use rouse_core::delivery::MAX_REDELIVERY_PAUSE_MS;
use rouse_store::StoreError;

use super::Engine;

/// 1 January 2020. A clock without a battery shows an earlier time until the network sets the time.
const EARLIEST_NOW: UnixMs = UnixMs(1_577_836_800_000);

impl Engine {
    /// Replans the next slots at the start if the clock was set back while Rouse was off.
    pub(super) async fn replan_after_unseen_rollback(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.store.latest_event_at().await?.is_some_and(|latest| latest > now) {
            // The heartbeat is replanned with the rest of the start.
            self.zones.clock_was_set = true;
            let zones = self.zones.zones.clone();
            self.replan_slots(&zones, false).await?;
        }
        Ok(())
    }

    /// Advances deliveries, approvals and the pause after a clock change, before anything is checked for being due.
    pub(super) async fn advance_after_clock_rollback(&mut self) -> Result<(), StoreError> {
        if !self.zones.clock_was_set {
            return Ok(());
        }
        let now = self.clock.now();
        if now < EARLIEST_NOW {
            tracing::warn!(now = now.0, "the computer's clock shows a time long ago");
            return Ok(());
        }
        if self.store.adjust_after_clock_rollback(MAX_REDELIVERY_PAUSE_MS, now).await? {
            tracing::info!(now = now.0, "instants of a clock that was ahead were advanced");
            self.parked.invalidate_expiry();
            self.outbox.notify_one();
        }
        self.advance_pause(now).await
    }
}
