//! Summaries in the table `messages`: what a model is told instead of the beginning of a transcript.
//!
//! A summary is a row among the messages, of a kind of its own and where it was made; the messages that it stands for
//! stay before it. Its row belongs to no run, so that it outlives the run that made it, and goes with its session. It is
//! never handed out as a message: one could get it wrong by reading the table without asking for one or the other.

use rouse_core::{RunId, SessionKey, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::row::{Columns, json_list};
use crate::sessions::{ADD_ROWS, TOUCH, messages_of_rows};
use crate::write::Durability;
use crate::{Store, StoreError, StoredMessage};

/// What the row of a summary begins with, and that of no message.
const BEGINNING: &str = r#"{"role":"summary""#;

/// The same as a condition; it costs no reading of JSON.
macro_rules! is_summary {
    () => {
        r#"substr(message, 1, 17) = '{"role":"summary"'"#
    };
}
pub(crate) use is_summary;

/// What stands for the beginning of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// What it says.
    pub text: String,
    /// The run that made it.
    pub made_by: RunId,
    /// The number of the last message that it stands for.
    pub until: i64,
    /// How many messages it stands for.
    pub messages: u32,
    /// When the first of them was stored.
    pub first_at: UnixMs,
    /// When the last of them was stored.
    pub last_at: UnixMs,
    /// Whether somebody else than the person and their agents may have written what it was made of.
    pub from_outside: bool,
    /// The skills that nobody trusts among what it was made of.
    #[serde(default)]
    pub untrusted_skills: Vec<String>,
}

/// How it stands in its row.
#[derive(Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
enum Row {
    Summary(Summary),
}

// A summary is made again long before so many messages follow it; a session without one is not read to its beginning.
pub(crate) const NEWEST_SUMMARY: &str = concat!(
    "SELECT message FROM messages WHERE session = ?1 AND id > coalesce(
        (SELECT id FROM messages WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET 4000), 0) AND ",
    is_summary!(),
    " ORDER BY id DESC LIMIT 1"
);
pub(crate) const AFTER: &str = concat!(
    "SELECT id, run_id, message, at FROM messages WHERE session = ?1 AND id > ?2 AND NOT ",
    is_summary!(),
    " ORDER BY id DESC LIMIT ?3"
);
pub(crate) const IN_VAIN: &str = "SELECT EXISTS (
    SELECT 1 FROM run_steps WHERE run_id IN (SELECT value FROM json_each(?1))
        AND kind = 'summary' AND status <> 'finished')";
pub(crate) const COUNT_AFTER: &str = "SELECT count(*) FROM messages WHERE session = ?1 AND id > ?2";

impl Store {
    /// Adds a summary to a transcript.
    ///
    /// # Errors
    /// `Write`.
    pub async fn add_summary(
        &self,
        session: &SessionKey,
        summary: Summary,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let row = serde_json::to_string(&Row::Summary(summary)).expect("BUG: no JSON");
        let mut write = self.write("save the summary", Durability::Normal, now).await?;
        write.run(sqlx::query(TOUCH).bind(session.as_str()).bind(now.0).bind(1_i64)).await?;
        let query = sqlx::query(ADD_ROWS).bind(session.as_str()).bind(None::<&str>).bind(now.0);
        write.run(query.bind(json!([row]).to_string())).await?;
        write.commit().await
    }

    /// The newest summary of a transcript; none when it cannot be read.
    ///
    /// # Errors
    /// `Read`.
    pub async fn summary(&self, session: &SessionKey) -> Result<Option<Summary>, StoreError> {
        let query = sqlx::query(NEWEST_SUMMARY).bind(session.as_str());
        Ok(self.list("read the summary", query, |row| read(Columns::of(row).get()?)).await?.pop())
    }

    /// The newest `limit` messages of a transcript that follow the one of that number, the newest last.
    ///
    /// # Errors
    /// `Read`.
    pub async fn messages_after(
        &self,
        session: &SessionKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        messages_of_rows(self, sqlx::query(AFTER).bind(session.as_str()).bind(after).bind(limit))
            .await
    }

    /// How many rows of a transcript follow the one of that number.
    ///
    /// # Errors
    /// `Read`.
    pub async fn count_after(&self, session: &SessionKey, after: i64) -> Result<u32, StoreError> {
        let query = sqlx::query(COUNT_AFTER).bind(session.as_str()).bind(after);
        let count = self.one("count the messages", query, |row| Columns::of(row).count()).await?;
        Ok(count.unwrap_or_default())
    }

    /// Whether one of these runs has asked for a summary that did not come.
    ///
    /// # Errors
    /// `Read`.
    pub async fn any_asked_in_vain(&self, runs: &[RunId]) -> Result<bool, StoreError> {
        let query = sqlx::query(IN_VAIN).bind(json_list(runs.iter().map(RunId::as_str)));
        let found = self.one("read the journal", query, |row| Columns::of(row).get()).await?;
        Ok(found.unwrap_or(false))
    }
}

/// Whether a summary stands in this row.
pub(crate) fn is_one(row: &str) -> bool {
    row.starts_with(BEGINNING)
}

/// A summary out of its row.
pub(crate) fn read(row: &str) -> sqlx::Result<Summary> {
    let Row::Summary(summary) =
        serde_json::from_str(row).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(summary)
}
