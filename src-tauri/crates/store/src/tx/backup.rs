//! Backup copies of the file, and the first start of a restored copy.
//!
//! Owns the copy (`VACUUM INTO` reads one state of the file beside every writer) and the end of all work in a restored copy.
//! Never changes the copied file. Pitfall: resuming a run of a restored copy that has ended in the original.

use std::path::Path;
use std::sync::Arc;

use rouse_core::approval::Approval;
use rouse_core::delivery::DeliveryState;
use rouse_core::{RunId, UnixMs};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _};

use super::finish::interrupt;
use crate::sql::{
    COPY_FILE, Durability, Store, StoreError, await_reply, connect_options, create_file,
};
use crate::tables::recipients::unpair_all;
use crate::tables::settings::{PENDING_MAIN_TURN, put_setting};

/// The setting of a restored file; null once the work is ended.
const RESTORE_KEY: &str = "restored";

/// Marks a file as a restored backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreMark {
    /// When the backup was made.
    pub backup_at: UnixMs,
    /// When the backup was restored.
    pub restored_at: UnixMs,
}

/// The permissions of a restored backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredPermissions {
    /// The number of valid grants.
    pub grants: usize,
    /// The number of approvals that are pending and not expired.
    pub pending_approvals: usize,
}

const OPEN_RUNS: &str =
    "SELECT id FROM runs WHERE finished_at IS NULL AND state IN ('queued', 'running')";
const SUPPRESS_ALL: &str =
    "UPDATE outbox SET state = $1, reason = $2, settled_at = $3, next_attempt_at = NULL
    WHERE state IN ('pending', 'held', 'sending', 'unknown')";
const DRAIN_ALL: &str = "UPDATE system_events SET drained_at = $1 WHERE drained_at IS NULL";

/// Copies the database at `from` to the new file `to`, mode 0600, beside running writers. On an error there is no copy.
///
/// # Errors
/// `Create`, `Open` or `Read`.
pub async fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    create_file(to).map_err(|source| StoreError::Create { path: to.to_owned(), source })?;
    let copied = copy(from, to).await;
    if copied.is_err() {
        // The first error is reported.
        drop(std::fs::remove_file(to));
    }
    copied
}

async fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let opened = await_reply(connect_options(from).read_only(true).connect()).await;
    let mut connection =
        opened.map_err(|source| StoreError::Open { path: from.to_owned(), source })?;
    let query = sqlx::query(COPY_FILE).bind(to.display().to_string());
    let copied = await_reply(query.execute(&mut connection)).await;
    let closed = await_reply(connection.close()).await;
    let read = |source| StoreError::Read { action: "copy the database", source };
    copied.map_err(read)?;
    closed.map_err(read)
}

/// Marks the restored file at `path`, so that the next start ends its work. Returns the permissions of
/// the backup.
///
/// # Errors
/// As [`Store::open`].
pub async fn mark_restored(
    path: &Path,
    mark: RestoreMark,
) -> Result<RestoredPermissions, StoreError> {
    let store = Store::open(path, Arc::new(|_| ())).await?;
    let RestoreMark { backup_at, restored_at } = mark;
    let value = json!({ "backupAtMs": backup_at.0, "restoredAtMs": restored_at.0 });
    let marked = store.put_setting(RESTORE_KEY, &value, None, restored_at).await;
    let grants = store.grants().await;
    let approvals = store.pending_approvals().await;
    store.close().await;
    marked?;
    let grants = grants?.iter().filter(|grant| grant.is_valid(restored_at)).count();
    let is_open = |approval: &&Approval| restored_at < approval.expires_at;
    let pending_approvals = approvals?.iter().filter(is_open).count();
    Ok(RestoredPermissions { grants, pending_approvals })
}

impl Store {
    /// The mark of a restored file whose work is not ended yet.
    pub async fn restore_mark(&self) -> Result<Option<RestoreMark>, StoreError> {
        let stored = self.setting(RESTORE_KEY).await?;
        let at = |name: &str| stored.as_ref()?.get(name)?.as_i64().map(UnixMs);
        Ok(at("backupAtMs")
            .zip(at("restoredAtMs"))
            .map(|(backup_at, restored_at)| RestoreMark { backup_at, restored_at }))
    }

    /// Ends the work of a restored file for `reason`: interrupts queued and running runs, suppresses open deliveries, drains
    /// queued events, drops a requested main turn and unpairs all recipients. Approvals stay pending.
    pub async fn end_restored_work(&self, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let action = "end the work of the backup";
        let open: Vec<RunId> = self.fetch_all(action, sqlx::query(OPEN_RUNS)).await?;
        let mut tx = self.begin(action, Durability::Full, now).await?;
        for run in &open {
            interrupt(&mut tx, run, None, reason).await?;
        }
        let suppress = sqlx::query(SUPPRESS_ALL).bind(DeliveryState::Suppressed.name());
        tx.execute(suppress.bind(reason).bind(now.0)).await?;
        tx.execute(sqlx::query(DRAIN_ALL).bind(now.0)).await?;
        // A backup must not pair a lost phone again.
        unpair_all(&mut tx).await?;
        put_setting(&mut tx, PENDING_MAIN_TURN, &Value::Null).await?;
        tx.commit().await
    }

    /// Clears the mark of a restored file.
    pub async fn clear_restore_mark(&self, now: UnixMs) -> Result<(), StoreError> {
        self.put_setting(RESTORE_KEY, &Value::Null, None, now).await
    }
}
