//! The file after the process was killed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use super::*;
use crate::sql::Durability;

const CHILD_PATH: &str = "ROUSE_STORE_TEST_CHILD";

/// Claims a slot, begins a transaction that is never committed, and waits to be killed.
async fn child(path: &str) {
    let store = Store::open(path.as_ref(), listener(&Arc::default())).await.unwrap();
    let mut job = job("a");
    job.state.next_run_at = Some(NOW);
    store.insert_job(&job, NOW).await.unwrap();
    let claims = [claim("a", NOW, Some(NOW.plus_ms(1)), vec![slot_run("a", NOW)])];
    store.claim(&claims, NOW).await.unwrap();
    let mut tx = store.begin("never end", Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("DELETE FROM runs")).await.unwrap();
    let mut out = std::io::stdout();
    out.write_all(b"\nready\n").unwrap();
    out.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[tokio::test]
async fn killed_process_keeps_its_commits() {
    if let Ok(path) = std::env::var(CHILD_PATH) {
        return child(&path).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rouse.db");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::crash::killed_process_keeps_its_commits", "--nocapture"])
        .env(CHILD_PATH, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "ready"), "the child is ready");
    process.kill().unwrap();
    process.wait().unwrap();

    let store = Store::open(&path, listener(&Arc::default())).await.unwrap();
    let job = store.job(&JobId::new("a")).await.unwrap().unwrap();
    assert_eq!(job.state.next_run_at, Some(NOW.plus_ms(1)));
    let queued = store.queued_runs().await.unwrap();
    assert_eq!((queued.len(), queued[0].slot_at), (1, Some(NOW)));
    let claims = [claim("a", NOW.plus_ms(1), None, vec![slot_run("a", NOW)])];
    assert_eq!(store.claim(&claims, NOW).await.unwrap().runs, [], "the slot has fired");
    assert_eq!(store.last_seq().await.unwrap(), 2);
}

#[tokio::test]
async fn copied_files_during_a_write_are_consistent() {
    let fixture = Fixture::new().await;
    for n in 0..50 {
        fixture.insert_job(&format!("job-{n}"), None).await;
    }
    let mut tx = fixture.store.begin("half", Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("DELETE FROM jobs")).await.unwrap();
    let image = tempfile::tempdir().unwrap();
    for name in ["rouse.db", "rouse.db-wal"] {
        std::fs::copy(fixture.folder.path().join(name), image.path().join(name)).unwrap();
    }
    let store =
        Store::open(&image.path().join("rouse.db"), listener(&Arc::default())).await.unwrap();
    assert_eq!(store.job_counts().await.unwrap().all, 50);
    let check: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&store.readers).await.unwrap();
    assert_eq!(check, "ok");
}
