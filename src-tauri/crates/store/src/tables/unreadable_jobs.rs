//! Jobs whose rows cannot be decoded: damaged by hand, by a disk, or by a newer program.
//!
//! Owns the list, and the disabling of an unreadable due job: the reason becomes the last error, and the job counts as
//! failing. Never repairs a row. Pitfall: leaving such a job enabled: always due, the timer would never rest.

use rouse_core::event::EventKind;
use rouse_core::{JobId, UnixMs};
use sqlx::Row as _;

use super::event_data::disabled_event;
use crate::sql::{Durability, Store, StoreError, at_least, from_columns, log_name, row_id};

/// A job that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableJob {
    /// The id.
    pub id: JobId,
    /// The name.
    pub name: String,
    /// The reason in words.
    pub reason: String,
}

/// The beginning of every reason.
const PREFIX: &str = "The job cannot be read: ";
const MAX_LISTED: u32 = 100;

const DISABLE: &str = concat!(
    "UPDATE jobs SET enabled = 0, next_run_at = NULL, revision = revision + 1, last_error = $2,
        consecutive_failures = ",
    at_least!("consecutive_failures", "1"),
    " WHERE ",
    row_id!(),
    " = $1 RETURNING id, name, definition"
);
pub(crate) const DISABLED: &str = "SELECT id, name, last_error FROM jobs
    WHERE consecutive_failures > 0 AND enabled = 0 AND substr(last_error, 1, $1) = $2
    ORDER BY name, id LIMIT $3";

impl UnreadableJob {
    pub(crate) fn new(id: JobId, name: String, reason: &str) -> Self {
        Self { id, name, reason: format!("{PREFIX}{reason}") }
    }
}

from_columns!(UnreadableJob: id, name, reason);

impl Store {
    /// The disabled unreadable jobs by name, at most a hundred.
    pub async fn unreadable_jobs(&self) -> Result<Vec<UnreadableJob>, StoreError> {
        let length = i64::try_from(PREFIX.len()).expect("BUG: a short text");
        let query = sqlx::query(DISABLED).bind(length).bind(PREFIX).bind(MAX_LISTED);
        self.fetch_all("list the unreadable jobs", query).await
    }

    /// Disables a job that cannot be decoded, with the reason as its last error. Event `cron` `updated`.
    pub(super) async fn disable_unreadable_job(
        &self,
        rowid: i64,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("disable an unreadable job", Durability::Full, now).await?;
        let reason = format!("{PREFIX}{reason}");
        let query = sqlx::query(DISABLE).bind(rowid).bind(reason.as_str());
        let result = tx.execute_one(query).await?;
        // silent-ok: each of these columns may be the unreadable column.
        let text = |at: usize| -> String {
            result.rows.first().and_then(|row| row.try_get(at).ok()).unwrap_or_default()
        };
        let id = JobId::new(text(0));
        let name = log_name(Some(&text(1)), &text(2), id.as_str());
        tracing::error!(job_id = %id, name, rowid, reason, "a due job cannot be read and is disabled");
        tx.emit(EventKind::Cron, disabled_event(&id, &reason));
        tx.commit().await
    }
}
