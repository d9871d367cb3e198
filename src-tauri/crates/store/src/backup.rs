//! Copies of the file, and what a restored copy must not do a second time.
//!
//! Owns the copy (`VACUUM INTO`, which reads one state of the file beside every writer) and the end of everything that was
//! going on in a copy. Never touches the file that is copied. Pitfall: a run that was at work when the copy was made has
//! ended since, so a restored copy that resumes it works twice.

use std::path::{Path, PathBuf};

use rouse_core::delivery::DeliveryState;
use rouse_core::{Outcome, RunId, RunState, UnixMs};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::answer_wait::answer;
use crate::connection::{create, options};
use crate::finish::end;
use crate::row::Columns;
use crate::settings::{PENDING_TURN, put};
use crate::steps::lose_unfinished;
use crate::write::Durability;
use crate::{Store, StoreError};

/// The setting of a file that was restored: from which backup, and when. Null once its slots are settled.
const RESTORED: &str = "restored";

/// That this file is a restored backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// When the backup was made.
    pub backup_at: UnixMs,
    /// When it was restored.
    pub restored_at: UnixMs,
}

pub(crate) const OPEN: &str =
    "SELECT id FROM runs WHERE finished_at IS NULL AND state IN ('queued', 'running')";
pub(crate) const SUPPRESS: &str =
    "UPDATE outbox SET state = ?1, reason = ?2, settled_at = ?3, next_attempt_at = NULL
    WHERE state IN ('pending', 'held')";
pub(crate) const DRAIN_ALL: &str =
    "UPDATE system_events SET drained_at = ?1 WHERE drained_at IS NULL";

/// Copies the database at `from` to the new file `to`, mode 0600. Whoever writes goes on meanwhile.
///
/// # Errors
/// `Create`, `Open` or `Read`; then there is no copy.
pub async fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    create(to).map_err(|source| StoreError::Create { path: to.to_owned(), source })?;
    let copied = copy(from, to).await;
    if copied.is_err() {
        // The first failure is the one to tell.
        drop(std::fs::remove_file(to));
    }
    copied
}

async fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let opened = answer(options(from).read_only(true).connect()).await;
    let mut connection =
        opened.map_err(|source| StoreError::Open { path: from.to_owned(), source })?;
    let copied = sqlx::query("VACUUM INTO ?1").bind(to.display().to_string());
    let copied = answer(copied.execute(&mut connection)).await;
    let closed = answer(connection.close()).await;
    let read = |source| StoreError::Read { what: "copy the database", source };
    copied.map_err(read)?;
    closed.map_err(read)
}

/// Marks the restored file at `path`: its next start settles what lies between the backup and now. Answers how many grants
/// it holds.
///
/// # Errors
/// As [`Store::open`]; `Write`.
pub async fn mark_restored(path: &Path, restored: Restored) -> Result<usize, StoreError> {
    let store = Store::open(path, std::sync::Arc::new(|_| ())).await?;
    let Restored { backup_at, restored_at } = restored;
    let value = json!({ "backupAtMs": backup_at.0, "restoredAtMs": restored_at.0 });
    let marked = store.put_setting(RESTORED, &value, None, restored_at).await;
    let grants = store.grants().await;
    store.close().await;
    marked?;
    Ok(grants?.len())
}

/// The files of a database: the file itself and its siblings.
#[must_use]
pub fn database_files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

impl Store {
    /// That this file was restored and nobody has settled it yet.
    ///
    /// # Errors
    /// `Read`.
    pub async fn restored(&self) -> Result<Option<Restored>, StoreError> {
        let stored = self.setting(RESTORED).await?;
        let at = |name: &str| stored.as_ref()?.get(name)?.as_i64().map(UnixMs);
        Ok(at("backupAtMs")
            .zip(at("restoredAtMs"))
            .map(|(backup_at, restored_at)| Restored { backup_at, restored_at }))
    }

    /// Ends what was going on in a restored file: runs that waited or were at work are interrupted, deliveries on their way
    /// are suppressed, queued lines and a turn that was asked for are dropped. Questions stay open. All for `reason`.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn end_restored(&self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let what = "end what the backup was doing";
        let open = self.list(what, sqlx::query(OPEN), |row| Columns::of(row).id(RunId::new));
        let open = open.await?;
        let mut write = self.write(what, Durability::Full, now).await?;
        let outcome =
            Outcome { reason: Some(reason.to_owned()), ..Outcome::of(RunState::Interrupted) };
        for run in &open {
            lose_unfinished(&mut write, run).await?;
            end(&mut write, run, None, &outcome, None).await?;
        }
        let suppress = sqlx::query(SUPPRESS).bind(DeliveryState::Suppressed.name());
        write.run(suppress.bind(reason.to_owned()).bind(now.0)).await?;
        write.run(sqlx::query(DRAIN_ALL).bind(now.0)).await?;
        put(&mut write, PENDING_TURN, &Value::Null).await?;
        write.commit().await
    }

    /// Notes that a restored file is settled.
    ///
    /// # Errors
    /// `Write`.
    pub async fn restored_is_settled(&self, now: UnixMs) -> Result<(), StoreError> {
        self.put_setting(RESTORED, &Value::Null, None, now).await
    }
}
