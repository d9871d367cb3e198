//! Jobs whose rows cannot be read: garbled by hand, by a disk, or by a program that knew better.
//!
//! Owns what becomes of them: one that is due is switched off with the reason, and all of them can be listed by their
//! ids, so that a person sees them and can remove them. It refuses to mend one. One could get it wrong by leaving a due
//! one alone: it would be due for ever, and the timer would never come to rest.

use rouse_core::event::EventKind;
use rouse_core::{JobId, UnixMs};
use sqlx::Row as _;

use crate::jobs::change;
use crate::write::Durability;
use crate::{Store, StoreError};

const SWITCH_OFF: &str =
    "UPDATE jobs SET enabled = 0, next_run_at = NULL, revision = revision + 1, last_error = ?2
    WHERE rowid = ?1 RETURNING id";

impl Store {
    /// Switches off a job that nobody can read, with the reason as its last error. Event `cron` `updated`.
    pub(crate) async fn switch_off_broken(
        &self,
        row: i64,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("switch off a broken job", Durability::Full, now).await?;
        let reason = format!("The job cannot be read: {reason}");
        let query = sqlx::query(SWITCH_OFF).bind(row).bind(reason.as_str());
        // An id that is no text is nothing that a client could ask for.
        let id: Option<String> =
            write.one(query, |row| Ok(row.try_get(0).unwrap_or_default())).await?;
        let id = JobId::new(id.unwrap_or_default());
        tracing::error!(job_id = %id, row, reason, "a due job is switched off");
        let mut data = change(&id, "updated", None);
        data["error"] = reason.into();
        write.event(EventKind::Cron, data);
        write.commit().await
    }
}
