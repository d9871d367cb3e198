//! The store: one writing connection and a few reading ones.
//!
//! Owns their options and lifetime. Pitfall: a large page cache for every connection.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::event::Event;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

use super::error::StoreError;
use super::file::{FileIdentity, create_file};
use super::reply::await_reply;
use super::schema::{open_error, prepare_file};
use super::writer::Writer;
use super::writer_queue::WriterQueue;

/// Receives events after the commit, in the order of the numbers. Runs while the writer is locked: must be quick and must
/// not call the store.
pub type EventListener = Arc<dyn Fn(&[Event]) + Send + Sync>;

/// The SQLite file of Rouse. Cheap to clone; all clones share the writer and the readers.
#[derive(Clone)]
pub struct Store {
    pub(crate) writers: Arc<WriterQueue>,
    pub(crate) readers: SqlitePool,
    pub(super) listener: EventListener,
    commits: Arc<AtomicU64>,
}

/// Another program may lock the file for a moment, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const MAX_READERS: u32 = 2;

impl Store {
    /// Opens or creates the file and applies missing migrations.
    ///
    /// # Errors
    /// `Create`, `Open`, `OldSqlite`, `Foreign`, `Newer` or `Migrate`.
    pub async fn open(path: &Path, listener: EventListener) -> Result<Self, StoreError> {
        create_file(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
        let options = connect_options(path);
        let connection = await_reply(options.connect()).await;
        let mut connection = connection.map_err(|source| open_error(path, source))?;
        if let Err(refusal) = await_reply(prepare_file(&mut connection, path)).await {
            // Nothing was written, so a failure to close adds nothing to the refusal.
            drop(connection);
            return Err(refusal);
        }
        let readers = SqlitePoolOptions::new()
            .max_connections(MAX_READERS)
            .min_connections(0)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().read_only(true).pragma("cache_size", "-1024"));
        let commits = Arc::default();
        let writer = Writer::new(connection, options, FileIdentity::of(path), Arc::clone(&commits));
        Ok(Self { writers: Arc::new(WriterQueue::of(writer)), readers, listener, commits })
    }

    /// The number of commits since the store was opened. While unchanged, earlier reads are current.
    #[must_use]
    pub fn commit_count(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// Closes all connections after the current write and checkpoints the write-ahead log. Later calls fail with
    /// `Closed`.
    pub async fn close(&self) {
        await_reply(self.readers.close()).await;
        self.writers.acquire().await.close().await;
    }
}

pub(crate) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .synchronous(SqliteSynchronous::Normal)
        // The cache between writes. A large transaction may exceed the cache without spilling: no page is written twice.
        .pragma("cache_size", "-4096")
        .pragma("cache_spill", "OFF")
        .pragma("temp_store", "MEMORY")
        .pragma("trusted_schema", "OFF")
        // A long read can let the log grow; the next checkpoint truncates the log.
        .pragma("journal_size_limit", "16777216")
        // Never within a commit: `Transaction` checkpoints after the reply to the caller.
        .pragma("wal_autocheckpoint", "0")
        .thread_name(|n| format!("store-{n}"))
        // Statements hold no values, but their number would flood the log.
        .disable_statement_logging()
}
