//! Holding deliveries during quiet hours.
//!
//! The lifetime of a run's pending approvals begins when their message is no longer held: at the end of the quiet hours, or
//! at an earlier release. Pitfall: holding or releasing the rows of an approval one by one; each would move the lifetime.

use rouse_core::{DeliveryId, UnixMs};

use crate::sql::{Durability, Store, StoreError};
use crate::tables::approvals::delay_expiry;
use crate::tables::outbox::{held_until, hold, release, release_rows_of_message};

impl Store {
    /// Holds the pending and held rows of a message until the quiet hours end, unless digested. Events `delivery`, `approval`.
    pub async fn hold_delivery(
        &self,
        id: &DeliveryId,
        until: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("hold a delivery", Durability::Full, now).await?;
        let runs = hold(&mut tx, id, until).await?;
        let Some(run) = runs.first() else { return tx.roll_back().await };
        if let Some(run) = run {
            delay_expiry(&mut tx, run, until).await?;
        }
        tx.commit().await
    }

    /// Makes a held delivery pending now, unless digested. Event `delivery`.
    pub async fn release_delivery(&self, id: &DeliveryId, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("release a delivery", Durability::Full, now).await?;
        match release(&mut tx, id).await?.as_slice() {
            [] => tx.roll_back().await,
            _ => tx.commit().await,
        }
    }

    /// Makes the held rows of an approval's message pending now, unless digested. Events `delivery`, `approval`.
    pub async fn release_approval(&self, id: &DeliveryId, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("release a delivery", Durability::Full, now).await?;
        let until = held_until(&mut tx, id).await?;
        let runs = release_rows_of_message(&mut tx, id).await?;
        let Some(run) = runs.first() else { return tx.roll_back().await };
        if let Some(run) = run.as_ref().filter(|_| until.is_some_and(|until| until > now)) {
            delay_expiry(&mut tx, run, now).await?;
        }
        tx.commit().await
    }
}
