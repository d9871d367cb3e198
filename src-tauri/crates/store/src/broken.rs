//! Jobs whose rows cannot be read: garbled by hand, by a disk, or by a program that knew better.
//!
//! Owns what becomes of them: one that is due is switched off with the reason and counts as failing, and all that were
//! met can be listed by their ids, so that a person sees them and can remove them. It refuses to mend one. One could get
//! it wrong by leaving a due one alone: it would be due for ever, and the timer would never come to rest.

use rouse_core::event::EventKind;
use rouse_core::{JobId, UnixMs};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::jobs::change;
use crate::row::{Columns, name_for_log};
use crate::write::Durability;
use crate::{Store, StoreError};

/// A job that nobody can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenJob {
    /// Its id.
    pub id: JobId,
    /// Its name, as far as it can be read.
    pub name: String,
    /// What is wrong with it, in words.
    pub reason: String,
}

/// What the reasons begin with.
const CANNOT: &str = "The job cannot be read: ";
/// The most that are listed.
const MOST: u32 = 100;

const SWITCH_OFF: &str =
    "UPDATE jobs SET enabled = 0, next_run_at = NULL, revision = revision + 1, last_error = ?2,
        consecutive_failures = max(consecutive_failures, 1)
    WHERE rowid = ?1 RETURNING id, name, definition";
pub(crate) const SWITCHED_OFF: &str = "SELECT id, name, last_error FROM jobs
    WHERE consecutive_failures > 0 AND enabled = 0 AND substr(last_error, 1, ?1) = ?2
    ORDER BY name, id LIMIT ?3";

impl BrokenJob {
    pub(crate) fn new(id: JobId, name: String, reason: &str) -> Self {
        Self { id, name, reason: format!("{CANNOT}{reason}") }
    }
}

impl Store {
    /// The jobs that were switched off because nobody can read them, by name, at most a hundred.
    ///
    /// # Errors
    /// `Read`.
    pub async fn broken_jobs(&self) -> Result<Vec<BrokenJob>, StoreError> {
        let length = i64::try_from(CANNOT.len()).expect("BUG: a short text");
        let query = sqlx::query(SWITCHED_OFF).bind(length).bind(CANNOT).bind(MOST);
        self.list("list the broken jobs", query, |row| {
            let mut columns = Columns::of(row);
            Ok(BrokenJob {
                id: columns.id(JobId::new)?,
                name: columns.get()?,
                reason: columns.get()?,
            })
        })
        .await
    }

    /// Switches off a job that nobody can read, with the reason as its last error. Event `cron` `updated`.
    pub(crate) async fn switch_off_broken(
        &self,
        row: i64,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("switch off a broken job", Durability::Full, now).await?;
        let reason = format!("{CANNOT}{reason}");
        let query = sqlx::query(SWITCH_OFF).bind(row).bind(reason.as_str());
        // An id that is no text is nothing that a client could ask for.
        let words = |row: &SqliteRow| [0, 1, 2].map(|at| row.try_get(at).unwrap_or_default());
        let found: Option<[String; 3]> = write.one(query, |row| Ok(words(row))).await?;
        let [id, name, definition] = found.unwrap_or_default();
        let id = JobId::new(id);
        let name = name_for_log(Some(&name), &definition, id.as_str());
        tracing::error!(job_id = %id, name, row, reason, "a due job is switched off");
        let mut data = change(&id, "updated", None);
        data["error"] = reason.into();
        write.event(EventKind::Cron, data);
        write.commit().await
    }
}
