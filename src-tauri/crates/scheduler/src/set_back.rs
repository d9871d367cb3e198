//! When the wall clock was set back while Rouse was off.
//!
//! Nobody tells of it then, and a job that was planned by a clock far ahead would sleep for the length of the step. The
//! newest event bears the time of its writing: when it lies in the future, the clock was set back since, and next slots
//! are looked at as after a step that was seen.

use rouse_store::StoreError;

use crate::engine::Engine;

impl Engine {
    pub(crate) async fn notice_a_clock_set_back(&mut self) -> Result<(), StoreError> {
        let newest = self.store.last_seq().await?;
        let events = self.store.events_after((newest - 1).max(0), 1).await?;
        let now = self.clock.now();
        self.clock_was_set |= events.first().is_some_and(|event| event.at > now);
        Ok(())
    }
}
