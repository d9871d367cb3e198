//! Errors of a start.

use rouse_gateway::{AuthError, ServerError};
use rouse_scheduler::SchedulerError;
use rouse_store::StoreError;

use crate::config::ConfigError;
use crate::home::HomeError;

/// The engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The data directory cannot be used or is locked.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(StoreError),
    /// The database is damaged.
    #[error("{}", rouse_store::DAMAGED_WHILE_STOPPED)]
    Damaged(#[source] StoreError),
    /// The database is missing or empty in a used data directory.
    #[error("{0}")]
    DatabaseMissing(String),
    /// The scheduler could not start.
    #[error(transparent)]
    Scheduler(SchedulerError),
    /// The tool registry is invalid.
    #[error(transparent)]
    Tools(#[from] rouse_agent::AdmissionError),
    /// The system has no timer.
    #[error("the system gives no timer")]
    Timer(#[source] std::io::Error),
    /// The token cannot be used.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// No port could be bound.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl From<StoreError> for HostError {
    fn from(error: StoreError) -> Self {
        if error.is_damaged() { Self::Damaged(error) } else { Self::Store(error) }
    }
}

impl From<SchedulerError> for HostError {
    fn from(error: SchedulerError) -> Self {
        match error {
            SchedulerError::Store(error) => error.into(),
            other => Self::Scheduler(other),
        }
    }
}
