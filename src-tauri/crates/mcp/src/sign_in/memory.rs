//! The state of one server's sign-in in memory, beside its stored record.
//!
//! Owns the gate of the tokens and the notes for the next sign-in. Lost at the end of Rouse. Pitfall: a lock of the notes
//! across an await; the notes are copied out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::SignInError;

/// The state of one server's sign-in in memory.
#[derive(Default)]
pub(super) struct SignInMemory {
    /// Held while tokens are refreshed, stored or removed; the last failed refresh.
    pub(super) gate: tokio::sync::Mutex<Option<FailedRefresh>>,
    notes: Mutex<SignInNotes>,
}

/// The notes for the next sign-in.
#[derive(Default)]
pub(super) struct SignInNotes {
    /// The server's last rejection.
    pub(super) challenge: Option<String>,
    /// Why the person must sign in.
    pub(super) need: Option<String>,
    /// Why the last sign-in failed.
    pub(super) failure: Option<String>,
    /// Whether the code of a callback is being exchanged.
    pub(super) is_finishing: bool,
}

/// A refresh that failed.
pub(super) struct FailedRefresh {
    /// The monotonic time.
    pub(super) at: Duration,
    pub(super) error: SignInError,
}

impl SignInMemory {
    pub(super) fn notes(&self) -> MutexGuard<'_, SignInNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
