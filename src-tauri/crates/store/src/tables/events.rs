//! The table `events`: numbered changes, for every client. `sql::event_log` inserts events.
//!
//! Numbers begin at 1 without gaps. Only the newest events are kept; a request for older events fails as a whole.

use rouse_core::UnixMs;
use rouse_core::event::Event;

use crate::sql::{Store, StoreError, from_columns};

pub(crate) const AFTER: &str =
    "SELECT seq, at, kind, data FROM events WHERE seq > $1 ORDER BY seq LIMIT $2";
const RANGE: &str = "SELECT (SELECT min(seq) FROM events), (SELECT max(seq) FROM events)";
/// Of the newest thousand: after a clock rollback earlier events may have later times.
const LATEST: &str = "SELECT max(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 1000)";

from_columns!(Event: seq, at, kind, data);

impl Store {
    /// The events after number `after`, in order, at most `limit`.
    ///
    /// # Errors
    /// `Gap` if some events are pruned, or if `after` was never assigned.
    pub async fn events_after(&self, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let query = sqlx::query(AFTER).bind(after).bind(limit.max(1));
        let events: Vec<Event> = self.fetch_all("read the events", query).await?;
        if events.first().is_some_and(|event| event.seq == after + 1) {
            return Ok(events);
        }
        let (oldest, newest) = self.event_range().await?;
        // Empty because nothing is newer; events committed since the query belong to the next call.
        if events.is_empty() && (oldest - 1..=newest).contains(&after) {
            return Ok(events);
        }
        Err(StoreError::Gap { after, oldest, newest })
    }

    /// The number of the newest event; 0 without any.
    pub async fn last_seq(&self) -> Result<i64, StoreError> {
        Ok(self.event_range().await?.1)
    }

    /// The latest wall time of the newest events.
    pub async fn latest_event_at(&self) -> Result<Option<UnixMs>, StoreError> {
        self.fetch_or_default("read the events", sqlx::query(LATEST)).await
    }

    /// The numbers of the oldest and the newest stored event; 1 and 0 without any.
    async fn event_range(&self) -> Result<(i64, i64), StoreError> {
        let range = self.fetch_or_default::<(Option<i64>, Option<i64>)>(
            "read the numbers of the events",
            sqlx::query(RANGE),
        );
        let (oldest, newest) = range.await?;
        Ok((oldest.unwrap_or(1), newest.unwrap_or(0)))
    }
}
