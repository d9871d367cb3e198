//! The events that a transaction inserts into the table `events`.
//!
//! Owns their numbers, which have no gaps and never repeat, and pruning, a few rows at a time, so that no write pays for a
//! thousand earlier ones.

use rouse_core::UnixMs;
use rouse_core::event::{Event, EventKind};
use serde_json::Value;

use super::batch::Batch;
use super::multi_row::MultiRowSql;

/// The newest events that are never pruned.
pub(crate) const MAX_EVENTS: i64 = 10_000;
/// Events between two prunings.
pub(crate) const PRUNE_INTERVAL: usize = 256;

static INSERT: MultiRowSql = MultiRowSql::new("INSERT INTO events (at, kind, data)", 3, "");
/// Deletes up to a thousand rows.
const PRUNE: &str = "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - $1
    AND seq < (SELECT min(seq) FROM events) + 1000";

/// Events of one transaction before they have numbers.
pub(super) struct PendingEvents {
    events: Vec<(EventKind, Value)>,
    now: UnixMs,
}

impl PendingEvents {
    pub(super) const fn of(events: Vec<(EventKind, Value)>, now: UnixMs) -> Self {
        Self { events, now }
    }

    /// Adds the inserts and, after `PRUNE_INTERVAL` events, a pruning. Returns the index of the statement whose row id is the
    /// number of the last event.
    pub(super) fn insert(&self, batch: &mut Batch, since_pruning: &mut usize) -> Option<usize> {
        if self.events.is_empty() {
            return None;
        }
        batch.add_rows(&INSERT, &self.events, |query, (kind, data)| {
            query.bind(self.now.0).bind(kind.name()).bind(data.to_string())
        });
        let last = batch.statement_count() - 1;
        *since_pruning += self.events.len();
        if *since_pruning >= PRUNE_INTERVAL {
            batch.add(PRUNE, |values| values.bind(MAX_EVENTS));
            *since_pruning = 0;
        }
        Some(last)
    }

    /// The events with their numbers, up to `last`.
    pub(super) fn numbered(self, last: i64) -> Vec<Event> {
        let count = i64::try_from(self.events.len()).expect("BUG: more events than fit");
        let at = self.now;
        let events = self.events.into_iter().zip(last + 1 - count..);
        events.map(|((kind, data), seq)| Event { seq, at, kind, data }).collect()
    }
}
