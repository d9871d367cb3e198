//! One write: a transaction with the events it causes.
//!
//! Owns the order of things: writers take turns, the events are inserted last, and after the commit
//! the listener is told while the turn is still held, so that no two writers can tell theirs the
//! wrong way round. A caller that is dropped half-way (a client that hung up) cannot cut commit and
//! telling apart: they go on in a task of their own.
//!
//! The transaction begins with its first statement and ends with its last event: each walk to the
//! thread of the connection and back costs more than most statements do.
//!
//! What was committed is in the log and safe. It moves from there into the file every so many writes, after the caller
//! has its answer: SQLite would do that inside of a commit, and every so often a slot would wait for two more flushes
//! of the disk.
//!
//! sqlx's own transactions are not used for this. They count nesting beside SQLite, and after a
//! full disk, when SQLite has rolled back by itself, that count stays wrong and the connection
//! refuses every later transaction. Here a turn that may have left a transaction open is marked,
//! and the next one begins with a rollback.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rouse_core::UnixMs;
use rouse_core::event::{Event, EventKind};
use serde_json::Value;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteQueryResult, SqliteRow,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite};
use tokio::sync::OwnedMutexGuard;

use crate::answer_wait::answer;
use crate::events::{PRUNED_AFTER, Unstored};
use crate::identity::Identity;
use crate::to_the_end::ToTheEnd;
use crate::walk::{Done, Walk};
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
    doubt: Doubt,
    closed: bool,
    /// Commits since the log was moved into the file.
    in_log: u32,
    /// Events since old ones were pruned.
    unpruned: usize,
    commits: Arc<AtomicU64>,
}

/// What the turn before may have left behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Nothing,
    /// It ended without word about its transaction.
    Transaction,
    /// It could not even begin one.
    Connection,
}

/// Commits after which the log is moved into the file.
const LONG_LOG: u32 = 64;
/// Events of a commit after which it is, too.
const CROWD: usize = 256;

/// A transaction that is going. Dropped without `commit`, it leaves nothing behind.
pub(crate) struct Write {
    writer: OwnedMutexGuard<Writer>,
    listener: EventListener,
    what: &'static str,
    now: UnixMs,
    events: Vec<(EventKind, Value)>,
    /// Those that are in the transaction already.
    written: Vec<Event>,
    durability: Durability,
    has_begun: bool,
    /// Whether it has written so much that the log is long by itself.
    is_crowd: bool,
}

impl Store {
    /// How many writes were committed since it was opened. What was read is as it was while this number is.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// A turn for a write; `what` names it in errors.
    pub(crate) async fn write(
        &self,
        what: &'static str,
        durability: Durability,
        now: UnixMs,
    ) -> Result<Write, StoreError> {
        let writer = self.turns.take().await;
        self.write_with(writer, what, durability, now).await
    }

    /// The same with a turn that was taken.
    pub(crate) async fn write_with(
        &self,
        mut writer: OwnedMutexGuard<Writer>,
        what: &'static str,
        durability: Durability,
        now: UnixMs,
    ) -> Result<Write, StoreError> {
        if writer.closed {
            return Err(StoreError::Closed);
        }
        if !writer.identity.is_still_there() {
            return Err(StoreError::Gone { path: writer.identity.path().to_owned() });
        }
        writer.make_ready().await.map_err(|source| StoreError::Write { what, source })?;
        let listener = self.listener.clone();
        let (events, written) = (Vec::new(), Vec::new());
        let (has_begun, is_crowd) = (false, false);
        Ok(Write { writer, listener, what, now, events, written, durability, has_begun, is_crowd })
    }
}

impl Writer {
    pub(crate) const fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        identity: Identity,
        commits: Arc<AtomicU64>,
    ) -> Self {
        Self {
            connection: Some(connection),
            options,
            identity,
            durability: None,
            doubt: Doubt::Nothing,
            closed: false,
            in_log: 0,
            // Nobody knows how many the life before has left.
            unpruned: PRUNED_AFTER,
            commits,
        }
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Runs statements that no transaction may be around. Whatever goes wrong, the next turn gets a new connection.
    pub(crate) async fn alone(&mut self, statements: &[&'static str]) -> sqlx::Result<()> {
        self.make_ready().await?;
        for statement in statements {
            if let Err(error) = answer(sqlx::query(*statement).execute(self.connection())).await {
                self.connection = None;
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&mut self) {
        self.closed = true;
        if let Some(connection) = self.connection.take()
            && let Err(error) = answer(connection.close()).await
        {
            tracing::warn!(%error, "the database was not closed cleanly; the next start recovers it");
        }
    }

    /// A connection with no transaction open. Whatever is wrong with this one, the next turn gets a new one.
    async fn make_ready(&mut self) -> sqlx::Result<()> {
        let ready = self.try_make_ready().await;
        if ready.is_err() {
            self.connection = None;
        }
        ready
    }

    async fn try_make_ready(&mut self) -> sqlx::Result<()> {
        if self.connection.is_none() || self.doubt == Doubt::Connection {
            self.connection = None;
            self.connection = Some(answer(self.options.connect()).await?);
            (self.durability, self.doubt) = (None, Doubt::Nothing);
        }
        if self.doubt == Doubt::Transaction {
            self.roll_back_doubtful().await?;
        }
        Ok(())
    }

    /// Carries out a walk, after what begins a transaction with `begin`; what each statement did.
    async fn go(&mut self, walk: Walk, mut begin: Option<Durability>) -> sqlx::Result<Vec<Done>> {
        let mut all = Vec::new();
        for part in walk.into_parts() {
            let begun = begin.take();
            let opening = begun.map_or(("", 0), |durability| self.opening(durability));
            let (mut done, went) = part.go(opening, self.connection()).await;
            if done.len() < opening.1 {
                self.doubt = Doubt::Connection;
            } else if begun.is_some() {
                self.durability = begun;
            }
            went?;
            all.extend(done.drain(opening.1..));
        }
        Ok(all)
    }

    /// What begins a transaction, and how many statements that is.
    fn opening(&mut self, durability: Durability) -> (&'static str, usize) {
        let is_set = self.durability == Some(durability);
        (self.durability, self.doubt) = (None, Doubt::Transaction);
        match (is_set, durability) {
            (true, _) => ("BEGIN IMMEDIATE;", 1),
            (false, Durability::Full) => ("PRAGMA synchronous = FULL;BEGIN IMMEDIATE;", 2),
            (false, Durability::Normal) => ("PRAGMA synchronous = NORMAL;BEGIN IMMEDIATE;", 2),
        }
    }

    /// Ends the transaction that the turn before may have left open. SQLite may have ended it by
    /// itself (a full disk), and then says that there is none, which is as good.
    async fn roll_back_doubtful(&mut self) -> sqlx::Result<()> {
        const PLAIN_ERROR: i64 = 1;
        match answer(sqlx::query("ROLLBACK").execute(self.connection())).await {
            Err(error) if crate::error::code_of(&error) != Some(PLAIN_ERROR) => return Err(error),
            _ => {}
        }
        self.doubt = Doubt::Nothing;
        Ok(())
    }

    async fn roll_back(&mut self) -> sqlx::Result<()> {
        answer(sqlx::query("ROLLBACK").execute(self.connection())).await?;
        self.doubt = Doubt::Nothing;
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
        Ok(self.single(query).await?.result)
    }

    /// Runs a statement and reads its rows.
    pub(crate) async fn list<T>(
        &mut self,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let done = self.single(query).await?;
        self.read(&done, read)
    }

    /// Runs a statement and reads its first row.
    pub(crate) async fn one<T>(
        &mut self,
        query: Query,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let done = self.single(query).await?;
        self.read(&done, read).map(|rows| rows.into_iter().next())
    }

    /// Runs statements in one walk; answers what each has done, in their order.
    pub(crate) async fn go(&mut self, walk: Walk) -> Result<Vec<Done>, StoreError> {
        let begin = (!self.has_begun).then_some(self.durability);
        let done = self.writer.go(walk, begin).await;
        self.has_begun = self.writer.doubt == Doubt::Transaction;
        done.map_err(|source| StoreError::Write { what: self.what, source })
    }

    /// Reads the rows that a statement answered.
    pub(crate) fn read<T>(
        &self,
        done: &Done,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows: sqlx::Result<Vec<T>> = done.rows.iter().map(read).collect();
        rows.map_err(|source| StoreError::Write { what: self.what, source })
    }

    async fn single(&mut self, query: Query) -> Result<Done, StoreError> {
        let walk = Walk::of(query);
        let walk = walk.map_err(|source| StoreError::Write { what: self.what, source })?;
        Ok(self.go(walk).await?.into_iter().next().unwrap_or_default())
    }

    /// Takes back what was written so far; the turn goes on.
    pub(crate) async fn start_over(&mut self) -> Result<(), StoreError> {
        self.events.clear();
        self.written.clear();
        self.roll_back().await
    }

    /// Writes the events so far into the transaction; the listener is told after the commit.
    pub(crate) async fn write_events(&mut self) -> Result<(), StoreError> {
        let events = Unstored::of(std::mem::take(&mut self.events), self.now);
        let mut walk = Walk::default();
        if let Some(last) = events.insert(&mut walk, &mut self.writer.unpruned) {
            let done = self.go(walk).await?;
            self.written.extend(events.numbered(done[last].result.last_insert_rowid()));
        }
        Ok(())
    }

    /// Commits and tells the listener.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let (done, turn) = ToTheEnd::of(self.commit_and_tell(Walk::default())).await;
        turn.rest();
        done
    }

    /// The same after a walk, all of it in one. When a demand of the walk was not met, the turn comes back, to start over.
    pub(crate) async fn commit_after(self, walk: Walk) -> Result<Option<Self>, StoreError> {
        let (done, turn) = ToTheEnd::of(self.commit_and_tell(walk)).await;
        match done {
            Err(error) if error.is_unmet() => Ok(Some(turn)),
            done => {
                turn.rest();
                done.map(|()| None)
            }
        }
    }

    /// The turn is over; what is long by now becomes short.
    fn rest(self) {
        if self.writer.in_log >= LONG_LOG || self.is_crowd {
            tokio::spawn(self.move_log_into_file());
        }
    }

    /// Ends a write that found nothing to do.
    pub(crate) async fn undo(mut self) -> Result<(), StoreError> {
        self.roll_back().await
    }

    async fn roll_back(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.has_begun) {
            return Ok(());
        }
        let ended = self.writer.roll_back().await;
        ended.map_err(|source| StoreError::Write { what: self.what, source })
    }

    async fn commit_and_tell(mut self, walk: Walk) -> (Result<(), StoreError>, Self) {
        (self.try_commit_and_tell(walk).await, self)
    }

    async fn try_commit_and_tell(&mut self, mut walk: Walk) -> Result<(), StoreError> {
        let events = Unstored::of(std::mem::take(&mut self.events), self.now);
        let last = events.insert(&mut walk, &mut self.writer.unpruned);
        walk.add("COMMIT", |values| values);
        let done = self.go(walk).await?;
        self.writer.doubt = Doubt::Nothing;
        self.writer.in_log += 1;
        self.writer.commits.fetch_add(1, Ordering::SeqCst);
        let mut told = std::mem::take(&mut self.written);
        if let Some(last) = last {
            told.extend(events.numbered(done[last].result.last_insert_rowid()));
        }
        self.is_crowd = told.len() >= CROWD;
        if !told.is_empty() {
            (self.listener)(&told);
        }
        Ok(())
    }

    /// Nothing is lost when this fails or never happens: the log stays, and the next one moves more.
    async fn move_log_into_file(mut self) {
        self.writer.in_log = 0;
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        if let Err(error) = answer(checkpoint.execute(self.writer.connection())).await {
            tracing::debug!(%error, "the log of the database stays long");
        }
    }
}
