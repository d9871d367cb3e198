//! Write transactions with their events.
//!
//! Owns the order: events are inserted last, and the listener receives them after the commit while the writer is still
//! locked, so that no two transactions report out of order. Commit and report run to completion even if the caller is
//! dropped. The transaction begins with its first batch and ends with the batch of its last event, because each round
//! trip to the connection's thread costs more than most statements. The write-ahead log is checkpointed every so many
//! commits, after the caller has the reply: inside a commit, a claim would wait for two more flushes of the disk.

use std::sync::atomic::Ordering;

use rouse_core::UnixMs;
use rouse_core::event::{Event, EventKind};
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::batch::{Batch, Query, StatementResult};
use super::completion::CompletingFuture;
use super::connection::{EventListener, Store};
use super::error::StoreError;
use super::event_log::PendingEvents;
use super::reply::await_reply;
use super::row::{FromColumns, RowReader};
use super::writer::{Durability, Writer, WriterState};

/// Commits after which the log is checkpointed.
const CHECKPOINT_COMMITS: u32 = 64;
/// Events of one commit after which the log is checkpointed at once.
const CHECKPOINT_EVENTS: usize = 256;

/// An open transaction. Dropping without `commit` rolls back.
pub(crate) struct Transaction {
    writer: OwnedMutexGuard<Writer>,
    listener: EventListener,
    action: &'static str,
    now: UnixMs,
    events: Vec<(EventKind, Value)>,
    /// Events that are inserted already.
    inserted_events: Vec<Event>,
    durability: Durability,
    has_begun: bool,
    is_large: bool,
}

impl Store {
    /// Locks the writer for a transaction; `action` completes "cannot …" in errors.
    pub(crate) async fn begin(
        &self,
        action: &'static str,
        durability: Durability,
        now: UnixMs,
    ) -> Result<Transaction, StoreError> {
        let writer = self.writers.acquire().await;
        self.begin_with(writer, action, durability, now).await
    }

    /// Begins a transaction with a locked writer.
    pub(crate) async fn begin_with(
        &self,
        mut writer: OwnedMutexGuard<Writer>,
        action: &'static str,
        durability: Durability,
        now: UnixMs,
    ) -> Result<Transaction, StoreError> {
        if writer.is_closed {
            return Err(StoreError::Closed);
        }
        if !writer.identity.is_current() {
            return Err(StoreError::Gone { path: writer.identity.path().to_owned() });
        }
        writer.make_ready().await.map_err(|source| StoreError::Write { action, source })?;
        Ok(Transaction {
            writer,
            listener: self.listener.clone(),
            action,
            now,
            events: Vec::new(),
            inserted_events: Vec::new(),
            durability,
            has_begun: false,
            is_large: false,
        })
    }
}

impl Transaction {
    /// The instant of this transaction.
    pub(crate) const fn now(&self) -> UnixMs {
        self.now
    }

    /// Adds an event that is committed with this transaction.
    pub(crate) fn emit(&mut self, kind: EventKind, data: Value) {
        self.events.push((kind, data));
    }

    /// Executes a statement; returns the number of changed rows.
    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        Ok(self.execute_one(query).await?.rows_affected)
    }

    /// Executes an insert; returns the row id.
    pub(crate) async fn insert(&mut self, query: Query) -> Result<i64, StoreError> {
        Ok(self.execute_one(query).await?.last_insert_rowid)
    }

    /// Executes a statement and decodes its rows.
    pub(crate) async fn fetch_all<T: for<'r> FromColumns<'r>>(
        &mut self,
        query: Query,
    ) -> Result<Vec<T>, StoreError> {
        let result = self.execute_one(query).await?;
        self.decode(&result)
    }

    /// Executes a statement and decodes its first row.
    pub(crate) async fn fetch_optional<T: for<'r> FromColumns<'r>>(
        &mut self,
        query: Query,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.fetch_all(query).await?.into_iter().next())
    }

    /// Whether a statement returns a row.
    pub(crate) async fn exists(&mut self, query: Query) -> Result<bool, StoreError> {
        Ok(self.fetch_optional::<()>(query).await?.is_some())
    }

    /// Executes a batch; returns the result of each statement.
    pub(crate) async fn execute_batch(
        &mut self,
        batch: Batch,
    ) -> Result<Vec<StatementResult>, StoreError> {
        let begin = (!self.has_begun).then_some(self.durability);
        let results = self.writer.execute(batch, begin).await;
        self.has_begun = self.writer.state == WriterState::InTransaction;
        results.map_err(|source| self.error(source))
    }

    /// Decodes the rows of a result.
    pub(crate) fn decode<'r, T: FromColumns<'r>>(
        &self,
        result: &'r StatementResult,
    ) -> Result<Vec<T>, StoreError> {
        let rows: sqlx::Result<_> =
            result.rows.iter().map(|row| RowReader::of(row).read()).collect();
        rows.map_err(|source| self.error(source))
    }

    /// Decodes the first row of a result.
    pub(crate) fn decode_first<'r, T: FromColumns<'r>>(
        &self,
        result: &'r StatementResult,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.decode(result)?.into_iter().next())
    }

    pub(crate) async fn execute_one(
        &mut self,
        query: Query,
    ) -> Result<StatementResult, StoreError> {
        let batch = Batch::of(query).map_err(|source| self.error(source))?;
        Ok(self.execute_batch(batch).await?.into_iter().next().unwrap_or_default())
    }

    fn error(&self, source: sqlx::Error) -> StoreError {
        StoreError::Write { action: self.action, source }
    }

    /// Rolls back all changes and keeps the writer for a new attempt.
    pub(crate) async fn restart(&mut self) -> Result<(), StoreError> {
        self.events.clear();
        self.inserted_events.clear();
        self.roll_back_open().await
    }

    /// Inserts the events so far; the listener receives them after the commit.
    pub(crate) async fn insert_events(&mut self) -> Result<(), StoreError> {
        let events = PendingEvents::of(std::mem::take(&mut self.events), self.now);
        let mut batch = Batch::default();
        if let Some(last) = events.insert(&mut batch, &mut self.writer.events_since_pruning) {
            let results = self.execute_batch(batch).await?;
            self.inserted_events.extend(events.numbered(results[last].last_insert_rowid));
        }
        Ok(())
    }

    /// Commits and reports the events to the listener.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let (outcome, transaction) =
            CompletingFuture::of(self.commit_batch(Batch::default())).await;
        transaction.checkpoint_if_due();
        outcome
    }

    /// Executes a batch and commits, in one round trip. Returns the transaction for `restart` if an expectation of the batch
    /// was not met.
    pub(crate) async fn commit_with(self, batch: Batch) -> Result<Option<Self>, StoreError> {
        let (outcome, transaction) = CompletingFuture::of(self.commit_batch(batch)).await;
        match outcome {
            Err(error) if error.is_unmet_expectation() => Ok(Some(transaction)),
            outcome => {
                transaction.checkpoint_if_due();
                outcome.map(|()| None)
            }
        }
    }

    /// Ends a transaction without changes.
    pub(crate) async fn roll_back(mut self) -> Result<(), StoreError> {
        self.roll_back_open().await
    }

    async fn roll_back_open(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.has_begun) {
            return Ok(());
        }
        self.writer.roll_back().await.map_err(|source| self.error(source))
    }

    async fn commit_batch(mut self, batch: Batch) -> (Result<(), StoreError>, Self) {
        (self.try_commit_batch(batch).await, self)
    }

    async fn try_commit_batch(&mut self, mut batch: Batch) -> Result<(), StoreError> {
        let events = PendingEvents::of(std::mem::take(&mut self.events), self.now);
        let last = events.insert(&mut batch, &mut self.writer.events_since_pruning);
        batch.add("COMMIT", |values| values);
        let results = self.execute_batch(batch).await?;
        self.writer.state = WriterState::Idle;
        self.writer.commits_in_log += 1;
        self.writer.commits.fetch_add(1, Ordering::SeqCst);
        let mut committed = std::mem::take(&mut self.inserted_events);
        if let Some(last) = last {
            committed.extend(events.numbered(results[last].last_insert_rowid));
        }
        self.is_large = committed.len() >= CHECKPOINT_EVENTS;
        if !committed.is_empty() {
            (self.listener)(&committed);
        }
        Ok(())
    }

    fn checkpoint_if_due(self) {
        if self.writer.commits_in_log >= CHECKPOINT_COMMITS || self.is_large {
            tokio::spawn(self.checkpoint());
        }
    }

    /// A failed checkpoint loses nothing: the log stays, and the next checkpoint moves more.
    async fn checkpoint(mut self) {
        self.writer.commits_in_log = 0;
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        if let Err(error) = await_reply(checkpoint.execute(self.writer.connection())).await {
            tracing::debug!(%error, "the write-ahead log could not be checkpointed");
        }
    }
}
