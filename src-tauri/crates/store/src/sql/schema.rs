//! The schema version of a file, and migrations.
//!
//! Owns the checks before the first statement: the file belongs to Rouse, is not newer than this binary, and the linked
//! SQLite does not corrupt files. Each migration is one transaction with its number. Never repairs: a foreign or newer file
//! stays unchanged. Pitfall: switching the journal mode before the checks.

use std::path::Path;
use std::str::FromStr as _;

use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::error::{StoreError, code_of};
use super::file::restrict_access;

/// "rous": identifies the file to `file` and to other programs.
const APPLICATION_ID: i64 = 0x726f_7573;
/// Forward only; the number of applied migrations is the file's `user_version`.
pub(crate) const MIGRATIONS: [&str; 22] = [
    include_str!("../../schema/0001_initial.sql"),
    include_str!("../../schema/0002_list_of_jobs.sql"),
    include_str!("../../schema/0003_triggers.sql"),
    include_str!("../../schema/0004_retention.sql"),
    include_str!("../../schema/0005_announcements.sql"),
    include_str!("../../schema/0006_approvals.sql"),
    include_str!("../../schema/0007_memory.sql"),
    include_str!("../../schema/0008_gate.sql"),
    include_str!("../../schema/0009_spending.sql"),
    include_str!("../../schema/0010_counted_slots.sql"),
    include_str!("../../schema/0011_backoffs.sql"),
    include_str!("../../schema/0012_places.sql"),
    include_str!("../../schema/0013_time_at_work.sql"),
    include_str!("../../schema/0014_inherited.sql"),
    include_str!("../../schema/0015_calls.sql"),
    include_str!("../../schema/0016_waits.sql"),
    include_str!("../../schema/0017_input_requests.sql"),
    include_str!("../../schema/0018_call_attachments.sql"),
    include_str!("../../schema/0019_channels.sql"),
    include_str!("../../schema/0020_paired_recipients.sql"),
    include_str!("../../schema/0021_approval_lifetime.sql"),
    include_str!("../../schema/0022_built_tools.sql"),
];
/// Before 3.51.3 a checkpoint beside a writer could corrupt the file (the WAL-reset bug).
const OLDEST_SQLITE: &str = "3.51.3";

/// Checks the file, enables write-ahead logging and applies missing migrations.
pub(super) async fn prepare_file(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<(), StoreError> {
    let header = Header::read(connection).await.map_err(|source| open_error(path, source))?;
    let version = header.applied_migrations(path)?;
    restrict_access(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let open = |source| StoreError::Open { path: path.to_owned(), source };
    if header.is_empty {
        // SQLite applies this at once only to an empty file; `Store::rebuild_file` converts the others.
        let pragma = sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL");
        pragma.execute(&mut *connection).await.map_err(open)?;
    }
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut *connection).await.map_err(open)?;
    for (index, script) in MIGRATIONS.iter().enumerate().skip(version) {
        let to = i64::try_from(index + 1).expect("BUG: more migrations than fit");
        let applied = apply_migration(connection, script, to).await;
        applied.map_err(|source| StoreError::Migrate { to, source })?;
    }
    Ok(())
}

/// The identity of a file in its header.
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

    /// The number of applied migrations, if this binary may use the file.
    fn applied_migrations(&self, path: &Path) -> Result<usize, StoreError> {
        require_sqlite(&self.sqlite)?;
        let is_new = self.application_id == 0 && self.user_version == 0 && self.is_empty;
        if !is_new && self.application_id != APPLICATION_ID {
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

/// Applies one migration and writes its number, in one transaction.
pub(crate) async fn apply_migration(
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
    let parts = |version: &str| -> Vec<u32> {
        version.split('.').map(|part| u32::from_str(part).unwrap_or(0)).collect()
    };
    if parts(found) >= parts(OLDEST_SQLITE) {
        return Ok(());
    }
    Err(StoreError::OldSqlite { found: found.to_owned(), needed: OLDEST_SQLITE })
}

/// A file that is not SQLite is foreign; any other failure is an error of opening.
pub(super) fn open_error(path: &Path, source: sqlx::Error) -> StoreError {
    const NOT_A_DATABASE: i64 = 26;
    let path = path.to_owned();
    match code_of(&source) {
        Some(NOT_A_DATABASE) => StoreError::Foreign { path },
        _ => StoreError::Open { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_sqlite_opens_no_file() {
        let sqlite = "3.51.2".to_owned();
        let header = Header { sqlite, application_id: 0, user_version: 0, is_empty: true };
        let applied = header.applied_migrations(Path::new("rouse.db"));
        assert!(matches!(applied, Err(StoreError::OldSqlite { .. })), "{applied:?}");
    }
}
