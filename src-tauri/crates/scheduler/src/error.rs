//! Errors of requests to the scheduler.

use rouse_core::job::JobError;
use rouse_store::StoreError;

/// A request failed and changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The job is invalid.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The run to retry has not ended.
    #[error("This run has not ended. Wait for its end, or cancel it.")]
    NotOver,
    /// The job of the run to retry was deleted.
    #[error("The job {name} was deleted, so the run cannot be repeated.")]
    JobIsGone {
        /// The job's name.
        name: String,
    },
    /// The run to retry is a turn of the main session.
    #[error("A turn of the main session cannot be repeated. Send a message or a wake instead.")]
    IsMainTurn,
    /// Another chat message was sent with the same key.
    #[error("Another message was sent with this key. Send this message with a new key.")]
    KeyIsTaken,
    /// A run would wait for a run that needs the same lane or permit.
    #[error(
        "{name} could never start: the run that waits for it holds the lane or the permit that it needs. Start it without \
         waiting, let the job run in parallel (overlap: parallel), or raise cron.maxConcurrentRuns."
    )]
    Deadlock {
        /// The name of the job that was to run.
        name: String,
    },
    /// The scheduler has stopped, or is stopping.
    #[error("Rouse is stopping.")]
    Stopped,
}
