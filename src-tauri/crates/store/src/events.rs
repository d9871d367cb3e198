//! The table `events`: what changed, numbered, for every client.
//!
//! Owns the numbers: they begin at 1, have no gaps and never repeat. Only the newest events are
//! kept; a client that asks for older ones is told that there is a gap, never handed a silent half.
//! Pruning rides along with writes in small steps, so that no write pays for a thousand before it.

use rouse_core::UnixMs;
use rouse_core::event::{Event, EventKind};
use serde_json::Value;

use crate::many::Rows;
use crate::row::Columns;
use crate::walk::Walk;
use crate::{Store, StoreError};

/// How many events are kept at least.
pub(crate) const KEPT: i64 = 10_000;

pub(crate) const AFTER: &str =
    "SELECT seq, at, kind, data FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
const ENDS: &str = "SELECT (SELECT min(seq) FROM events), (SELECT max(seq) FROM events)";
/// Of the newest thousand: a clock that was set back leaves later times behind earlier ones.
const LATEST: &str = "SELECT max(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 1000)";
static INSERT: Rows = Rows::new("INSERT INTO events (at, kind, data)", 3, "");
/// A part of them where there are many.
const PRUNE: &str = "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?1
    AND seq < (SELECT min(seq) FROM events) + 1000";
/// So many of them are written between two prunings; the first ones of a life come after one that is due.
pub(crate) const PRUNED_AFTER: usize = 256;

impl Store {
    /// Events after number `after`, in order, at most `limit`.
    ///
    /// # Errors
    /// `Gap` when some of them are pruned, or when `after` was never given out.
    pub async fn events_after(&self, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let query = sqlx::query(AFTER).bind(after).bind(limit.max(1));
        let events = self.list("read the events", query, |row| read(&mut Columns::of(row))).await?;
        if events.first().is_some_and(|event| event.seq == after + 1) {
            return Ok(events);
        }
        let (oldest, newest) = self.ends().await?;
        // Nothing, because there is nothing newer; events committed in between are the next call's.
        if events.is_empty() && (oldest - 1..=newest).contains(&after) {
            return Ok(events);
        }
        Err(StoreError::Gap { after, oldest, newest })
    }

    /// The newest event's number; 0 when there is none.
    ///
    /// # Errors
    /// `Read`.
    pub async fn last_seq(&self) -> Result<i64, StoreError> {
        Ok(self.ends().await?.1)
    }

    /// The latest wall time at which one of the newest events was written; none without any.
    ///
    /// # Errors
    /// `Read`.
    pub async fn latest_event_at(&self) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(LATEST);
        let latest =
            self.one("read the events", query, |row| Columns::of(row).some_instant()).await?;
        Ok(latest.flatten())
    }

    /// The numbers of the oldest and of the newest stored event; 1 and 0 when there is none.
    async fn ends(&self) -> Result<(i64, i64), StoreError> {
        let ends = self
            .one("read the numbers of the events", sqlx::query(ENDS), |row| {
                let mut columns = Columns::of(row);
                Ok((columns.get::<Option<i64>>()?, columns.get::<Option<i64>>()?))
            })
            .await?;
        let (oldest, newest) = ends.unwrap_or_default();
        Ok((oldest.unwrap_or(1), newest.unwrap_or(0)))
    }
}

/// The events of one write, before they have their numbers.
pub(crate) struct Unstored {
    events: Vec<(EventKind, Value)>,
    now: UnixMs,
}

impl Unstored {
    pub(crate) const fn of(events: Vec<(EventKind, Value)>, now: UnixMs) -> Self {
        Self { events, now }
    }

    /// Adds what inserts them in order and, when enough have been written since (`unpruned`), prunes old ones; answers
    /// which statement of the walk knows the number of the last.
    pub(crate) fn insert(&self, walk: &mut Walk, unpruned: &mut usize) -> Option<usize> {
        if self.events.is_empty() {
            return None;
        }
        walk.add_rows(&INSERT, &self.events, |query, (kind, data)| {
            query.bind(self.now.0).bind(kind.name()).bind(data.to_string())
        });
        let last = walk.statements() - 1;
        *unpruned += self.events.len();
        if *unpruned >= PRUNED_AFTER {
            walk.add(PRUNE, |values| values.bind(KEPT));
            *unpruned = 0;
        }
        Some(last)
    }

    /// The events with their numbers, the last of which is `last`.
    pub(crate) fn numbered(self, last: i64) -> Vec<Event> {
        let first = last + 1 - self.count();
        let at = self.now;
        let events = self.events.into_iter().zip(first..);
        events.map(|((kind, data), seq)| Event { seq, at, kind, data }).collect()
    }

    fn count(&self) -> i64 {
        i64::try_from(self.events.len()).expect("BUG: more events than fit")
    }
}

fn read(columns: &mut Columns<'_>) -> sqlx::Result<Event> {
    Ok(Event {
        seq: columns.get()?,
        at: columns.instant()?,
        kind: columns.word(EventKind::from_name)?,
        data: columns.json()?,
    })
}
