//! The writing connection.
//!
//! Owns the state between transactions. sqlx's own transactions are not used: sqlx counts nesting beside SQLite, and after
//! SQLite has rolled back by itself (a full disk) that count stays wrong and the connection refuses every later transaction.
//! Here the state of the connection is recorded, and the next transaction begins with a rollback or a new connection.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::batch::{Batch, StatementResult};
use super::error::code_of;
use super::event_log::PRUNE_INTERVAL;
use super::file::FileIdentity;
use super::reply::await_reply;

/// The failure that a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Power loss: for everything confirmed to a person, and for claims.
    Full,
    /// The end of the process. Power loss may undo the newest such commits, in order.
    Normal,
}

pub(crate) struct Writer {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    pub(super) identity: FileIdentity,
    durability: Option<Durability>,
    pub(super) state: WriterState,
    pub(super) is_closed: bool,
    /// Commits since the last checkpoint.
    pub(super) commits_in_log: u32,
    /// Events since the last pruning.
    pub(super) events_since_pruning: usize,
    pub(super) commits: Arc<AtomicU64>,
}

/// What the last transaction may have left behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriterState {
    Idle,
    /// A transaction may be open.
    InTransaction,
    /// A transaction could not be opened.
    Broken,
}

impl Writer {
    pub(super) const fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        identity: FileIdentity,
        commits: Arc<AtomicU64>,
    ) -> Self {
        Self {
            connection: Some(connection),
            options,
            identity,
            durability: None,
            state: WriterState::Idle,
            is_closed: false,
            commits_in_log: 0,
            // The process before may have left events to prune.
            events_since_pruning: PRUNE_INTERVAL,
            commits,
        }
    }

    /// Executes statements outside of a transaction. After an error the next transaction gets a new connection.
    pub(crate) async fn execute_outside_transaction(
        &mut self,
        statements: &[&'static str],
    ) -> sqlx::Result<()> {
        self.make_ready().await?;
        for statement in statements {
            let executed = sqlx::query(*statement).execute(self.connection());
            if let Err(error) = await_reply(executed).await {
                self.connection = None;
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) async fn close(&mut self) {
        self.is_closed = true;
        if let Some(connection) = self.connection.take()
            && let Err(error) = await_reply(connection.close()).await
        {
            tracing::warn!(%error, "the database was not closed cleanly; the next start recovers it");
        }
    }

    /// Makes sure of a connection without an open transaction; drops the connection on an error.
    pub(super) async fn make_ready(&mut self) -> sqlx::Result<()> {
        let ready = self.try_make_ready().await;
        if ready.is_err() {
            self.connection = None;
        }
        ready
    }

    async fn try_make_ready(&mut self) -> sqlx::Result<()> {
        if self.connection.is_none() || self.state == WriterState::Broken {
            self.connection = None;
            self.connection = Some(await_reply(self.options.connect()).await?);
            (self.durability, self.state) = (None, WriterState::Idle);
        }
        if self.state == WriterState::InTransaction {
            // SQLite may have rolled back by itself. The error then is plain, because no transaction is open.
            const PLAIN_ERROR: i64 = 1;
            match self.roll_back().await {
                Err(error) if code_of(&error) != Some(PLAIN_ERROR) => return Err(error),
                _ => self.state = WriterState::Idle,
            }
        }
        Ok(())
    }

    /// Executes a batch, in a new transaction if `begin` is given.
    pub(super) async fn execute(
        &mut self,
        batch: Batch,
        mut begin: Option<Durability>,
    ) -> sqlx::Result<Vec<StatementResult>> {
        let mut all = Vec::new();
        for part in batch.into_parts() {
            let began = begin.take();
            let (prefix, statements) = began.map_or(("", 0), |durability| self.opening(durability));
            let (mut results, outcome) = part.execute(prefix, statements, self.connection()).await;
            if results.len() < statements {
                self.state = WriterState::Broken;
            } else if began.is_some() {
                self.durability = began;
            }
            outcome?;
            all.extend(results.drain(statements..));
        }
        Ok(all)
    }

    /// The statements that open a transaction, and their number.
    fn opening(&mut self, durability: Durability) -> (&'static str, usize) {
        let is_set = self.durability == Some(durability);
        (self.durability, self.state) = (None, WriterState::InTransaction);
        match durability {
            _ if is_set => ("BEGIN IMMEDIATE;", 1),
            Durability::Full => ("PRAGMA synchronous = FULL;BEGIN IMMEDIATE;", 2),
            Durability::Normal => ("PRAGMA synchronous = NORMAL;BEGIN IMMEDIATE;", 2),
        }
    }

    pub(super) async fn roll_back(&mut self) -> sqlx::Result<()> {
        await_reply(sqlx::query("ROLLBACK").execute(self.connection())).await?;
        self.state = WriterState::Idle;
        Ok(())
    }

    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("BUG: a transaction without a connection")
    }
}
