//! One write: a transaction with the events it causes.
//!
//! Owns the order of things: writers take turns, the events are inserted last, and after the commit
//! the listener is told while the turn is still held, so that no two writers can tell theirs the
//! wrong way round. Commit and telling happen in a task of their own: a caller that is dropped
//! half-way (a client that hung up) cannot cut them apart.
//!
//! What was committed is in the log and safe. It moves from there into the file every so many writes, after the caller
//! has its answer: SQLite would do that inside of a commit, and every so often a slot would wait for two more flushes
//! of the disk.
//!
//! sqlx's own transactions are not used for this. They count nesting beside SQLite, and after a
//! full disk, when SQLite has rolled back by itself, that count stays wrong and the connection
//! refuses every later transaction. Here a turn that may have left a transaction open is marked,
//! and the next one begins with a rollback.

use rouse_core::UnixMs;
use rouse_core::event::{Event, EventKind};
use serde_json::Value;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteQueryResult, SqliteRow,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite};
use tokio::sync::OwnedMutexGuard;

use crate::events::insert_events;
use crate::identity::Identity;
use crate::{EventListener, Store, StoreError};

/// A statement with its values.
pub(crate) type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Power loss: for what a person was told is done, and for claims.
    Full,
    /// The end of the process; power loss may undo the newest such commits, in order.
    Normal,
}

/// The writing connection.
pub(crate) struct Writer {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    identity: Identity,
    durability: Option<Durability>,
    /// A turn ended without word about its transaction.
    in_doubt: bool,
    closed: bool,
    /// Commits since the log was moved into the file.
    in_log: u32,
}

/// Commits after which the log is moved into the file.
const LONG_LOG: u32 = 64;

/// A transaction that is going. Dropped without `commit`, it leaves nothing behind.
pub(crate) struct Write {
    writer: OwnedMutexGuard<Writer>,
    listener: EventListener,
    what: &'static str,
    now: UnixMs,
    events: Vec<(EventKind, Value)>,
}

impl Store {
    /// Begins a write; `what` names it in errors.
    pub(crate) async fn write(
        &self,
        what: &'static str,
        durability: Durability,
        now: UnixMs,
    ) -> Result<Write, StoreError> {
        let mut writer = self.writer.clone().lock_owned().await;
        if writer.closed {
            return Err(StoreError::Closed);
        }
        if !writer.identity.is_still_there() {
            return Err(StoreError::Gone { path: writer.identity.path().to_owned() });
        }
        writer.begin(durability).await.map_err(|source| StoreError::Write { what, source })?;
        Ok(Write { writer, listener: self.listener.clone(), what, now, events: Vec::new() })
    }
}

impl Writer {
    pub(crate) const fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        identity: Identity,
    ) -> Self {
        Self {
            connection: Some(connection),
            options,
            identity,
            durability: None,
            in_doubt: false,
            closed: false,
            in_log: 0,
        }
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Runs statements that no transaction may be around. Whatever goes wrong, the next turn gets a new connection.
    pub(crate) async fn alone(&mut self, statements: &[&'static str]) -> sqlx::Result<()> {
        self.make_ready().await?;
        for statement in statements {
            if let Err(error) = sqlx::query(*statement).execute(self.connection()).await {
                self.connection = None;
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&mut self) {
        self.closed = true;
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the database was not closed cleanly; the next start recovers it");
        }
    }

    async fn begin(&mut self, durability: Durability) -> sqlx::Result<()> {
        let begun = self.try_begin(durability).await;
        if begun.is_err() {
            // Whatever is wrong with this connection, the next turn gets a new one.
            self.connection = None;
        }
        begun
    }

    /// A connection with no transaction open.
    async fn make_ready(&mut self) -> sqlx::Result<()> {
        if self.connection.is_none() {
            self.connection = Some(self.options.connect().await?);
            (self.durability, self.in_doubt) = (None, false);
        }
        if self.in_doubt {
            self.roll_back_doubtful().await?;
        }
        Ok(())
    }

    async fn try_begin(&mut self, durability: Durability) -> sqlx::Result<()> {
        self.make_ready().await?;
        // In one go: each statement is a walk to the thread of the connection and back.
        let begin = match (self.durability == Some(durability), durability) {
            (true, _) => "BEGIN IMMEDIATE",
            (false, Durability::Full) => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            (false, Durability::Normal) => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        };
        (self.durability, self.in_doubt) = (None, true);
        sqlx::query(begin).execute(self.connection()).await?;
        self.durability = Some(durability);
        Ok(())
    }

    /// Ends the transaction that the turn before may have left open. SQLite may have ended it by
    /// itself (a full disk), and then says that there is none, which is as good.
    async fn roll_back_doubtful(&mut self) -> sqlx::Result<()> {
        const PLAIN_ERROR: i64 = 1;
        match sqlx::query("ROLLBACK").execute(self.connection()).await {
            Err(error) if crate::error::code_of(&error) != Some(PLAIN_ERROR) => return Err(error),
            _ => {}
        }
        self.in_doubt = false;
        Ok(())
    }

    async fn restart(&mut self) -> sqlx::Result<()> {
        sqlx::query("ROLLBACK").execute(self.connection()).await?;
        sqlx::query("BEGIN IMMEDIATE").execute(self.connection()).await?;
        Ok(())
    }

    async fn end(&mut self, how: &'static str) -> sqlx::Result<()> {
        sqlx::query(how).execute(self.connection()).await?;
        self.in_doubt = false;
        Ok(())
    }

    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("BUG: a turn without a connection")
    }
}

impl Write {
    /// The instant of this write.
    pub(crate) const fn now(&self) -> UnixMs {
        self.now
    }

    /// Adds an event that is committed with this write.
    pub(crate) fn event(&mut self, kind: EventKind, data: Value) {
        self.events.push((kind, data));
    }

    /// Runs a statement.
    pub(crate) async fn run(&mut self, query: Query) -> Result<SqliteQueryResult, StoreError> {
        let result = query.execute(self.writer.connection()).await;
        result.map_err(|source| StoreError::Write { what: self.what, source })
    }

    /// Runs a statement and reads its rows.
    pub(crate) async fn list<T>(
        &mut self,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = query.fetch_all(self.writer.connection()).await;
        rows.and_then(|rows| rows.iter().map(read).collect())
            .map_err(|source| StoreError::Write { what: self.what, source })
    }

    /// Runs a statement and reads its first row.
    pub(crate) async fn one<T>(
        &mut self,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let row = query.fetch_optional(self.writer.connection()).await;
        row.and_then(|row| row.as_ref().map(read).transpose())
            .map_err(|source| StoreError::Write { what: self.what, source })
    }

    /// Takes back what was written so far; the turn goes on.
    pub(crate) async fn start_over(&mut self) -> Result<(), StoreError> {
        self.events.clear();
        let restarted = self.writer.restart().await;
        restarted.map_err(|source| StoreError::Write { what: self.what, source })
    }

    /// Commits and tells the listener.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match tokio::spawn(self.commit_and_tell()).await {
            Ok((done, turn)) => {
                if turn.writer.in_log >= LONG_LOG {
                    tokio::spawn(turn.move_log_into_file());
                }
                done
            }
            Err(end) if end.is_panic() => std::panic::resume_unwind(end.into_panic()),
            Err(_) => Err(StoreError::Closed),
        }
    }

    /// Ends a write that found nothing to do.
    pub(crate) async fn undo(mut self) -> Result<(), StoreError> {
        let ended = self.writer.end("ROLLBACK").await;
        ended.map_err(|source| StoreError::Write { what: self.what, source })
    }

    async fn commit_and_tell(mut self) -> (Result<(), StoreError>, Self) {
        (self.try_commit_and_tell().await, self)
    }

    async fn try_commit_and_tell(&mut self) -> Result<(), StoreError> {
        let events = self.store_events().await?;
        let ended = self.writer.end("COMMIT").await;
        ended.map_err(|source| StoreError::Write { what: self.what, source })?;
        self.writer.in_log += 1;
        if !events.is_empty() {
            (self.listener)(&events);
        }
        Ok(())
    }

    /// Nothing is lost when this fails or never happens: the log stays, and the next one moves more.
    async fn move_log_into_file(mut self) {
        self.writer.in_log = 0;
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        if let Err(error) = checkpoint.execute(self.writer.connection()).await {
            tracing::debug!(%error, "the log of the database stays long");
        }
    }

    async fn store_events(&mut self) -> Result<Vec<Event>, StoreError> {
        let events = std::mem::take(&mut self.events);
        if events.is_empty() {
            return Ok(Vec::new());
        }
        insert_events(self, events, self.now).await
    }
}
