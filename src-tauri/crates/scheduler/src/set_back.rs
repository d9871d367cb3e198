//! When the wall clock was set back while Rouse was off.
//!
//! Nobody tells of it then, and a job that was planned by a clock far ahead would sleep for the length of the step. The
//! newest event bears the time of its writing: when it lies in the future, the clock was set back since, and next slots
//! are looked at as after a step that was seen. One could get it wrong by writing anything before: that would be the
//! newest event then, and a start that is cut off in between would leave nobody to notice.

use rouse_store::StoreError;

use crate::engine::Engine;

impl Engine {
    /// Takes next slots nearer before anything else is written.
    pub(crate) async fn plan_nearer_if_set_back(&mut self) -> Result<(), StoreError> {
        let newest = self.store.last_seq().await?;
        let events = self.store.events_after((newest - 1).max(0), 1).await?;
        let now = self.clock.now();
        if events.first().is_some_and(|event| event.at > now) {
            // The heartbeat follows with the other plans of this start.
            self.clock_was_set = true;
            let zones = self.zones.clone();
            self.plan_anew(&zones, false).await?;
        }
        Ok(())
    }
}
