//! The file and its connections: opening, versions, modes.
//!
//! Owns what must hold before the first statement of any table runs: the file is ours and not newer
//! than this binary, it and its siblings are for this user alone, and the linked SQLite is one that
//! does not corrupt it. It refuses to repair: a foreign or newer file is left exactly as it was
//! found. One could get this wrong by switching the journal mode before looking whose file it is,
//! by trusting the umask, or by giving every connection a large page cache.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rouse_core::event::Event;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection};

use crate::StoreError;
use crate::answer_wait::{answer, blocks};
use crate::identity::Identity;
use crate::turns::Turns;
use crate::walk::Walk;
use crate::write::{Query, Writer};

/// Told about events after their commit, in the order of their numbers. It runs while the writer is
/// held, so it must be quick and must not call the store.
pub type EventListener = Arc<dyn Fn(&[Event]) + Send + Sync>;

/// The SQLite file of Rouse. Cheap to clone; all clones share one writer and its readers.
#[derive(Clone)]
pub struct Store {
    pub(crate) turns: Arc<Turns>,
    pub(crate) readers: SqlitePool,
    pub(crate) listener: EventListener,
    pub(crate) commits: Arc<AtomicU64>,
}

/// "rous", so that `file` and a second program can tell whose file it is.
const APPLICATION_ID: i64 = 0x726f_7573;
/// Forward only; the number of applied ones is the file's `user_version`.
pub(crate) const MIGRATIONS: [&str; 16] = [
    include_str!("../schema/0001_initial.sql"),
    include_str!("../schema/0002_list_of_jobs.sql"),
    include_str!("../schema/0003_triggers.sql"),
    include_str!("../schema/0004_retention.sql"),
    include_str!("../schema/0005_announcements.sql"),
    include_str!("../schema/0006_approvals.sql"),
    include_str!("../schema/0007_memory.sql"),
    include_str!("../schema/0008_gate.sql"),
    include_str!("../schema/0009_spending.sql"),
    include_str!("../schema/0010_counted_slots.sql"),
    include_str!("../schema/0011_backoffs.sql"),
    include_str!("../schema/0012_places.sql"),
    include_str!("../schema/0013_time_at_work.sql"),
    include_str!("../schema/0014_inherited.sql"),
    include_str!("../schema/0015_calls.sql"),
    include_str!("../schema/0016_waits.sql"),
];
/// Before 3.51.3 a checkpoint beside a writer could corrupt the file (the WAL-reset bug).
const OLDEST_SQLITE: &str = "3.51.3";
/// Another program may hold the file for a moment, such as a backup.
const BUSY_FOR: Duration = Duration::from_secs(5);
const READERS: u32 = 2;

impl Store {
    /// Opens the file, makes it when it is not there, and brings it to this binary's schema.
    ///
    /// # Errors
    /// `Create`, `Open`, `OldSqlite`, `Foreign`, `Newer` or `Migrate`.
    pub async fn open(path: &Path, listener: EventListener) -> Result<Self, StoreError> {
        create(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
        let options = options(path);
        let mut connection =
            answer(options.connect()).await.map_err(|source| open_error(path, source))?;
        if let Err(refusal) = answer(admit(&mut connection, path)).await {
            // The first reason is the one to tell; closing a file that nothing was written to adds
            // none.
            drop(connection);
            return Err(refusal);
        }
        let reading = options.clone().read_only(true).pragma("cache_size", "-1024");
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .min_connections(0)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_lazy_with(reading);
        let commits = Arc::default();
        let writer = Writer::new(connection, options, Identity::of(path), Arc::clone(&commits));
        Ok(Self { turns: Arc::new(Turns::of(writer)), readers, listener, commits })
    }

    /// Gives back the memory in which connections that have nothing to do keep pages of the file, after a burst of work.
    pub async fn shrink_memory(&self) {
        const SHRINK: &str = "PRAGMA shrink_memory";
        let mut writer = self.turns.take().await;
        if !writer.is_closed()
            && let Err(error) = writer.alone(&[SHRINK]).await
        {
            tracing::debug!(%error, "memory of the store is kept");
        }
        // All that are free are held at once, or the same one would come again.
        let free: Vec<_> = (0..READERS).map_while(|_| self.free_reader()).collect();
        for mut reader in free {
            if let Err(error) = answer(sqlx::query(SHRINK).execute(&mut *reader)).await {
                tracing::debug!(%error, "memory of a reader is kept");
            }
        }
    }

    /// All rows of a statement.
    pub(crate) async fn all_rows(&self, query: Query) -> sqlx::Result<Vec<SqliteRow>> {
        let mut reader = self.reader().await?;
        let rows = answer(query.fetch_all(&mut *reader)).await;
        give_back(reader).await;
        rows
    }

    /// The first row of a statement.
    pub(crate) async fn first_row(&self, query: Query) -> sqlx::Result<Option<SqliteRow>> {
        let mut reader = self.reader().await?;
        let row = answer(query.fetch_optional(&mut *reader)).await;
        give_back(reader).await;
        row
    }

    /// All rows of each statement of a walk, in their order, read by one reader.
    pub(crate) async fn rows_of_each(&self, walk: Walk) -> sqlx::Result<Vec<Vec<SqliteRow>>> {
        let mut reader = self.reader().await?;
        let mut rows = Vec::with_capacity(walk.statements());
        let mut went = Ok(());
        for part in walk.into_parts() {
            let (done, result) = part.go(("", 0), &mut reader).await;
            rows.extend(done.into_iter().map(|done| done.rows));
            went = went.and(result);
        }
        give_back(reader).await;
        went.map(|()| rows)
    }

    async fn reader(&self) -> sqlx::Result<PoolConnection<Sqlite>> {
        // A thread that blocks has given every other reader back.
        if blocks() { answer(self.readers.acquire()).await } else { self.readers.acquire().await }
    }

    /// An open connection for reading that nobody uses now.
    fn free_reader(&self) -> Option<PoolConnection<Sqlite>> {
        (self.readers.num_idle() > 0).then(|| self.readers.try_acquire()).flatten()
    }

    /// Closes all connections; the last one moves everything from the write-ahead log into the
    /// file. Waits for the write that is going; verbs called later fail.
    pub async fn close(&self) {
        answer(self.readers.close()).await;
        self.turns.take().await.close().await;
    }
}

/// The pool takes a reader back in a task of its own, so that no caller waits. A thread that blocks does that at once.
async fn give_back(mut reader: PoolConnection<Sqlite>) {
    if blocks() {
        answer(reader.return_to_pool()).await;
    }
}

/// Makes the folder (0700) and the file (0600) before SQLite does, because SQLite asks the umask.
/// The files beside it (`-wal`, `-shm`) take their mode from it.
pub(crate) fn create(path: &Path) -> std::io::Result<()> {
    let mut folder = std::fs::DirBuilder::new();
    let mut file = std::fs::OpenOptions::new();
    folder.recursive(true);
    file.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create(parent)?;
    }
    file.open(path).map(drop)
}

/// Takes a file of ours back that others could read, such as one restored from a backup, and its
/// siblings with it.
#[cfg(unix)]
fn take_back(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let mode = match std::fs::metadata(&name) {
            Ok(found) => found.permissions().mode(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if mode & 0o077 != 0 {
            std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Other systems keep a user's files apart by the folder they are in.
#[cfg(not(unix))]
fn take_back(_: &Path) -> std::io::Result<()> {
    Ok(())
}

pub(crate) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_FOR)
        .synchronous(SqliteSynchronous::Normal)
        // What is kept between writes. One of many jobs at once may go over it until it is through, so that none of its
        // pages goes to the file twice.
        .pragma("cache_size", "-4096")
        .pragma("cache_spill", "OFF")
        .pragma("temp_store", "MEMORY")
        .pragma("trusted_schema", "OFF")
        // A long reader can let the log grow; the next checkpoint gives the space back.
        .pragma("journal_size_limit", "16777216")
        // Not within a commit that somebody waits for: `write` moves the log into the file, after it.
        .pragma("wal_autocheckpoint", "0")
        .thread_name(|n| format!("store-{n}"))
        // Statements hold no values, but their number would drown everything else in a log.
        .disable_statement_logging()
}

/// Looks whose file it is, then switches it to write-ahead logging and brings it to the newest
/// schema.
async fn admit(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let header = Header::read(connection).await.map_err(|source| open_error(path, source))?;
    let version = header.admitted(path)?;
    take_back(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    if header.is_empty {
        // Only a file with nothing in it takes this at once; `write_file_anew` is for the others.
        sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL")
            .execute(&mut *connection)
            .await
            .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    }
    sqlx::raw_sql("PRAGMA journal_mode = WAL")
        .execute(&mut *connection)
        .await
        .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    migrate(connection, version).await
}

/// What a file says about itself.
struct Header {
    sqlite: String,
    application_id: i64,
    user_version: i64,
    is_empty: bool,
}

impl Header {
    async fn read(connection: &mut SqliteConnection) -> sqlx::Result<Self> {
        let sql = "SELECT sqlite_version(), application_id, user_version,
                          NOT EXISTS (SELECT 1 FROM sqlite_schema)
                   FROM pragma_application_id, pragma_user_version";
        let row = sqlx::query(sql).fetch_one(connection).await?;
        Ok(Self {
            sqlite: row.try_get(0)?,
            application_id: row.try_get(1)?,
            user_version: row.try_get(2)?,
            is_empty: row.try_get(3)?,
        })
    }

    /// The number of migrations that the file has seen, if it may be used.
    fn admitted(&self, path: &Path) -> Result<usize, StoreError> {
        require_sqlite(&self.sqlite)?;
        let fresh = self.application_id == 0 && self.user_version == 0 && self.is_empty;
        if !fresh && self.application_id != APPLICATION_ID {
            return Err(StoreError::Foreign { path: path.to_owned() });
        }
        let known = MIGRATIONS.len();
        match usize::try_from(self.user_version) {
            Ok(version) if version <= known => Ok(version),
            _ => Err(StoreError::Newer {
                path: path.to_owned(),
                found: self.user_version,
                known: i64::try_from(known).expect("BUG: more migrations than fit"),
            }),
        }
    }
}

/// Applies what the file has not seen, each in one transaction with its number.
async fn migrate(connection: &mut SqliteConnection, version: usize) -> Result<(), StoreError> {
    for (index, script) in MIGRATIONS.iter().enumerate().skip(version) {
        let to = i64::try_from(index + 1).expect("BUG: more migrations than fit");
        apply(connection, script, to).await.map_err(|source| StoreError::Migrate { to, source })?;
    }
    Ok(())
}

pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    script: &'static str,
    to: i64,
) -> sqlx::Result<()> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(script).execute(&mut *transaction).await?;
    let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {to};");
    sqlx::raw_sql(sqlx::AssertSqlSafe(mark)).execute(&mut *transaction).await?;
    transaction.commit().await
}

pub(crate) fn require_sqlite(found: &str) -> Result<(), StoreError> {
    if parts(found) >= parts(OLDEST_SQLITE) {
        return Ok(());
    }
    Err(StoreError::OldSqlite { found: found.to_owned(), needed: OLDEST_SQLITE })
}

fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|part| u32::from_str(part).unwrap_or(0)).collect()
}

/// A file that is no SQLite file at all is foreign; everything else is an error of opening.
fn open_error(path: &Path, source: sqlx::Error) -> StoreError {
    const NOT_A_DATABASE: i64 = 26;
    let path = PathBuf::from(path);
    if crate::error::code_of(&source) == Some(NOT_A_DATABASE) {
        StoreError::Foreign { path }
    } else {
        StoreError::Open { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_opened_with_an_old_sqlite() {
        let sqlite = "3.51.2".to_owned();
        let header = Header { sqlite, application_id: 0, user_version: 0, is_empty: true };
        let admitted = header.admitted(Path::new("rouse.db"));
        assert!(matches!(admitted, Err(StoreError::OldSqlite { .. })), "{admitted:?}");
    }
}
