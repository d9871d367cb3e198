//! The size of the file and of the memory that connections hold.
//!
//! Owns the release of free space. A file made with `auto_vacuum = INCREMENTAL` releases free pages in small steps. An older
//! file must be rebuilt once, which blocks every write meanwhile, so the caller picks a quiet moment. A rebuild may be
//! interrupted at any point: the file changes only on completion.

use rouse_core::UnixMs;

use super::connection::{MAX_READERS, Store};
use super::error::StoreError;
use super::reply::await_reply;
use super::writer::Durability;

/// Pages released in one step.
const RELEASE_PAGES: &str = "PRAGMA incremental_vacuum(64)";

/// The size of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSize {
    /// Bytes that hold data.
    pub used: u64,
    /// Bytes that are free for new data, or to release.
    pub free: u64,
    /// Whether free pages can be released in steps.
    pub can_shrink: bool,
}

const SIZE: &str = "SELECT page_count * page_size, freelist_count * page_size, auto_vacuum
    FROM pragma_page_count, pragma_page_size, pragma_freelist_count, pragma_auto_vacuum";
/// The value of `PRAGMA auto_vacuum`.
const INCREMENTAL: i64 = 2;

impl Store {
    /// The size of the file.
    pub async fn file_size(&self) -> Result<FileSize, StoreError> {
        let size =
            self.fetch_optional::<(u64, u64, i64)>("measure the database", sqlx::query(SIZE));
        let (total, free, mode) = size.await?.unwrap_or_default();
        Ok(FileSize { used: total.saturating_sub(free), free, can_shrink: mode == INCREMENTAL })
    }

    /// Releases some free pages at the end of the file to the system.
    pub async fn release_free_pages(&self, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("shrink the database", Durability::Normal, now).await?;
        tx.execute(sqlx::query(RELEASE_PAGES)).await?;
        tx.commit().await
    }

    /// Rewrites the whole file without free pages and with incremental vacuum. Every other write waits. On an error the file
    /// is unchanged.
    pub async fn rebuild_file(&self) -> Result<(), StoreError> {
        let mut writer = self.writers.acquire().await;
        if writer.is_closed {
            return Err(StoreError::Closed);
        }
        let statements = [
            "PRAGMA auto_vacuum = INCREMENTAL",
            // The copy is as large as the file and must not be in memory.
            "PRAGMA temp_store = FILE",
            "VACUUM",
            "PRAGMA temp_store = MEMORY",
        ];
        let action = "rebuild the database";
        let rebuilt = writer.execute_outside_transaction(&statements).await;
        rebuilt.map_err(|source| StoreError::Write { action, source })
    }

    /// Releases the page caches of idle connections after a burst of work.
    pub async fn shrink_memory(&self) {
        const SHRINK: &str = "PRAGMA shrink_memory";
        let mut writer = self.writers.acquire().await;
        if !writer.is_closed
            && let Err(error) = writer.execute_outside_transaction(&[SHRINK]).await
        {
            tracing::debug!(%error, "the cache of the writer could not be released");
        }
        // All idle readers are held at once; otherwise the pool would return the same reader again.
        let is_idle = || self.readers.num_idle() > 0;
        let idle: Vec<_> = (0..MAX_READERS)
            .map_while(|_| is_idle().then(|| self.readers.try_acquire()).flatten())
            .collect();
        for mut reader in idle {
            if let Err(error) = await_reply(sqlx::query(SHRINK).execute(&mut *reader)).await {
                tracing::debug!(%error, "the cache of a reader could not be released");
            }
        }
    }
}
