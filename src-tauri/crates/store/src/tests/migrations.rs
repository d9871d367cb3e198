//! Files of every released schema open, and a power cut during a migration loses nothing.

use rouse_testkit::{Dice, FaultyDisk};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::*;
use crate::sql::{MIGRATIONS, apply_migration};

/// TableRows as written by the version that introduced a schema, for each new table and column. Frozen with the
/// release.
const GOLDEN: [(usize, &str); 19] = [
    (1, include_str!("golden_0001.sql")),
    (3, include_str!("golden_0003.sql")),
    (4, include_str!("golden_0004.sql")),
    (5, include_str!("golden_0005.sql")),
    (6, include_str!("golden_0006.sql")),
    (7, include_str!("golden_0007.sql")),
    (8, include_str!("golden_0008.sql")),
    (9, include_str!("golden_0009.sql")),
    (10, include_str!("golden_0010.sql")),
    (11, include_str!("golden_0011.sql")),
    (12, include_str!("golden_0012.sql")),
    (13, include_str!("golden_0013.sql")),
    (14, include_str!("golden_0014.sql")),
    (15, include_str!("golden_0015.sql")),
    (18, include_str!("golden_0018.sql")),
    (19, include_str!("golden_0019.sql")),
    (20, include_str!("golden_0020.sql")),
    (21, include_str!("golden_0021.sql")),
    (22, include_str!("golden_0022.sql")),
];

/// The SHA-256 of each released script. These tests make old files with the scripts of this version: an edited script
/// would migrate files that do not exist, and existing files would never get the change. Never edit a released script;
/// add a correcting script and its hash.
const RELEASED: [&str; 22] = [
    "182c1663e85ddbcb8b169cf8b96eb99dfbc12cbed75acaf476a300edda3ed02d",
    "994a8254387c9d01d5f337a7cb92cb4a35c028ffa5d0af5d664db8a103f40501",
    "032444f8a0a92723ab6b97d39c6d27a160d25c780f77a5be33cf70cbdbe528de",
    "16039fa3fa5eed3a2d2c48c8678c03c1a0d3b88f367a3f1e359e3abea5e1a6e9",
    "beb4d7143fe54b967b9db975914b22d4a082c17fb4dd29d68f5d52d1e07e29dd",
    "3feef425aafbbe2820b7382e1273edd1307676cedc4b1bdcf7ae5741ac1eb4b5",
    "7208b8fa5d16035f7310d7b995bc91e2c1ce319fb329509b79d8f1680320b09c",
    "684d8d49154c8ab9c67c7164c16b8126e89996fca68a617b612c8ac68c40b5c2",
    "20b8916765932c92c1830e8532a934714508349ec71a46c1ee30ae23a569a20d",
    "a55d054bfa70337fffbb6f774f24cdb75c2519c274e1e4aa77cdc53272aa102a",
    "15e7a93e84ecf348748241a1790fbc4160e5b8b5462e9a311785e3b7d7ee0eb2",
    "44f94929d9e109db7d482e86ee6d9c7d9bb02fd036a0d4a81936df24b930341a",
    "d22dec4b0eef22dfafc34d95d748c86ddf9bc145e04d94aebb54a9970f84f80c",
    "864f91a4f3aa13595b4a8facf971be8143ddccbdc66ee13a66453914ac64f51d",
    "1f19d904f493ea8cdd1ff452ddd01c4f1368063d37f0acf69013170ee94fa45b",
    "cd7b61c7669811ca137d1d24f6fd62034221d5872ff86e08dc7bf9ebedce502f",
    "418896eaf9d742213d14f13ae213bf77a27faaafe2f6ba19140848dbfb41d885",
    "345b7b4fc8fdde8439c80f43ac201a01fd3929c7655eb18f21f27a90a4066f53",
    "0ff2fcec38b2572789e436c2f318af6301edbe462007b4ad3bb7b2dd74c634c2",
    "e5fd8f44eb9a404853e205d2501f389e911d4638583702b579e4a6b32aebf561",
    "b706289ae241386bdf72b89f552db2444143d2ecd3387bf2e9a5eb5fb15fafb5",
    "0826bd51a567e068ff9b366872db00980ccd9cb675122933373df62c2feb5a79",
];

/// Makes a closed file of an earlier schema.
async fn golden(path: &std::path::Path, version: usize) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut connection).await.unwrap();
    for (index, script) in MIGRATIONS.iter().enumerate().take(version) {
        apply_migration(&mut connection, script, i64::try_from(index + 1).unwrap()).await.unwrap();
        for (_, rows) in GOLDEN.iter().filter(|(of, _)| *of == index + 1) {
            sqlx::raw_sql(*rows).execute(&mut connection).await.unwrap();
        }
    }
    sqlx::Connection::close(connection).await.unwrap();
}

/// Columns and rows of each table.
type TableRows = std::collections::BTreeMap<String, (Vec<String>, Vec<String>)>;

/// The rows of a file, with all columns or with the columns of another file.
async fn rows(path: &std::path::Path, of: Option<&TableRows>) -> TableRows {
    let mut connection =
        SqliteConnectOptions::new().filename(path).read_only(true).connect().await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        // Without the shadow tables of virtual tables.
        "SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let mut rows = TableRows::new();
    for table in tables {
        let columns: Vec<String> = match of {
            Some(of) if !of.contains_key(&table) => continue,
            Some(of) => of[&table].0.clone(),
            None => sqlx::query_scalar("SELECT name FROM pragma_table_info($1)")
                .bind(&table)
                .fetch_all(&mut connection)
                .await
                .unwrap(),
        };
        // JSON has no bytes; `quote` writes them in hexadecimal.
        let quoted: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
        let query = format!("SELECT json_array({}) FROM {table} ORDER BY 1", quoted.join(", "));
        let found = sqlx::query_scalar(sqlx::AssertSqlSafe(query));
        rows.insert(table, (columns, found.fetch_all(&mut connection).await.unwrap()));
    }
    sqlx::Connection::close(connection).await.unwrap();
    rows
}

/// Opens and closes a file: no row is lost.
async fn assert_no_row_lost(path: &std::path::Path, before: &TableRows, place: &str) {
    let opened = Store::open(path, listener(&Arc::default())).await;
    opened.unwrap_or_else(|error| panic!("{place}: {error:?}")).close().await;
    assert_eq!(&rows(path, Some(before)).await, before, "{place}");
}

/// All data of the person is readable, and the file accepts writes.
async fn assert_complete(store: &Store, place: &str) {
    let daily = store.job(&JobId::new("daily")).await.unwrap().unwrap();
    assert_eq!((daily.enabled, daily.state.revision), (true, 3), "{place}");
    assert_eq!(daily.state.next_run_at, Some(UnixMs(1_800_003_600_000)), "{place}");
    assert_eq!(daily.extra["colour"], "blue", "{place}");
    let paused = store.job(&JobId::new("paused")).await.unwrap().unwrap();
    assert_eq!((paused.enabled, paused.state.consecutive_failures), (false, 3), "{place}");
    for (id, state) in [
        ("run-1", RunState::Succeeded),
        ("run-2", RunState::Failed),
        ("run-3", RunState::Queued),
        ("run-4", RunState::Skipped),
    ] {
        let run = store.run(&RunId::new(id)).await.unwrap();
        assert_eq!(run.map(|run| run.state), Some(state), "{place}: {id}");
    }
    assert_eq!(store.steps(&RunId::new("run-1")).await.unwrap().len(), 1, "{place}");
    let waiting = store.pending_system_events(1_000).await.unwrap();
    assert_eq!(
        waiting.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(),
        ["Call mother"]
    );
    let due = store.due_channels().await.unwrap().pop().map(|(_, at)| at);
    assert_eq!(due, Some(UnixMs(1_800_000_060_000)), "{place}");
    assert_eq!(store.setting("pause").await.unwrap().unwrap()["untilMs"], 1_800_100_000_000_i64);
    assert_eq!(store.last_seq().await.unwrap(), 2, "{place}");
    let result = store.last_result(&JobId::new("daily")).await.unwrap();
    assert_eq!(result, Some(json!({ "percent": 19 })), "{place}");

    store.insert_job(&job("new"), NOW).await.unwrap();
    let check: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&store.readers).await.unwrap();
    assert_eq!(check, "ok", "{place}");
}

#[test]
fn released_migrations_are_unchanged() {
    use sha2::{Digest as _, Sha256};
    assert_eq!(MIGRATIONS.len(), RELEASED.len(), "each migration has a hash");
    for (number, (script, released)) in (1..).zip(MIGRATIONS.iter().zip(RELEASED)) {
        // A checkout on Windows may have other line ends, which SQLite ignores.
        let hash = Sha256::digest(script.replace("\r\n", "\n"));
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, released, "migration {number} differs from the released script");
    }
}

#[tokio::test]
async fn file_of_every_schema_opens_completely() {
    for version in 1..=MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rouse.db");
        golden(&path, version).await;
        let before = rows(&path, None).await;
        let empty = before.iter().find(|(_, (_, rows))| rows.is_empty());
        assert_eq!(empty, None, "no row is frozen for this table of schema {version}");
        assert_no_row_lost(&path, &before, &format!("from schema {version}")).await;
        let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
        assert_complete(&store, &format!("from schema {version}")).await;
    }
}

#[tokio::test]
async fn power_cut_during_migration_loses_nothing() {
    for version in 1..MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rouse.db");
        golden(&path, version).await;
        let before = rows(&path, None).await;
        let disk = FaultyDisk::over(folder.path());
        disk.record();
        Store::open(&path, listener(&Arc::default())).await.unwrap().close().await;
        let record = disk.recorded();
        drop(disk);
        let length = record.entries().len();
        assert!(length > 10, "a migration writes: {length} calls");
        for upto in 0..=length {
            let mut dice = Dice::new(u64::try_from(upto).unwrap());
            let image = tempfile::tempdir().unwrap();
            for (name, bytes) in record.image(upto, || dice.number()) {
                std::fs::write(image.path().join(name), bytes).unwrap();
            }
            let path = image.path().join("rouse.db");
            let place = format!("from schema {version}, cut after {upto} of {length} calls");
            assert_no_row_lost(&path, &before, &place).await;
            let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
            assert_complete(&store, &place).await;
            store.close().await;
        }
    }
}

/// Opens a file of this schema while the disk is full from call `at` on, and again with free space. False if that call
/// never came.
async fn opens_with_full_disk_from(version: usize, at: u64) -> bool {
    use rouse_testkit::faulty_disk::{Fault, Lasts};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rouse.db");
    golden(&path, version).await;
    let before = rows(&path, None).await;
    let disk = FaultyDisk::over(folder.path());
    disk.fail_at(at, Fault::Full, Lasts::UntilMended);
    let opened = Store::open(&path, listener(&Arc::default())).await;
    let came = disk.calls() > at;
    if let Ok(store) = opened {
        store.close().await;
    }
    disk.repair();
    let place = format!("from schema {version}, the disk is full from call {at} on");
    assert_no_row_lost(&path, &before, &place).await;
    let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
    assert_complete(&store, &place).await;
    store.close().await;
    came
}

#[tokio::test]
async fn migration_refused_by_full_disk_succeeds_later() {
    for version in 1..MIGRATIONS.len() {
        // All calls of the newest migration, and some of the others, which every schema shares.
        let stride = if version + 1 == MIGRATIONS.len() { 1 } else { 7 };
        let mut at = u64::try_from(version).unwrap() % stride;
        while opens_with_full_disk_from(version, at).await {
            at += stride;
        }
        assert!(at > 10, "only {at} calls from schema {version}");
    }
}
