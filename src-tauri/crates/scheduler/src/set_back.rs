//! When the wall clock was set back and nobody has planned by it yet.
//!
//! A job that was planned by a clock far ahead would sleep for the length of the step. While Rouse runs the timer tells
//! of the step; while it is off nobody does. Each event bears the time of its writing: when one of the newest lies in
//! the future, the clock was set back since, and next slots are looked at as after a step that was seen. One could get it
//! wrong by looking at the very newest alone: a life that is cut off between the step and its planning may have written
//! something in between, by the clock that was set back.
//!
//! Whatever else was to come at an instant of a clock that was ahead is taken nearer after a step that was seen, and after
//! one that was not: deliveries, questions, a pause. A clock that shows a time from long before there was Rouse says nothing
//! about the one before it: what waits goes on waiting for the instant that it was made for, until the clock is set right.

use rouse_core::UnixMs;
use rouse_core::delivery::LONGEST_REDELIVERY_MS;
use rouse_store::StoreError;

use crate::engine::Engine;

/// 1 January 2020. A computer whose clock has no battery shows less until the network tells it the time.
const LONG_BEFORE: UnixMs = UnixMs(1_577_836_800_000);

impl Engine {
    /// Takes next slots nearer at the start.
    pub(crate) async fn plan_nearer_if_set_back(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.store.latest_event_at().await?.is_some_and(|latest| latest > now) {
            // The heartbeat follows with the other plans of this start.
            self.clock_was_set = true;
            let zones = self.zones.clone();
            self.plan_anew(&zones, false).await?;
        }
        Ok(())
    }

    /// Takes what is not a slot nearer, before it is looked at what is due.
    pub(crate) async fn take_nearer_if_set(&mut self) -> Result<(), StoreError> {
        if !self.clock_was_set {
            return Ok(());
        }
        let now = self.clock.now();
        if now < LONG_BEFORE {
            tracing::warn!(now = now.0, "the clock of this computer shows a time from long ago");
            return Ok(());
        }
        if self.store.take_nearer(LONGEST_REDELIVERY_MS, now).await? {
            tracing::info!(now = now.0, "what a clock that was ahead has left is taken nearer");
            self.parked.look_again();
            self.outbox.notify_one();
        }
        self.take_pause_nearer(now).await
    }
}
