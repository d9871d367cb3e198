//! The tables `sessions` and `messages`: transcripts. `summaries` reads their summaries.
//!
//! A session is inserted with the first message and stores the number of messages, so a list of sessions never counts.
//! Messages are only added, all messages of a step together. Clearing a session also clears the taint (`taint`).
//! Pitfall: clearing a session under a run that has begun; the run knows the transcript and would write further messages.

use rouse_core::event::EventKind;
use rouse_core::message::Message;
use rouse_core::{JobId, RunId, SessionKey, UnixMs};
use serde_json::{Value, json};

use super::summaries::{TranscriptSummary, is_summary};
use crate::sql::{
    Batch, Durability, FromColumns, Query, RowReader, Store, StoreError, by_index, from_columns,
    json_items, parse_json,
};

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Grows with every row.
    pub id: i64,
    /// The run that wrote it.
    pub run_id: Option<RunId>,
    /// The message.
    pub message: Message,
    /// When it was stored.
    pub at: UnixMs,
}

/// The content of a transcript row.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptEntry {
    /// A message.
    Message(Message),
    /// A summary of earlier messages.
    Summary(TranscriptSummary),
}

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptRow {
    /// Grows with every row.
    pub id: i64,
    /// The run that wrote it.
    pub run_id: Option<RunId>,
    /// The content.
    pub entry: TranscriptEntry,
    /// When it was stored.
    pub at: UnixMs,
}

/// A session without messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The key.
    pub key: SessionKey,
    /// When the first message was stored.
    pub created_at: UnixMs,
    /// When the newest message was stored.
    pub updated_at: UnixMs,
    /// The number of messages.
    pub messages: u32,
}

const LIST: &str = "SELECT key, created_at, updated_at, message_count FROM sessions
    ORDER BY updated_at DESC, key LIMIT $1";
const GET: &str = "SELECT key, created_at, updated_at, message_count FROM sessions WHERE key = $1";
pub(crate) const BEFORE: &str = "SELECT id, run_id, message, at FROM messages
    WHERE session = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
pub(crate) const TOUCH_SESSION: &str =
    "INSERT INTO sessions (key, created_at, updated_at, message_count) VALUES ($1, $2, $2, $3)
    ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at,
        message_count = message_count + excluded.message_count";
pub(crate) const INSERT_ROWS: &str = concat!(
    "INSERT INTO messages (session, run_id, at, message)
    SELECT $1, $2, $3, value FROM ",
    json_items!("$4"),
    " ORDER BY key"
);
/// The page of a run links to the transcript.
const SET_SESSION_OF_RUN: &str = "UPDATE runs SET session = $2 WHERE id = $1 AND session IS NULL";
pub(crate) const OF_RUN: &str = "SELECT id, run_id, message, at FROM messages
    WHERE session = $1 AND run_id = $2 ORDER BY id";
/// An open run that knows the transcript. A queued run counts only after an earlier start.
pub(crate) const BEGUN_RUN: &str = concat!(
    "SELECT id FROM ",
    by_index!("runs", "runs_open"),
    " WHERE job_id IS NOT DISTINCT FROM $1 AND session = $2 AND finished_at IS NULL
    AND (state <> 'queued' OR EXISTS (SELECT 1 FROM run_steps WHERE run_id = runs.id)
        OR EXISTS (SELECT 1 FROM messages WHERE session = $2 AND run_id = runs.id)) LIMIT 1"
);
const DELETE_MESSAGES: &str = "DELETE FROM messages WHERE session = $1";
const DELETE: &str = "DELETE FROM sessions WHERE key = $1";
pub(crate) const NEWEST: &str = concat!(
    "SELECT id, run_id, message, at FROM messages WHERE session = $1 AND NOT ",
    is_summary!(),
    " ORDER BY id DESC LIMIT $2"
);

impl FromColumns<'_> for StoredMessage {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (id, run_id) = row.read()?;
        Ok(Self { id, run_id, message: parse_json(row.read()?)?, at: row.read()? })
    }
}

impl FromColumns<'_> for TranscriptRow {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (id, run_id) = row.read()?;
        let text: &str = row.read()?;
        let entry = if TranscriptSummary::is_in(text) {
            TranscriptEntry::Summary(TranscriptSummary::parse(text)?)
        } else {
            TranscriptEntry::Message(parse_json(text)?)
        };
        Ok(Self { id, run_id, entry, at: row.read()? })
    }
}

from_columns!(SessionRow: key, created_at, updated_at, messages);

impl Store {
    /// Adds messages to a transcript, all or none; inserts a missing session.
    pub async fn append_messages(
        &self,
        session: &SessionKey,
        run: Option<&RunId>,
        messages: &[Message],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if messages.is_empty() {
            return Ok(());
        }
        let tx = self.begin("save the messages", Durability::Normal, now).await?;
        let mut batch = Batch::default();
        let count = i64::try_from(messages.len()).expect("BUG: more messages than fit");
        batch.add(TOUCH_SESSION, |values| values.bind(session.as_str()).bind(now.0).bind(count));
        let texts = messages.iter().map(|message| {
            Value::String(serde_json::to_string(message).expect("BUG: a message is not JSON"))
        });
        let texts = Value::Array(texts.collect()).to_string();
        let run_id = run.map(RunId::as_str);
        batch.add(INSERT_ROWS, |values| {
            values.bind(session.as_str()).bind(run_id).bind(now.0).bind(texts)
        });
        if let Some(run_id) = run_id {
            batch.add(SET_SESSION_OF_RUN, |values| values.bind(run_id).bind(session.as_str()));
        }
        tx.commit_with(batch).await.map(drop)
    }

    /// The newest `limit` messages of a transcript, the newest last.
    pub async fn messages(
        &self,
        session: &SessionKey,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        self.newest_messages(sqlx::query(NEWEST).bind(session.as_str()).bind(limit)).await
    }

    /// Reverses the messages of `query`, which returns the newest first.
    pub(super) async fn newest_messages(
        &self,
        query: Query,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut messages = self.fetch_all("read the messages", query).await?;
        messages.reverse();
        Ok(messages)
    }

    /// The newest `limit` rows of a transcript before the row `before`, the newest last: messages and summaries.
    pub async fn transcript_before(
        &self,
        session: &SessionKey,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<TranscriptRow>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let query = sqlx::query(BEFORE).bind(session.as_str()).bind(before).bind(limit);
        let mut rows = self.fetch_all("read the transcript", query).await?;
        rows.reverse();
        Ok(rows)
    }

    /// Sessions, the most recently changed first.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<SessionRow>, StoreError> {
        self.fetch_all("list the sessions", sqlx::query(LIST).bind(limit)).await
    }

    /// One session; none without messages.
    pub async fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>, StoreError> {
        self.fetch_optional("read the session", sqlx::query(GET).bind(key.as_str())).await
    }

    /// Deletes transcript, summaries and taint of a session; false if empty. Runs and journals stay. Event
    /// `session`.
    ///
    /// # Errors
    /// `InUse` while a run that has begun needs the transcript.
    pub async fn clear_session(&self, key: &SessionKey, now: UnixMs) -> Result<bool, StoreError> {
        let job = key.job_id();
        let job = job.as_ref().map(JobId::as_str);
        let mut tx = self.begin("clear the conversation", Durability::Full, now).await?;
        let begun = sqlx::query(BEGUN_RUN).bind(job).bind(key.as_str());
        if let Some(run) = tx.fetch_optional(begun).await? {
            tx.roll_back().await?;
            return Err(StoreError::InUse { run });
        }
        tx.execute(sqlx::query(DELETE_MESSAGES).bind(key.as_str())).await?;
        if tx.execute(sqlx::query(DELETE).bind(key.as_str())).await? == 0 {
            tx.roll_back().await?;
            return Ok(false);
        }
        let mut data = json!({ "session": key.as_str() });
        if let Some(job) = job {
            data["jobId"] = json!(job);
        }
        tx.emit(EventKind::Session, data);
        tx.commit().await?;
        Ok(true)
    }

    /// The messages of a run that resumes, in order. Fails if any cannot be decoded: the run would continue without.
    pub async fn messages_of_run(
        &self,
        session: &SessionKey,
        run: &RunId,
    ) -> Result<Vec<Message>, StoreError> {
        let query = sqlx::query(OF_RUN).bind(session.as_str()).bind(run.as_str());
        let messages: Vec<StoredMessage> = self.fetch_complete("read the messages", query).await?;
        Ok(messages.into_iter().map(|stored| stored.message).collect())
    }
}
