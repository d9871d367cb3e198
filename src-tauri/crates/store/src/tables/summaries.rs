//! Summaries in the table `messages`, which replace the beginning of a transcript in the context window.
//!
//! A summary is a special row after the messages it covers. The row belongs to no run, so a summary survives the run and is
//! deleted with the session. Queries for messages never return summaries.
//! Pitfall: a query on `messages` without `is_summary!`.

use rouse_core::{RunId, SessionKey, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sessions::{INSERT_ROWS, StoredMessage, TOUCH_SESSION};
use crate::sql::{
    Durability, FromColumns, RowReader, Store, StoreError, in_json_list, json_list, parse_json,
};

/// The beginning of a summary's row, and of no message.
const PREFIX: &str = r#"{"role":"summary""#;

/// Whether a row is a summary, without parsing its JSON.
macro_rules! is_summary {
    () => {
        r#"substr(message, 1, 17) = '{"role":"summary"'"#
    };
}
pub(crate) use is_summary;

/// A summary of the beginning of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptSummary {
    /// The text.
    pub text: String,
    /// The run that made the summary.
    pub made_by: RunId,
    /// The id of the last covered message.
    pub until: i64,
    /// The number of covered messages.
    pub messages: u32,
    /// When the first covered message was stored.
    pub first_at: UnixMs,
    /// When the last covered message was stored.
    pub last_at: UnixMs,
    /// Whether the input was untrusted.
    #[serde(rename = "fromOutside")]
    pub is_tainted: bool,
    /// The untrusted skills in the input.
    #[serde(default)]
    pub untrusted_skills: Vec<String>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
enum SummaryDocument {
    Summary(TranscriptSummary),
}

// A summary is replaced long before 4,000 further messages; a session without summaries is not scanned to the beginning.
pub(crate) const NEWEST_SUMMARY: &str = concat!(
    "SELECT message FROM messages WHERE session = $1 AND id > coalesce(
        (SELECT id FROM messages WHERE session = $1 ORDER BY id DESC LIMIT 1 OFFSET 4000), 0) AND ",
    is_summary!(),
    " ORDER BY id DESC LIMIT 1"
);
pub(crate) const MESSAGES_AFTER: &str = concat!(
    "SELECT id, run_id, message, at FROM messages WHERE session = $1 AND id > $2 AND NOT ",
    is_summary!(),
    " ORDER BY id DESC LIMIT $3"
);
pub(crate) const HAS_UNFINISHED: &str = concat!(
    "SELECT EXISTS (
    SELECT 1 FROM run_steps WHERE run_id ",
    in_json_list!("$1"),
    " AND kind = 'summary' AND status <> 'finished')"
);
pub(crate) const COUNT_AFTER: &str = "SELECT count(*) FROM messages WHERE session = $1 AND id > $2";

impl TranscriptSummary {
    pub(crate) fn is_in(row: &str) -> bool {
        row.starts_with(PREFIX)
    }

    pub(crate) fn parse(row: &str) -> sqlx::Result<Self> {
        let SummaryDocument::Summary(summary) = parse_json(row)?;
        Ok(summary)
    }
}

impl FromColumns<'_> for TranscriptSummary {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Self::parse(row.read()?)
    }
}

impl Store {
    /// Adds a summary to a transcript.
    pub async fn add_summary(
        &self,
        session: &SessionKey,
        summary: TranscriptSummary,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let document = SummaryDocument::Summary(summary);
        let row = serde_json::to_string(&document).expect("BUG: a summary is not JSON");
        let mut tx = self.begin("save the summary", Durability::Normal, now).await?;
        let touch = sqlx::query(TOUCH_SESSION).bind(session.as_str()).bind(now.0).bind(1_i64);
        tx.execute(touch).await?;
        let insert = sqlx::query(INSERT_ROWS).bind(session.as_str()).bind(None::<&str>).bind(now.0);
        tx.execute(insert.bind(json!([row]).to_string())).await?;
        tx.commit().await
    }

    /// The newest readable summary of a transcript.
    pub async fn summary(
        &self,
        session: &SessionKey,
    ) -> Result<Option<TranscriptSummary>, StoreError> {
        let query = sqlx::query(NEWEST_SUMMARY).bind(session.as_str());
        Ok(self.fetch_all("read the summary", query).await?.pop())
    }

    /// The newest `limit` messages of a transcript after the row `after`, the newest last.
    pub async fn messages_after(
        &self,
        session: &SessionKey,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let query = sqlx::query(MESSAGES_AFTER).bind(session.as_str()).bind(after).bind(limit);
        self.newest_messages(query).await
    }

    /// The number of rows of a transcript after the row `after`.
    pub async fn count_rows_after(
        &self,
        session: &SessionKey,
        after: i64,
    ) -> Result<u32, StoreError> {
        let query = sqlx::query(COUNT_AFTER).bind(session.as_str()).bind(after);
        self.fetch_or_default("count the messages", query).await
    }

    /// Whether one of these runs requested a summary that was not finished.
    pub async fn has_unfinished_summary(&self, runs: &[RunId]) -> Result<bool, StoreError> {
        let query = sqlx::query(HAS_UNFINISHED).bind(json_list(runs.iter().map(RunId::as_str)));
        self.fetch_or_default("read the journal", query).await
    }
}
