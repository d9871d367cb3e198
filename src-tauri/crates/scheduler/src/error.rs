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
    /// A run asked for one that could only begin after itself, and would wait for it.
    #[error(
        "{name} cannot begin before the run that asks for it has ended, so that one would wait for itself. Start it without \
         waiting, or let the job run beside itself (overlap: parallel)."
    )]
    WaitsForItself {
        /// The name of the job that was to run.
        name: String,
    },
    /// The scheduler has stopped, or is about to.
    #[error("Rouse is stopping.")]
    Stopped,
}
