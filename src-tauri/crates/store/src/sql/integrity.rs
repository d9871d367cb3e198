//! The integrity check of a database file.
//!
//! Owns SQLite's check of every page and the advice about a damaged file. Never repairs: the person decides what to
//! recover. Pitfall: opening the file with `Store::open`, which creates and migrates it.

use std::error::Error as _;
use std::path::Path;

use sqlx::{ConnectOptions as _, Connection as _};

use super::connection::connect_options;
use super::error::StoreError;

/// Advice about a damaged database while Rouse runs and answers requests.
pub const DAMAGED_WHILE_RUNNING: &str = "The database is damaged: parts of it cannot be read. `rouse cron export` may \
     still save the jobs. Then quit Rouse, move rouse.db, rouse.db-wal and rouse.db-shm away, and restore a backup, or \
     start anew and import the jobs.";

/// Advice about a damaged database while Rouse is stopped: nothing can be exported then.
pub const DAMAGED_WHILE_STOPPED: &str = "The database is damaged: parts of it cannot be read. Move rouse.db, \
     rouse.db-wal and rouse.db-shm away, and restore a backup. Without a backup, start Rouse anew and restore the jobs \
     from an earlier export with `rouse cron import`.";

/// The problems that SQLite finds in the file at `path`, at most ten. Changes nothing.
///
/// # Errors
/// `Open` or `Read`, if the check fails for another reason than damage.
pub async fn integrity_problems(path: &Path) -> Result<Vec<String>, StoreError> {
    match check(path).await {
        Err(error) if error.is_damaged() => {
            Ok(vec![error.source().map(ToString::to_string).unwrap_or_default()])
        }
        checked => checked,
    }
}

async fn check(path: &Path) -> Result<Vec<String>, StoreError> {
    let opened = connect_options(path).read_only(true).connect().await;
    let mut connection =
        opened.map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    let query = sqlx::query_scalar::<_, String>("PRAGMA integrity_check(10)");
    let rows = query.fetch_all(&mut connection).await;
    let closed = connection.close().await;
    let read = |source| StoreError::Read { action: "check the database", source };
    let mut problems = rows.map_err(read)?;
    closed.map_err(read)?;
    problems.retain(|problem| problem != "ok");
    Ok(problems)
}
