//! Words of model turns while they are being said.
//!
//! Kept in memory only: when the turn is over its words are in the journal. Clients get the whole text so far, at most
//! ten times a second a run, so a page that opens in the middle misses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::{Clock, RunId};

use crate::events::EventBus;

const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// A runaway answer is shown up to here; the journal has what the limits let through.
const MOST_BYTES: usize = 200_000;

/// The words so far, by run. Cheap to clone.
#[derive(Clone)]
pub struct LiveText {
    runs: Arc<Mutex<HashMap<RunId, Words>>>,
    bus: EventBus,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Words {
    text: String,
    sent_at: Option<Duration>,
}

impl LiveText {
    /// Starts empty.
    #[must_use]
    pub fn new(bus: EventBus, clock: Arc<dyn Clock>) -> Self {
        Self { runs: Arc::default(), bus, clock }
    }

    /// The model of `run` said `delta`.
    pub fn push(&self, run: &RunId, delta: &str) {
        let now = self.clock.monotonic();
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let words = runs.entry(run.clone()).or_default();
        if words.text.len() + delta.len() <= MOST_BYTES {
            words.text.push_str(delta);
        }
        if words.sent_at.is_none_or(|sent_at| now.saturating_sub(sent_at) >= LEAST_PAUSE) {
            words.sent_at = Some(now);
            self.bus.publish_text(run.as_str(), &words.text);
        }
    }

    /// The turn of `run` is over.
    pub fn clear(&self, run: &RunId) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }

    /// The words of `run` so far.
    #[must_use]
    pub fn of(&self, run: &RunId) -> Option<String> {
        self.runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(run)
            .map(|words| words.text.clone())
    }
}
