//! Files of every released schema open, and a power cut in the middle of a migration costs nothing.

use rouse_testkit::{Dice, FaultyDisk};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::*;
use crate::connection::{MIGRATIONS, apply};

/// The rows of a file whose schema is the first one.
const GOLDEN: &str = include_str!("golden_0001.sql");

/// A file as the version with so many migrations leaves it, closed.
async fn golden(path: &std::path::Path, version: usize) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut connection).await.unwrap();
    for (index, script) in MIGRATIONS.iter().enumerate().take(version) {
        apply(&mut connection, script, i64::try_from(index + 1).unwrap()).await.unwrap();
        if index == 0 {
            sqlx::raw_sql(GOLDEN).execute(&mut connection).await.unwrap();
        }
    }
    sqlx::Connection::close(connection).await.unwrap();
}

/// Everything that the person had is there, and the file takes more.
async fn holds_everything(store: &Store, place: &str) {
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
    let waiting = store.pending_system_events().await.unwrap();
    assert_eq!(
        waiting.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(),
        ["Call mother"]
    );
    let due = store.next_delivery_at().await.unwrap();
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

#[tokio::test]
async fn a_file_of_every_schema_opens_with_everything_in_it() {
    for version in 1..=MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rouse.db");
        golden(&path, version).await;
        let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
        holds_everything(&store, &format!("from schema {version}")).await;
    }
}

#[tokio::test]
async fn a_power_cut_at_any_moment_of_a_migration_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rouse.db");
    golden(&path, 1).await;
    let disk = FaultyDisk::over(folder.path());
    disk.record();
    Store::open(&path, listener(&Arc::default())).await.unwrap().close().await;
    let record = disk.recorded();
    drop(disk);
    let length = record.entries().len();
    assert!(length > 20, "a migration writes: {length} calls");
    for upto in 0..=length {
        let mut dice = Dice::new(u64::try_from(upto).unwrap());
        let image = tempfile::tempdir().unwrap();
        for (name, bytes) in record.image(upto, || dice.number()) {
            std::fs::write(image.path().join(name), bytes).unwrap();
        }
        let place = format!("cut after {upto} of {length} calls");
        let store = Store::open(&image.path().join("rouse.db"), listener(&Arc::default())).await;
        let store = store.unwrap_or_else(|error| panic!("{place}: {error:?}"));
        holds_everything(&store, &place).await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_migration_that_the_disk_refuses_is_made_up_for_at_the_next_start() {
    use rouse_testkit::faulty_disk::{Fault, Lasts};
    let mut at = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rouse.db");
        golden(&path, 1).await;
        let disk = FaultyDisk::over(folder.path());
        disk.fail_at(at, Fault::Full, Lasts::UntilMended);
        let opened = Store::open(&path, listener(&Arc::default())).await;
        let is_over = disk.calls() <= at;
        if let Ok(store) = opened {
            store.close().await;
        }
        disk.mend();
        let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
        holds_everything(&store, &format!("the disk is full from call {at} on")).await;
        store.close().await;
        if is_over {
            assert!(at > 20, "only {at} calls");
            return;
        }
        at += 3;
    }
}
