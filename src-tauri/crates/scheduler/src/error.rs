//! What can go wrong with a request to the scheduler.

use rouse_core::job::JobError;
use rouse_store::StoreError;

/// A request failed; nothing of it was done.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The job cannot be saved like this.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A run that is not over cannot be run again.
    #[error("This run is not over yet.")]
    NotOver,
    /// The job of a run that was to run again is gone.
    #[error("The job {name} was removed, so it cannot run again.")]
    JobIsGone {
        /// Its name.
        name: String,
    },
    /// A turn of the main session was to run again.
    #[error("A turn of the main session cannot run again. Wake it or write to it instead.")]
    IsHeartbeat,
    /// Another message was sent under the same key.
    #[error("Another message was sent with this key before. Send this one with a key of its own.")]
    KeyIsTaken,
    /// The scheduler has stopped, or is about to.
    #[error("Rouse is stopping.")]
    Stopped,
}
