//! The numbered event stream.
//!
//! A subscriber gets the stored events after its number, then live ones, each once and in order. A subscriber too slow for the
//! live channel reads from the store again. After pruned events, the subscriber gets `Reset` and must reload everything.

use std::sync::Arc;

use rouse_core::event::Event;
use rouse_store::Store;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::convert::event_view;
use crate::wire::{CallProgressView, EventKindView, EventView};

/// Capacity of the live channel.
const LIVE_CAPACITY: usize = 1_024;
/// Stored events per read.
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
    /// Publishes committed events.
    pub fn publish(&self, events: &[Event]) {
        for event in events {
            self.send(event_view(event));
        }
    }

    /// Publishes live text of a model call.
    pub(crate) fn publish_text(&self, run_id: &str, turn: u64, text: &str) {
        let data = json!({ "runId": run_id, "turn": turn, "text": text });
        self.send(EventView { seq: 0, at_ms: 0, kind: EventKindView::RunText, data });
    }

    /// Publishes progress of a running call.
    pub(crate) fn publish_progress(&self, run_id: &str, progress: &CallProgressView) {
        let CallProgressView { step, tool, text } = progress;
        let data = json!({ "runId": run_id, "step": step, "tool": tool, "text": text });
        self.send(EventView { seq: 0, at_ms: 0, kind: EventKindView::RunProgress, data });
    }

    /// Publishes that the person viewed a run.
    pub(crate) fn publish_seen(&self, run_id: &str) {
        self.send(EventView {
            seq: 0,
            at_ms: 0,
            kind: EventKindView::Seen,
            data: json!({ "runId": run_id }),
        });
    }

    /// Publishes the number of attached desktop apps.
    pub(crate) fn publish_app_count(&self, count: usize) {
        self.send(EventView {
            seq: 0,
            at_ms: 0,
            kind: EventKindView::Config,
            data: json!({ "screens": count }),
        });
    }

    fn send(&self, event: EventView) {
        // silent-ok: an error means no subscribers.
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

/// A subscriber of the stream.
pub struct Subscription {
    live: broadcast::Receiver<Arc<EventView>>,
    store: Store,
    last: i64,
    /// Stored events to deliver, newest first.
    backlog: Vec<EventView>,
    caught_up: bool,
}

impl Subscription {
    /// The next event; none after the stop of the engine.
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

    /// Reads the next page of stored events; returns `Reset` if they were pruned.
    async fn read_backlog(&mut self) -> Option<EventView> {
        match self.store.events_after(self.last, PAGE).await {
            Ok(events) => {
                self.caught_up = events.len() < PAGE as usize;
                self.backlog = events.iter().rev().map(event_view).collect();
                None
            }
            Err(error) => {
                tracing::debug!(%error, after = self.last, "the event stream is reset");
                self.last = self.store.last_seq().await.unwrap_or(self.last);
                self.caught_up = true;
                Some(EventView {
                    seq: self.last,
                    at_ms: 0,
                    kind: EventKindView::Reset,
                    data: Value::Null,
                })
            }
        }
    }
}
