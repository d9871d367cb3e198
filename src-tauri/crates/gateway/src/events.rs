//! The numbered event stream.
//!
//! A subscriber first gets what the store has after its number, then what is committed from now on, each event once
//! and in order. One that is too slow for the live channel goes back to the store by itself. One that asks for events
//! that are pruned gets `Reset` and reads everything anew.

use std::sync::Arc;

use rouse_core::event::Event;
use rouse_store::Store;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::convert::event_view;
use crate::wire::{EventKind, EventView};

/// Live events kept for slow subscribers before they go back to the store.
const LIVE_CAPACITY: usize = 1_024;
/// Stored events read in one go.
const PAGE: u32 = 500;

/// The live side of the stream. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventBus {
    live: broadcast::Sender<Arc<EventView>>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self { live: broadcast::channel(LIVE_CAPACITY).0 }
    }
}

impl EventBus {
    /// Hands on events that were just committed.
    pub fn publish(&self, events: &[Event]) {
        for event in events {
            self.send(event_view(event));
        }
    }

    /// Hands on words of a model turn, which are not stored.
    pub(crate) fn publish_text(&self, run_id: &str, turn: u64, text: &str) {
        let data = json!({ "runId": run_id, "turn": turn, "text": text });
        self.send(EventView { seq: 0, at_ms: 0, kind: EventKind::RunText, data });
    }

    /// Hands on that a person looked at a run, which is not stored.
    pub(crate) fn publish_seen(&self, run_id: &str) {
        self.send(EventView {
            seq: 0,
            at_ms: 0,
            kind: EventKind::Seen,
            data: json!({ "runId": run_id }),
        });
    }

    /// Hands on how many screens are attached now, which is not stored: whether notifications can be shown hangs on it.
    pub(crate) fn publish_screens(&self, count: usize) {
        self.send(EventView {
            seq: 0,
            at_ms: 0,
            kind: EventKind::Config,
            data: json!({ "screens": count }),
        });
    }

    fn send(&self, event: EventView) {
        // silent-ok: without subscribers there is nobody to miss it.
        let _ = self.live.send(Arc::new(event));
    }

    pub(crate) fn subscribe(&self, store: Store, after: i64) -> Subscription {
        Subscription {
            live: self.live.subscribe(),
            store,
            last: after,
            backlog: Vec::new(),
            caught_up: false,
        }
    }
}

/// One subscriber's place in the stream.
pub struct Subscription {
    live: broadcast::Receiver<Arc<EventView>>,
    store: Store,
    last: i64,
    /// Stored events still to be handed out, newest first.
    backlog: Vec<EventView>,
    caught_up: bool,
}

impl Subscription {
    /// The next event; none when the engine has stopped.
    pub async fn next(&mut self) -> Option<EventView> {
        loop {
            if let Some(event) = self.backlog.pop() {
                self.last = event.seq;
                return Some(event);
            }
            if !self.caught_up {
                if let Some(reset) = self.read_backlog().await {
                    return Some(reset);
                }
                continue;
            }
            match self.live.recv().await {
                Ok(event) if event.seq == 0 => return Some((*event).clone()),
                Ok(event) if event.seq <= self.last => {}
                Ok(event) if event.seq == self.last + 1 => {
                    self.last = event.seq;
                    return Some((*event).clone());
                }
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => self.caught_up = false,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Reads the next page of stored events; answers a `Reset` when the asked-for ones are gone.
    async fn read_backlog(&mut self) -> Option<EventView> {
        match self.store.events_after(self.last, PAGE).await {
            Ok(events) => {
                self.caught_up = events.len() < PAGE as usize;
                self.backlog = events.iter().rev().map(event_view).collect();
                None
            }
            Err(error) => {
                tracing::debug!(%error, after = self.last, "the event stream starts over");
                self.last = self.store.last_seq().await.unwrap_or(self.last);
                self.caught_up = true;
                Some(EventView {
                    seq: self.last,
                    at_ms: 0,
                    kind: EventKind::Reset,
                    data: Value::Null,
                })
            }
        }
    }
}
