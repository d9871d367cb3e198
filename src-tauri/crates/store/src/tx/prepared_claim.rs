//! Claims that are written before the slot and committed at the slot.
//!
//! Owns a transaction that waits for an instant. Only the commit is left, so a slot is late by one flush of the disk, not by
//! the writes of rows and indexes. Until then nothing is visible: no reader sees the claims, no event is reported, and a
//! crash, a power cut or a rollback leaves the slots unchanged. Never takes claims with skipped slots or notices, which are
//! not urgent. Pitfall: keeping the writer while another writer waits.

use std::sync::Arc;

use rouse_core::UnixMs;

use super::claim::{Claim, claim_exactly};
use crate::sql::{Durability, Store, StoreError, Transaction, WriterQueue};

/// Claims of one instant, written but not committed. After a drop the next transaction rolls back.
pub struct PreparedClaim {
    tx: Transaction,
    writers: Arc<WriterQueue>,
}

impl Store {
    /// Locks the writer for claims of the instant `at`; none if already locked.
    ///
    /// # Errors
    /// `Gone`, `Closed`.
    pub async fn prepare_claim(&self, at: UnixMs) -> Result<Option<PreparedClaim>, StoreError> {
        let Some(writer) = self.writers.try_acquire() else { return Ok(None) };
        let tx = self.begin_with(writer, "claim the next slots", Durability::Full, at).await?;
        Ok(Some(PreparedClaim { tx, writers: Arc::clone(&self.writers) }))
    }
}

impl PreparedClaim {
    /// Adds claims of runs that wait or begin. False if a job has another slot by now, or a slot has a run. Then, and on an
    /// error, everything must be rolled back.
    pub async fn add(&mut self, claims: &[Claim]) -> Result<bool, StoreError> {
        let is_valid = claim_exactly(&mut self.tx, claims).await?;
        self.tx.insert_events().await?;
        Ok(is_valid)
    }

    /// Whether another writer waits.
    #[must_use]
    pub fn has_waiting_writer(&self) -> bool {
        self.writers.has_waiting_writer()
    }

    /// Returns once another writer waits.
    pub async fn wait_for_writer(&self) {
        self.writers.wait_for_writer().await;
    }

    /// Commits the claims and reports their events.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.tx.commit().await
    }

    /// Leaves the slots unchanged. After an error the next transaction rolls back.
    pub async fn roll_back(self) -> Result<(), StoreError> {
        self.tx.roll_back().await
    }
}
