//! Claims that are written before their instant and committed at it.
//!
//! Owns a transaction that waits for an instant: everything that a claim writes is in it, and only its commit is left, so a
//! slot is late by one flush of the disk and not by what its rows and indexes take. Until then nothing of it is a fact:
//! nobody reads it, no event of it is told, and the end of the process, a power cut or a turn that is given up leave the
//! slots as they were. It refuses claims that leave slots out or tell somebody: those have time. One could get it wrong by
//! keeping the turn for oneself: whoever wants to write meanwhile must be able to have it.

use std::sync::Arc;

use rouse_core::UnixMs;

use crate::claims::claim_whole;
use crate::turns::Turns;
use crate::write::{Durability, Write};
use crate::{Claim, Store, StoreError};

/// Claims of one instant that are as good as written. Dropped, they are undone with the next write.
pub struct Prepared {
    write: Write,
    turns: Arc<Turns>,
}

impl Store {
    /// Takes a turn for claims that are to count at the instant `at`; none while somebody writes.
    ///
    /// # Errors
    /// `Write`, `Gone` or `Closed`.
    pub async fn prepare(&self, at: UnixMs) -> Result<Option<Prepared>, StoreError> {
        let Some(turn) = self.turns.take_free() else { return Ok(None) };
        let write = self.write_with(turn, "claim the next slots", Durability::Full, at).await?;
        Ok(Some(Prepared { write, turns: Arc::clone(&self.turns) }))
    }
}

impl Prepared {
    /// Adds claims of runs that wait or begin. False when one of the jobs has another slot by now, or a slot its run: then
    /// all of it must be undone.
    ///
    /// # Errors
    /// `Write`: all of it must be undone.
    pub async fn add(&mut self, claims: &[Claim]) -> Result<bool, StoreError> {
        let is_whole = claim_whole(&mut self.write, claims).await?;
        self.write.write_events().await?;
        Ok(is_whole)
    }

    /// Whether somebody else wants to write.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.turns.are_wanted()
    }

    /// Waits until somebody else wants to write.
    pub async fn wanted(&self) {
        self.turns.wanted().await;
    }

    /// Makes the claims facts, on the disk when this returns, and tells of them.
    ///
    /// # Errors
    /// `Write`: nothing was claimed.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.write.commit().await
    }

    /// Leaves the slots as they were.
    ///
    /// # Errors
    /// `Write`: the next turn undoes it.
    pub async fn undo(self) -> Result<(), StoreError> {
        self.write.undo().await
    }
}
