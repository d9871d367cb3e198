//! Opening a file: permissions, versions, migration.

use std::path::Path;

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::*;
use crate::StoreError;
use crate::sql::MIGRATIONS;

async fn raw(path: &Path) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.unwrap()
}

async fn try_open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, listener(&Arc::default())).await
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn linked_sqlite_is_new_enough() {
    let fixture = Fixture::new().await;
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&fixture.store.readers)
        .await
        .unwrap();
    assert!(crate::sql::require_sqlite(&version).is_ok(), "{version}");
}

#[test]
fn old_sqlite_is_refused_by_version() {
    let refused = crate::sql::require_sqlite("3.40.1").unwrap_err().to_string();
    assert_eq!(refused, "SQLite 3.40.1 is too old: 3.51.3 or newer is needed");
    for good in ["3.51.3", "3.52", "3.54.1", "4.0.0"] {
        assert!(crate::sql::require_sqlite(good).is_ok(), "{good}");
    }
    for bad in ["3.51.2", "3.9.9", ""] {
        assert!(crate::sql::require_sqlite(bad).is_err(), "{bad}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("deep/home");
    let path = home.join("rouse.db");
    let store = try_open(&path).await.unwrap();
    store.insert_job(&job("a"), NOW).await.unwrap();
    assert_eq!(mode(&home), 0o700);
    for name in ["rouse.db", "rouse.db-wal", "rouse.db-shm"] {
        assert_eq!(mode(&home.join(name)), 0o600, "{name}");
    }
    store.close().await;
}

#[cfg(unix)]
#[test]
fn new_file_is_created_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rouse.db");
    crate::sql::create_file(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[tokio::test]
async fn open_restricts_a_readable_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rouse.db");
    std::fs::write(&path, b"").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let store = try_open(&path).await.unwrap();
    for name in ["rouse.db", "rouse.db-wal", "rouse.db-shm"] {
        let path = folder.path().join(name);
        assert_eq!(mode(&path), 0o600, "{name}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(store);
    let _again = try_open(&path).await.unwrap();
    for name in ["rouse.db", "rouse.db-wal", "rouse.db-shm"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn newer_file_is_refused_unchanged() {
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    let mut connection = raw(&fixture.path()).await;
    sqlx::raw_sql("PRAGMA user_version = 700").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let before = std::fs::read(fixture.path()).unwrap();

    let refused = try_open(&fixture.path()).await.err().unwrap();
    let versions = format!("newer Rouse (schema 700, this version supports {})", MIGRATIONS.len());
    assert!(matches!(refused, StoreError::Newer { found: 700, .. }), "{refused:?}");
    assert!(refused.to_string().contains(&versions), "{refused}");
    assert_eq!(std::fs::read(fixture.path()).unwrap(), before);
}

#[tokio::test]
async fn foreign_file_is_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("other.db");
    let mut connection = raw(&database).await;
    sqlx::raw_sql("CREATE TABLE theirs (a)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let text = folder.path().join("letter.txt");
    std::fs::write(&text, "Dear Sir or Madam, ".repeat(100)).unwrap();

    for path in [database, text] {
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        let refused = try_open(&path).await.err().unwrap();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        #[cfg(unix)]
        assert_eq!(mode(&path), 0o644);
    }
}

#[tokio::test]
async fn failed_migration_leaves_file_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = raw(&folder.path().join("half.db")).await;
    let script = "CREATE TABLE first (a); CREATE TABLE first (a);";
    assert!(crate::sql::apply_migration(&mut connection, script, 1).await.is_err());
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let version: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut connection).await.unwrap();
    assert_eq!((tables, version), (0, 0));
}

#[tokio::test]
async fn first_schema_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let mut connection = raw(&path).await;
    crate::sql::apply_migration(&mut connection, MIGRATIONS[0], 1).await.unwrap();
    let row = "INSERT INTO jobs (id, name, enabled, revision, consecutive_failures, definition)
        VALUES ('a', 'Job a', 1, 1, 0, $1)";
    let definition = rouse_core::job::to_json(&job("a")).to_string();
    sqlx::query(row).bind(definition).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let store = try_open(&path).await.unwrap();
    let jobs = store.jobs(&crate::JobQuery::default()).await.unwrap().jobs;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].name, "Job a");
    let version: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&store.readers).await.unwrap();
    assert_eq!(usize::try_from(version).unwrap(), MIGRATIONS.len());
}

#[tokio::test]
async fn closed_file_reopens() {
    let fixture = Fixture::new().await;
    let saved = fixture.insert_job("a", Some(NOW)).await;
    fixture.store.close().await;
    assert!(!fixture.folder.path().join("rouse.db-wal").exists(), "the log was checkpointed");
    let error = fixture.store.insert_job(&job("b"), NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Closed), "{error:?}");

    let again = try_open(&fixture.path()).await.unwrap();
    assert_eq!(again.job(&saved.id).await.unwrap(), Some(saved));
}

#[tokio::test]
async fn unusable_folder_is_an_error_of_creation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = try_open(&file.join("rouse.db")).await.err().unwrap();
    assert!(matches!(refused, StoreError::Create { .. }), "{refused:?}");
}

#[tokio::test]
async fn checkpoint_follows_the_reply() {
    let fixture = Fixture::new().await;
    let size = || std::fs::metadata(fixture.path()).unwrap().len();
    let before = size();
    for n in 0..64 {
        assert_eq!(size(), before, "a commit does not checkpoint");
        fixture.insert_job(&n.to_string(), None).await;
    }
    // The next write waits for the checkpoint.
    fixture.insert_job("next", None).await;
    assert!(size() > before);
}
