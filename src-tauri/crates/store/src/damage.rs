//! Whether the file is whole, for whoever asks what is wrong.
//!
//! Owns SQLite's own check of every page, and what a person is told of a damaged file. It refuses to repair: what can be
//! saved is for the person to decide, and a file that is changed tells less about what became of it. One could get this
//! wrong by opening the file as the engine does, which makes it when it is not there and brings it to a newer schema.

use std::path::Path;

use sqlx::{ConnectOptions as _, Connection as _};

use crate::StoreError;
use crate::connection::options;

/// What to do about a damaged file while Rouse runs and can still be asked.
pub const DAMAGED: &str = "The database is damaged: parts of it cannot be read. `rouse cron export` may still save the \
     jobs. Then end Rouse, move rouse.db and the files beside it away, and put a backup in their place, or begin anew \
     and import the jobs.";

/// What to do about one while Rouse does not run: nothing can be exported then.
pub const DAMAGED_AT_REST: &str = "The database is damaged: parts of it cannot be read. Move rouse.db and the files beside \
     it whose names begin so (rouse.db-wal, rouse.db-shm) away, and put a backup in their place. Without a backup, start \
     Rouse anew and bring the jobs back from an earlier export with `rouse cron import`.";

/// What SQLite finds wrong with the file at `path`, at most ten complaints; none when it is whole. Nothing is changed.
///
/// # Errors
/// `Open` or `Read`, when it cannot be looked at for another reason than its damage.
pub async fn damage(path: &Path) -> Result<Vec<String>, StoreError> {
    match look(path).await {
        Err(error) if error.is_damaged() => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            Ok(vec![source.unwrap_or_default()])
        }
        looked => looked,
    }
}

async fn look(path: &Path) -> Result<Vec<String>, StoreError> {
    let opened = options(path).read_only(true).connect().await;
    let mut connection =
        opened.map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    let rows = sqlx::query_scalar::<_, String>("PRAGMA integrity_check(10)")
        .fetch_all(&mut connection)
        .await;
    let closed = connection.close().await;
    let read = |source| StoreError::Read { what: "check the database", source };
    let mut complaints = rows.map_err(read)?;
    closed.map_err(read)?;
    complaints.retain(|complaint| complaint != "ok");
    Ok(complaints)
}
