//! The progress of a call, on its way from the server to the people who watch the run.
//!
//! Owns the rate and the size of the messages; the run redacts and shortens each. Never keeps a message: one that comes
//! too early is dropped, and the next one has newer numbers. Pitfall: a cut before the redaction; a text over the limit
//! is dropped as a whole.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::call_progress::ProgressReporter;

use crate::connection::ProgressSink;

/// The least time between two messages of a call: four per second.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// The most bytes of a message.
const MAX_BYTES: usize = 2 << 10;

/// Receives the progress of a call and passes it to `reporter`.
pub(crate) fn progress_sink(reporter: ProgressReporter, clock: Arc<dyn Clock>) -> ProgressSink {
    let reported_at: Mutex<Option<Duration>> = Mutex::new(None);
    Box::new(move |text| {
        if text.trim().is_empty() || text.len() > MAX_BYTES {
            return;
        }
        let now = clock.monotonic();
        let mut reported_at = reported_at.lock().unwrap_or_else(PoisonError::into_inner);
        if reported_at.is_none_or(|at| now.saturating_sub(at) >= MIN_INTERVAL) {
            *reported_at = Some(now);
            reporter.report(text);
        }
    })
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_testkit::ManualClock;

    use super::*;

    /// A sink, its clock, and the texts that it reported.
    fn sink() -> (ProgressSink, ManualClock, Arc<Mutex<Vec<String>>>) {
        let clock = ManualClock::new(UnixMs(0));
        let texts: Arc<Mutex<Vec<String>>> = Arc::default();
        let reported = Arc::clone(&texts);
        let reporter = ProgressReporter::new(move |progress| {
            reported.lock().expect("a lock").push(progress.text.to_owned());
        });
        (progress_sink(reporter, Arc::new(clock.clone())), clock, texts)
    }

    #[test]
    fn progress_is_reported_four_times_a_second() {
        let (sink, clock, texts) = sink();
        for number in 0..10 {
            sink(&format!("{number} of 10"));
            clock.advance(100);
        }
        let expected = ["0 of 10", "3 of 10", "6 of 10", "9 of 10"];
        assert_eq!(*texts.lock().expect("a lock"), expected);
    }

    #[test]
    fn empty_and_long_messages_are_dropped() {
        let (sink, _, texts) = sink();
        for text in [" \n", "x".repeat(MAX_BYTES + 1).as_str(), "half"] {
            sink(text);
        }
        assert_eq!(*texts.lock().expect("a lock"), ["half"]);
    }
}
