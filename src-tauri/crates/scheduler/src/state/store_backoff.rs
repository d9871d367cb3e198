//! Backoff after a failed read or write of the store.
//!
//! Owns the pause before the next attempt and the problem text for the person. Unwritten state stays in memory, so a
//! full disk neither stops the scheduler nor causes a tight loop of retries.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rouse_store::StoreError;

/// Short enough that free space is noticed within five seconds.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The pause after a failure of the store.
#[derive(Debug, Default)]
pub(crate) struct StoreBackoff {
    problem: ProblemText,
    until: Option<Duration>,
}

/// The current problem as a sentence, shared with the handles.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProblemText(Arc<Mutex<Option<String>>>);

impl StoreBackoff {
    /// A problem text for a handle.
    pub(crate) fn problem(&self) -> ProblemText {
        self.problem.clone()
    }

    /// Starts a pause after an error at the monotonic instant `now`.
    pub(crate) fn begin(&mut self, error: &StoreError, now: Duration) {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::error!(%error, cause, "the scheduler cannot use its database and retries soon");
        let problem = match error {
            StoreError::Gone { .. } => error.to_string(),
            _ if error.is_damaged() => rouse_store::DAMAGED_WHILE_RUNNING.to_owned(),
            _ if error.is_full() => {
                "Runs cannot be saved because the disk is full or cannot be written. Free some space."
                    .to_owned()
            }
            _ => "Runs cannot be saved. The log has the details.".to_owned(),
        };
        self.pause(problem, now);
    }

    /// Starts a pause because slots stay due after their claim.
    pub(crate) fn begin_stalled(&mut self, now: Duration) {
        tracing::error!("slots stay due after their claim; the scheduler retries soon");
        self.pause("Jobs do not fire. The log has the details.".to_owned(), now);
    }

    fn pause(&mut self, problem: String, now: Duration) {
        self.problem.set(Some(problem));
        self.until = Some(now + RETRY_AFTER);
    }

    /// Notes that everything was written.
    pub(crate) fn end(&mut self, now: Duration) {
        if self.pauses_until(now).is_none() && self.until.take().is_some() {
            tracing::info!("the scheduler works again");
            self.problem.set(None);
        }
    }

    /// The end of the pause; none when there is none at the monotonic instant `now`.
    pub(crate) fn pauses_until(&self, now: Duration) -> Option<Duration> {
        self.until.filter(|until| *until > now)
    }
}

impl ProblemText {
    pub(crate) fn get(&self) -> Option<String> {
        self.lock().clone()
    }

    fn set(&self, problem: Option<String>) {
        *self.lock() = problem;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().expect("BUG: a thread panicked while it copied the problem text")
    }
}
