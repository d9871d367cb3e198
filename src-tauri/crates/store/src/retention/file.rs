//! The size of the file, and giving space back to the system.
//!
//! A file that is new keeps track of its free pages (`auto_vacuum = INCREMENTAL`) and gives them back in small steps.
//! One that was made before has to be written anew once; that holds up every write for as long as it takes, so the
//! caller picks a quiet moment. It may be cut off at any point: until it is done the file is as it was.

use rouse_core::{SessionKey, UnixMs};

use crate::row::Columns;
use crate::write::Durability;
use crate::{Store, StoreError};

/// Pages given back in one step.
const PAGES: u32 = 64;

/// How large the database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSize {
    /// Bytes that hold something.
    pub used: u64,
    /// Bytes that are free and will be filled again, or given back.
    pub free: u64,
    /// Whether free pages can be given back in steps.
    pub can_shrink: bool,
}

/// What is kept, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Runs of all jobs.
    pub runs: u32,
    /// When the oldest of them was made.
    pub oldest_run_at: Option<UnixMs>,
    /// Messages of all sessions.
    pub messages: u32,
}

const KEPT: &str = "SELECT (SELECT count(*) FROM runs), (SELECT min(created_at) FROM runs),
        (SELECT sum(message_count) FROM sessions)";
const SIZE: &str = "SELECT page_count * page_size, freelist_count * page_size, auto_vacuum
    FROM pragma_page_count, pragma_page_size, pragma_freelist_count, pragma_auto_vacuum";
const SAID: &str =
    "SELECT coalesce(sum(octet_length(message)), 0) FROM messages WHERE session = ?1";
/// `PRAGMA auto_vacuum` answers with this number.
const INCREMENTAL: i64 = 2;

impl Store {
    /// The size of the file.
    ///
    /// # Errors
    /// `Read`.
    pub async fn file_size(&self) -> Result<FileSize, StoreError> {
        let size = self.one("measure the database", sqlx::query(SIZE), |row| {
            let mut columns = Columns::of(row);
            let (all, free, mode): (i64, i64, i64) =
                (columns.get()?, columns.get()?, columns.get()?);
            let bytes = |number: i64| u64::try_from(number).unwrap_or(0);
            Ok(FileSize {
                used: bytes(all - free),
                free: bytes(free),
                can_shrink: mode == INCREMENTAL,
            })
        });
        Ok(size.await?.unwrap_or(FileSize { used: 0, free: 0, can_shrink: false }))
    }

    /// The bytes of what was said in the main session, which nobody prunes; reads all of it.
    ///
    /// # Errors
    /// `Read`.
    pub async fn main_session_bytes(&self) -> Result<u64, StoreError> {
        let query = sqlx::query(SAID).bind(SessionKey::main().to_string());
        let said = self.one("measure the main session", query, |row| Columns::of(row).get::<i64>());
        Ok(said.await?.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0))
    }

    /// What is kept; counts every run.
    ///
    /// # Errors
    /// `Read`.
    pub async fn kept(&self) -> Result<Kept, StoreError> {
        let kept = self.one("count what is kept", sqlx::query(KEPT), |row| {
            let mut columns = Columns::of(row);
            Ok(Kept {
                runs: columns.count()?,
                oldest_run_at: columns.some_instant()?,
                messages: columns.some_count()?,
            })
        });
        Ok(kept.await?.unwrap_or(Kept { runs: 0, oldest_run_at: None, messages: 0 }))
    }

    /// Gives some free pages at the end of the file back to the system; nothing when there are none.
    ///
    /// # Errors
    /// `Write`.
    pub async fn give_space_back(&self, now: UnixMs) -> Result<(), StoreError> {
        let mut write = self.write("shrink the database", Durability::Normal, now).await?;
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({PAGES})"));
        write.list(sqlx::query(sql), |_| Ok(())).await?;
        write.commit().await
    }

    /// Writes the whole file anew, without free pages, in the form that can shrink by steps. Every other write waits
    /// until it is done.
    ///
    /// # Errors
    /// `Write`: the file is as it was.
    pub async fn write_file_anew(&self) -> Result<(), StoreError> {
        let mut writer = self.turns.take().await;
        if writer.is_closed() {
            return Err(StoreError::Closed);
        }
        let what = "write the database anew";
        let statements = [
            "PRAGMA auto_vacuum = INCREMENTAL",
            // The copy is as large as the file; it must not be in memory.
            "PRAGMA temp_store = FILE",
            "VACUUM",
            "PRAGMA temp_store = MEMORY",
        ];
        writer.alone(&statements).await.map_err(|source| StoreError::Write { what, source })
    }
}
