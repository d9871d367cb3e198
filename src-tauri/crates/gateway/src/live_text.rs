//! Live text of active model calls.
//!
//! In memory only, until the text is in the transcript: the text of one call of a run becomes a message before the next call
//! begins. Clients get the whole text so far, at most ten times per second and once at the end, so a page that opens meanwhile
//! misses nothing.
//! Pitfall: sending withheld text with the next piece; the last piece has no successor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::{Clock, RunId};

use crate::events::EventBus;

const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum live text of a call; the journal keeps as much as the limits of the run allow.
const MAX_BYTES: usize = 200_000;

/// The live text of all runs. Cheap to clone.
#[derive(Clone)]
pub struct LiveText {
    calls: Arc<Mutex<LiveCalls>>,
    bus: EventBus,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct LiveCalls {
    /// Number of calls of all runs, so that each call has a number of its own.
    count: u64,
    by_run: HashMap<RunId, LiveCall>,
}

/// The text of one model call.
#[derive(Default)]
struct LiveCall {
    number: u64,
    text: String,
    /// Whether the text reached the maximum.
    is_full: bool,
    is_finished: bool,
    /// Published bytes of the text.
    published_bytes: usize,
    published_at: Option<Duration>,
}

impl LiveText {
    /// Starts empty.
    #[must_use]
    pub fn new(bus: EventBus, clock: Arc<dyn Clock>) -> Self {
        Self { calls: Arc::default(), bus, clock }
    }

    /// Appends `delta` to the text of the active call of `run`.
    pub fn push(&self, run: &RunId, delta: &str) {
        let now = self.clock.monotonic();
        let mut calls = self.lock();
        let call = calls.active_call(run);
        call.append(delta);
        if call.published_at.is_none_or(|at| now.saturating_sub(at) >= MIN_INTERVAL) {
            call.published_at = Some(now);
            self.publish(run, call);
        }
    }

    /// Finishes the active call of `run` and publishes withheld text.
    pub fn finish(&self, run: &RunId) {
        let mut calls = self.lock();
        let Some(call) = calls.by_run.get_mut(run) else { return };
        call.is_finished = true;
        if call.published_bytes < call.text.len() {
            self.publish(run, call);
        }
    }

    /// Removes the text of `run`, which is in the transcript now, or the run ended. Publishes nothing: a page would show the
    /// text nowhere until it has read the transcript.
    pub fn clear(&self, run: &RunId) {
        self.lock().by_run.remove(run);
    }

    /// Discards the text of an interrupted call of `run` and publishes an empty one.
    pub fn discard(&self, run: &RunId) {
        let mut calls = self.lock();
        if let Some(call) = calls.by_run.remove(run) {
            self.bus.publish_text(run.as_str(), call.number, "");
        }
    }

    /// The text of `run` so far.
    #[must_use]
    pub fn text(&self, run: &RunId) -> Option<String> {
        self.lock().by_run.get(run).map(|call| call.text.clone())
    }

    fn publish(&self, run: &RunId, call: &mut LiveCall) {
        call.published_bytes = call.text.len();
        self.bus.publish_text(run.as_str(), call.number, &call.text);
    }

    fn lock(&self) -> MutexGuard<'_, LiveCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveCalls {
    /// The active call of `run`; a new one if the last is finished.
    fn active_call(&mut self, run: &RunId) -> &mut LiveCall {
        let call = self.by_run.entry(run.clone()).or_default();
        if call.number == 0 || call.is_finished {
            self.count += 1;
            *call = LiveCall { number: self.count, ..LiveCall::default() };
        }
        call
    }
}

impl LiveCall {
    /// Appends up to the maximum, without gaps: after a rejected piece, all later ones are rejected.
    fn append(&mut self, delta: &str) {
        self.is_full |= self.text.len() + delta.len() > MAX_BYTES;
        if !self.is_full {
            self.text.push_str(delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_store::Store;
    use rouse_testkit::ManualClock;

    use super::*;
    use crate::events::Subscription;
    use crate::wire::EventKindView;

    /// A run with a subscriber of its events.
    struct LiveTextFixture {
        run: RunId,
        live_text: LiveText,
        clock: ManualClock,
        bus: EventBus,
        events: Subscription,
        _folder: tempfile::TempDir,
    }

    impl LiveTextFixture {
        async fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("rouse.db");
            let store = Store::open(&path, Arc::new(|_| {})).await.expect("a store");
            let (bus, clock) = (EventBus::default(), ManualClock::new(UnixMs(0)));
            let events = bus.subscribe(store, 0);
            let live_text = LiveText::new(bus.clone(), Arc::new(clock.clone()));
            Self { run: RunId::new("r1"), live_text, clock, bus, events, _folder: folder }
        }

        fn push(&self, pieces: &[&str]) {
            for piece in pieces {
                self.live_text.push(&self.run, piece);
            }
        }

        fn text(&self) -> Option<String> {
            self.live_text.text(&self.run)
        }

        /// The events since the last call of this function: number and text of each.
        async fn published(&mut self) -> Vec<String> {
            self.bus.publish_seen("the end");
            let mut published = Vec::new();
            loop {
                let event = self.events.next().await.expect("an event");
                match event.kind {
                    EventKindView::Seen => return published,
                    EventKindView::RunText => {
                        let text = event.data["text"].as_str().expect("a text");
                        published.push(format!("{}: {text}", event.data["turn"]));
                    }
                    _ => {}
                }
            }
        }
    }

    #[tokio::test]
    async fn each_call_is_published_to_its_end() {
        let mut fixture = LiveTextFixture::new().await;
        fixture.push(&["I ", "will ", "look."]);
        assert_eq!(fixture.published().await, ["1: I "]);
        fixture.live_text.finish(&fixture.run);
        assert_eq!(fixture.published().await, ["1: I will look."]);
        assert_eq!(fixture.text().as_deref(), Some("I will look."), "not in the transcript yet");
        fixture.live_text.clear(&fixture.run);
        assert_eq!(fixture.text(), None);
        fixture.push(&["It ", "is late."]);
        assert_eq!(fixture.text().as_deref(), Some("It is late."));
        fixture.live_text.finish(&fixture.run);
        fixture.live_text.finish(&fixture.run);
        assert_eq!(fixture.published().await, ["2: It ", "2: It is late."]);
        fixture.push(&["Good night."]);
        assert_eq!(fixture.published().await, ["3: Good night."], "without a clear before");
    }

    #[tokio::test]
    async fn text_is_published_at_most_ten_times_per_second() {
        let mut fixture = LiveTextFixture::new().await;
        for _ in 0..10 {
            fixture.push(&["la "]);
            fixture.clock.advance(50);
        }
        assert_eq!(fixture.published().await.len(), 5);
        fixture.push(&["la"]);
        fixture.live_text.finish(&fixture.run);
        assert!(fixture.published().await.last().is_some_and(|last| last.ends_with("la la")));
    }

    #[tokio::test]
    async fn discarded_text_is_replaced_by_an_empty_one() {
        let mut fixture = LiveTextFixture::new().await;
        fixture.push(&["Half a ", "sen"]);
        fixture.live_text.discard(&fixture.run);
        fixture.live_text.discard(&fixture.run);
        assert_eq!(fixture.published().await, ["1: Half a ", "1: "]);
        assert_eq!(fixture.text(), None);
        fixture.push(&["A whole sentence."]);
        assert_eq!(fixture.published().await, ["2: A whole sentence."]);
    }

    #[tokio::test]
    async fn too_long_text_is_cut_without_a_gap() {
        let fixture = LiveTextFixture::new().await;
        let first = "a".repeat(MAX_BYTES - 1);
        fixture.push(&[&first, "bb", "c"]);
        assert!(fixture.text().is_some_and(|text| text == first));
    }
}
