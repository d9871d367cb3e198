//! Holding deliveries during quiet hours.
//!
//! The lifetime of a run's pending approvals begins when their delivery is no longer held: at the end of the quiet hours, or
//! at an earlier release.

use rouse_core::{DeliveryId, UnixMs};

use crate::sql::{Durability, Store, StoreError};
use crate::tables::approvals::delay_expiry;
use crate::tables::outbox::{held_until, hold, release};

impl Store {
    /// Holds a pending or held delivery until the quiet hours end, unless digested. Events `delivery`, `approval`.
    pub async fn hold_delivery(
        &self,
        id: &DeliveryId,
        until: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("hold a delivery", Durability::Full, now).await?;
        let before = held_until(&mut tx, id).await?;
        let Some(run) = hold(&mut tx, id, until).await? else { return tx.roll_back().await };
        if let Some(run) = &run {
            delay_expiry(&mut tx, run, before, until).await?;
        }
        tx.commit().await
    }

    /// Makes a held delivery pending now, unless digested. Events `delivery`, `approval`.
    pub async fn release_delivery(&self, id: &DeliveryId, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("release a delivery", Durability::Full, now).await?;
        let until = held_until(&mut tx, id).await?;
        let Some(run) = release(&mut tx, id).await? else { return tx.roll_back().await };
        if let (Some(run), Some(until)) = (&run, until.filter(|until| *until > now)) {
            delay_expiry(&mut tx, run, Some(until), now).await?;
        }
        tx.commit().await
    }
}
