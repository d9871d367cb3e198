//! Words of model turns while they are being said.
//!
//! Kept in memory only, and only until they stand in the transcript: a run can have several turns, and what one of them
//! has said is a message before the next begins. Clients get the whole text of the turn so far, at most ten times a
//! second and once more when the turn is over, so a page that opens in the middle misses nothing. One could get it wrong
//! by waiting for another piece to send what was held back: the last piece of a turn has none behind it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::{Clock, RunId};

use crate::events::EventBus;

const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// A runaway answer is shown up to here; the journal has what the limits let through.
const MOST_BYTES: usize = 200_000;

/// The words so far, by run. Cheap to clone.
#[derive(Clone)]
pub struct LiveText {
    said: Arc<Mutex<Said>>,
    bus: EventBus,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Said {
    /// How many turns there were, of all runs: no two have the same number.
    turns: u64,
    runs: HashMap<RunId, Words>,
}

/// Of one turn.
#[derive(Default)]
struct Words {
    turn: u64,
    text: String,
    /// Whether there was more than is shown.
    is_full: bool,
    is_over: bool,
    /// How many bytes of the text clients have.
    sent: usize,
    sent_at: Option<Duration>,
}

impl LiveText {
    /// Starts empty.
    #[must_use]
    pub fn new(bus: EventBus, clock: Arc<dyn Clock>) -> Self {
        Self { said: Arc::default(), bus, clock }
    }

    /// The model of `run` said `delta`.
    pub fn push(&self, run: &RunId, delta: &str) {
        let now = self.clock.monotonic();
        let mut said = self.lock();
        let words = said.turn_of(run);
        words.add(delta);
        if words.sent_at.is_none_or(|sent_at| now.saturating_sub(sent_at) >= LEAST_PAUSE) {
            words.sent_at = Some(now);
            self.send(run, words);
        }
    }

    /// The turn of `run` is over: what was held back is sent, and what comes next is of another turn.
    pub fn finish(&self, run: &RunId) {
        let mut said = self.lock();
        let Some(words) = said.runs.get_mut(run) else { return };
        words.is_over = true;
        if words.sent < words.text.len() {
            self.send(run, words);
        }
    }

    /// What `run` said goes into the transcript, or the run is over: it is not being said any more. Nobody is told: a page
    /// would have the words in neither place until it has read the transcript.
    pub fn clear(&self, run: &RunId) {
        self.lock().runs.remove(run);
    }

    /// The turn of `run` broke off and nothing of it is kept; whoever has its words is told.
    pub fn discard(&self, run: &RunId) {
        let mut said = self.lock();
        if let Some(words) = said.runs.remove(run) {
            self.bus.publish_text(run.as_str(), words.turn, "");
        }
    }

    /// The words of `run` so far.
    #[must_use]
    pub fn of(&self, run: &RunId) -> Option<String> {
        self.lock().runs.get(run).map(|words| words.text.clone())
    }

    fn send(&self, run: &RunId, words: &mut Words) {
        words.sent = words.text.len();
        self.bus.publish_text(run.as_str(), words.turn, &words.text);
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// The words of the turn that `run` is in; of a new one when the last is over.
    fn turn_of(&mut self, run: &RunId) -> &mut Words {
        let words = self.runs.entry(run.clone()).or_default();
        if words.turn == 0 || words.is_over {
            self.turns += 1;
            *words = Words { turn: self.turns, ..Words::default() };
        }
        words
    }
}

impl Words {
    /// What is shown is always the beginning of what was said.
    fn add(&mut self, delta: &str) {
        self.is_full |= self.text.len() + delta.len() > MOST_BYTES;
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
    use crate::wire::EventKind;

    /// One run, and who looks on.
    struct House {
        run: RunId,
        live: LiveText,
        clock: ManualClock,
        bus: EventBus,
        events: Subscription,
        _folder: tempfile::TempDir,
    }

    impl House {
        async fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("rouse.db");
            let store = Store::open(&path, Arc::new(|_| {})).await.expect("a store");
            let (bus, clock) = (EventBus::default(), ManualClock::new(UnixMs(0)));
            let events = bus.subscribe(store, 0);
            let live = LiveText::new(bus.clone(), Arc::new(clock.clone()));
            Self { run: RunId::new("r1"), live, clock, bus, events, _folder: folder }
        }

        fn says(&self, pieces: &[&str]) {
            for piece in pieces {
                self.live.push(&self.run, piece);
            }
        }

        /// What was sent since the last time: the number of the turn and its words.
        async fn sent(&mut self) -> Vec<String> {
            self.bus.publish_seen("the end");
            let mut sent = Vec::new();
            loop {
                let event = self.events.next().await.expect("an event");
                match event.kind {
                    EventKind::Seen => return sent,
                    EventKind::RunText => {
                        let text = event.data["text"].as_str().expect("words");
                        sent.push(format!("{}: {text}", event.data["turn"]));
                    }
                    _ => {}
                }
            }
        }
    }

    #[tokio::test]
    async fn each_turn_is_sent_to_its_end_and_the_next_begins_anew() {
        let mut house = House::new().await;
        house.says(&["I ", "will ", "look."]);
        assert_eq!(house.sent().await, ["1: I "]);
        house.live.finish(&house.run);
        assert_eq!(house.sent().await, ["1: I will look."]);
        assert_eq!(house.live.of(&house.run).as_deref(), Some("I will look."), "until it is kept");
        house.live.clear(&house.run);
        assert_eq!(house.live.of(&house.run), None);
        house.says(&["It ", "is late."]);
        assert_eq!(house.live.of(&house.run).as_deref(), Some("It is late."));
        house.live.finish(&house.run);
        house.live.finish(&house.run);
        assert_eq!(house.sent().await, ["2: It ", "2: It is late."]);
        house.says(&["Good night."]);
        assert_eq!(house.sent().await, ["3: Good night."], "also when nobody has kept the last");
    }

    #[tokio::test]
    async fn a_turn_is_sent_ten_times_a_second_at_most() {
        let mut house = House::new().await;
        for _ in 0..10 {
            house.says(&["la "]);
            house.clock.advance(50);
        }
        assert_eq!(house.sent().await.len(), 5);
        house.says(&["la"]);
        house.live.finish(&house.run);
        assert!(house.sent().await.last().is_some_and(|last| last.ends_with("la la")));
    }

    #[tokio::test]
    async fn nothing_stays_of_an_answer_that_broke_off() {
        let mut house = House::new().await;
        house.says(&["Half a ", "sen"]);
        house.live.discard(&house.run);
        house.live.discard(&house.run);
        assert_eq!(house.sent().await, ["1: Half a ", "1: "]);
        assert_eq!(house.live.of(&house.run), None);
        house.says(&["A whole sentence."]);
        assert_eq!(house.sent().await, ["2: A whole sentence."]);
    }

    #[tokio::test]
    async fn a_runaway_answer_is_shown_from_its_beginning_without_a_gap() {
        let house = House::new().await;
        let begun = "a".repeat(MOST_BYTES - 1);
        house.says(&[&begun, "bb", "c"]);
        assert!(house.live.of(&house.run).is_some_and(|text| text == begun));
    }
}
