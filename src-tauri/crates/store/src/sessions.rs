//! The tables `sessions` and `messages`: transcripts. Summaries in them are read by `summaries`.
//!
//! A session is made with its first message and keeps the number of its messages, so that a list of
//! sessions never counts. Messages are only ever added, those of one step together. A turn of the
//! main session and the system events it saw belong together: taking the events out of the queue
//! without the turn that answered them would lose them.
//!
//! What a session has read is asked of the runs whose messages are here, and stands with it where they have inherited it
//! (`inherited`), so one that is cleared has read nothing. One could
//! get it wrong by clearing it under a run: that has been told what was said, and would write what came of it behind.

use rouse_core::event::EventKind;
use rouse_core::message::Message;
use rouse_core::{JobId, RunId, SessionKey, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::row::Columns;
use crate::summaries::{self, Summary, is_summary};
use crate::walk::Walk;
use crate::write::{Durability, Query};
use crate::{Store, StoreError};

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Grows with every message.
    pub id: i64,
    /// The run that wrote it.
    pub run_id: Option<RunId>,
    /// The message.
    pub message: Message,
    /// When it was stored.
    pub at: UnixMs,
}

/// What stands in a row of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Something that was said.
    Said(Message),
    /// What stands for messages before it.
    Summary(Summary),
}

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// Grows with every row.
    pub id: i64,
    /// The run that wrote it.
    pub run_id: Option<RunId>,
    /// What stands there.
    pub entry: Entry,
    /// When it was stored.
    pub at: UnixMs,
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Which one.
    pub key: SessionKey,
    /// When its first message was stored.
    pub created_at: UnixMs,
    /// When its newest message was stored.
    pub updated_at: UnixMs,
    /// How many messages it has.
    pub messages: u32,
}

const LIST: &str = "SELECT key, created_at, updated_at, message_count FROM sessions
    ORDER BY updated_at DESC, key LIMIT ?1";
const GET: &str = "SELECT key, created_at, updated_at, message_count FROM sessions WHERE key = ?1";
pub(crate) const BEFORE: &str = "SELECT id, run_id, message, at FROM messages
    WHERE session = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
pub(crate) const TOUCH: &str =
    "INSERT INTO sessions (key, created_at, updated_at, message_count) VALUES (?1, ?2, ?2, ?3)
    ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at,
        message_count = message_count + excluded.message_count";
pub(crate) const ADD_ROWS: &str = "INSERT INTO messages (session, run_id, at, message)
    SELECT ?1, ?2, ?3, value FROM json_each(?4) ORDER BY key";
// The run's page leads to its transcript.
const NAME_SESSION: &str = "UPDATE runs SET session = ?2 WHERE id = ?1 AND session IS NULL";
pub(crate) const OF_RUN: &str = "SELECT id, run_id, message, at FROM messages
    WHERE session = ?1 AND run_id = ?2 ORDER BY id";
// A run that waits for its turn has been told nothing yet, unless it began before.
pub(crate) const BEGUN: &str = "SELECT id FROM runs INDEXED BY runs_open
    WHERE job_id IS ?1 AND session = ?2 AND finished_at IS NULL
    AND (state <> 'queued' OR EXISTS (SELECT 1 FROM run_steps WHERE run_id = runs.id)
        OR EXISTS (SELECT 1 FROM messages WHERE session = ?2 AND run_id = runs.id)) LIMIT 1";
const CLEAR_MESSAGES: &str = "DELETE FROM messages WHERE session = ?1";
const CLEAR: &str = "DELETE FROM sessions WHERE key = ?1";
pub(crate) const NEWEST: &str = concat!(
    "SELECT id, run_id, message, at FROM messages WHERE session = ?1 AND NOT ",
    is_summary!(),
    " ORDER BY id DESC LIMIT ?2"
);

impl Store {
    /// Adds messages to a transcript, all or none; the session is made with its first message.
    ///
    /// # Errors
    /// `Write`.
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
        let write = self.write("save the messages", Durability::Normal, now).await?;
        let mut walk = Walk::default();
        add_messages(&mut walk, session, run, messages, now);
        write.commit_after(walk).await.map(drop)
    }

    /// The newest `limit` messages of a transcript, the newest last.
    ///
    /// # Errors
    /// `Read`.
    pub async fn messages(
        &self,
        session: &SessionKey,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        messages_of_rows(self, sqlx::query(NEWEST).bind(session.as_str()).bind(limit)).await
    }

    /// The newest `limit` rows of a transcript before the one of that number, the newest last: what was said, and where
    /// summaries stand.
    ///
    /// # Errors
    /// `Read`.
    pub async fn transcript_before(
        &self,
        session: &SessionKey,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let query = sqlx::query(BEFORE).bind(session.as_str()).bind(before).bind(limit);
        let mut entries = self.list("read the transcript", query, read_entry).await?;
        entries.reverse();
        Ok(entries)
    }

    /// Sessions, those that changed last first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<SessionRow>, StoreError> {
        self.list("list the sessions", sqlx::query(LIST).bind(limit), read_session).await
    }

    /// One session; none when nothing was said in it yet.
    ///
    /// # Errors
    /// `Read`.
    pub async fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>, StoreError> {
        let query = sqlx::query(GET).bind(key.as_str());
        self.one("read the session", query, read_session).await
    }

    /// Takes all that was said in a session away, with its summaries; false when nothing was. The runs and their journals
    /// stay. Event `session`.
    ///
    /// # Errors
    /// `InUse` while a run of it has begun and not ended, `Write`.
    pub async fn clear_session(&self, key: &SessionKey, now: UnixMs) -> Result<bool, StoreError> {
        let job = key.job_id();
        let job = job.as_ref().map(JobId::as_str);
        let mut write = self.write("clear the conversation", Durability::Full, now).await?;
        let begun = sqlx::query(BEGUN).bind(job).bind(key.as_str());
        let begun = write.one(begun, |row| Columns::of(row).id(RunId::new)).await?;
        if let Some(run) = begun {
            write.undo().await?;
            return Err(StoreError::InUse { run });
        }
        write.run(sqlx::query(CLEAR_MESSAGES).bind(key.as_str())).await?;
        if write.run(sqlx::query(CLEAR).bind(key.as_str())).await?.rows_affected() == 0 {
            write.undo().await?;
            return Ok(false);
        }
        let mut data = json!({ "session": key.as_str() });
        if let Some(job) = job {
            data["jobId"] = json!(job);
        }
        write.event(EventKind::Session, data);
        write.commit().await?;
        Ok(true)
    }

    /// What a run has said in a transcript so far, in order.
    ///
    /// # Errors
    /// `Read`, also when one of them cannot be read: the run would go on as if it had not been.
    pub async fn messages_of(
        &self,
        session: &SessionKey,
        run: &RunId,
    ) -> Result<Vec<Message>, StoreError> {
        let query = sqlx::query(OF_RUN).bind(session.as_str()).bind(run.as_str());
        let messages = self.whole("read the messages", query, read).await?;
        Ok(messages.into_iter().map(|stored| stored.message).collect())
    }
}

/// The messages that `query` finds, the newest first, in their order.
pub(crate) async fn messages_of_rows(
    store: &Store,
    query: Query,
) -> Result<Vec<StoredMessage>, StoreError> {
    let mut messages = store.list("read the messages", query, read).await?;
    messages.reverse();
    Ok(messages)
}

fn add_messages(
    walk: &mut Walk,
    session: &SessionKey,
    run: Option<&RunId>,
    messages: &[Message],
    now: UnixMs,
) {
    let count = i64::try_from(messages.len()).expect("BUG: more messages than fit");
    walk.add(TOUCH, |values| values.bind(session.as_str()).bind(now.0).bind(count));
    let texts = messages.iter().map(|message| {
        Value::String(serde_json::to_string(message).expect("BUG: a message is not JSON"))
    });
    let texts = Value::Array(texts.collect()).to_string();
    let run_id = run.map(RunId::as_str);
    walk.add(ADD_ROWS, |values| values.bind(session.as_str()).bind(run_id).bind(now.0).bind(texts));
    if let Some(run_id) = run_id {
        walk.add(NAME_SESSION, |values| values.bind(run_id).bind(session.as_str()));
    }
}

fn read_session(row: &SqliteRow) -> sqlx::Result<SessionRow> {
    let mut columns = Columns::of(row);
    Ok(SessionRow {
        key: columns.id(SessionKey::new)?,
        created_at: columns.instant()?,
        updated_at: columns.instant()?,
        messages: columns.count()?,
    })
}

fn read(row: &SqliteRow) -> sqlx::Result<StoredMessage> {
    let mut columns = Columns::of(row);
    let (id, run_id) = (columns.get()?, columns.some_id(RunId::new)?);
    let message = read_message(columns.get()?)?;
    Ok(StoredMessage { id, run_id, message, at: columns.instant()? })
}

fn read_entry(row: &SqliteRow) -> sqlx::Result<StoredEntry> {
    let mut columns = Columns::of(row);
    let (id, run_id) = (columns.get()?, columns.some_id(RunId::new)?);
    let text: &str = columns.get()?;
    let entry = match summaries::is_one(text) {
        true => Entry::Summary(summaries::read(text)?),
        false => Entry::Said(read_message(text)?),
    };
    Ok(StoredEntry { id, run_id, entry, at: columns.instant()? })
}

fn read_message(text: &str) -> sqlx::Result<Message> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}
