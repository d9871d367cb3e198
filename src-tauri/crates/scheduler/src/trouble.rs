//! When the store does not take what must be written.
//!
//! Owns the pause between two attempts and the sentence that says so to the person. A full disk must neither stop the
//! scheduler for good nor turn it into a loop that tries a thousand times a second: what could not be written stays
//! where it is, and everything is tried again after a while.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rouse_store::StoreError;

/// Between two attempts; short enough that freed space is noticed within five seconds.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Whether there is trouble, and until when to keep still.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    sentence: Sentence,
    keep_still_until: Option<Duration>,
}

/// The sentence for the person, shared with the handles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sentence(Arc<Mutex<Option<String>>>);

impl Trouble {
    /// For the handles.
    pub(crate) fn sentence(&self) -> Sentence {
        self.sentence.clone()
    }

    /// Something could not be read or written at the monotonic instant `now`.
    pub(crate) fn begins(&mut self, error: &StoreError, now: Duration) {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::error!(%error, cause, "the scheduler cannot go on and tries again soon");
        let sentence = match error {
            StoreError::Gone { .. } => error.to_string(),
            _ if error.is_damaged() => rouse_store::DAMAGED.to_owned(),
            _ if error.is_full() => {
                "Runs cannot be saved because the disk is full or cannot be written. Free some space."
                    .to_owned()
            }
            _ => "Runs cannot be saved. The log has the details.".to_owned(),
        };
        self.sentence.set(Some(sentence));
        self.keep_still_until = Some(now + TRY_AGAIN_AFTER);
    }

    /// Slots stay due although they were claimed.
    pub(crate) fn stalls(&mut self, now: Duration) {
        tracing::error!("slots stay due after they were claimed; the scheduler tries again soon");
        self.sentence.set(Some("Jobs do not fire. The log has the details.".to_owned()));
        self.keep_still_until = Some(now + TRY_AGAIN_AFTER);
    }

    /// Everything could be written.
    pub(crate) fn ends(&mut self, now: Duration) {
        if self.keeps_still_until(now).is_none() && self.keep_still_until.take().is_some() {
            tracing::info!("the scheduler goes on");
            self.sentence.set(None);
        }
    }

    /// Until when to keep still, if that is still to come at the monotonic instant `now`.
    pub(crate) fn keeps_still_until(&self, now: Duration) -> Option<Duration> {
        self.keep_still_until.filter(|until| *until > now)
    }
}

impl Sentence {
    /// The sentence, while there is trouble.
    pub(crate) fn get(&self) -> Option<String> {
        self.lock().clone()
    }

    fn set(&self, sentence: Option<String>) {
        *self.lock() = sentence;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().expect("BUG: a sentence was being copied when a thread panicked")
    }
}
