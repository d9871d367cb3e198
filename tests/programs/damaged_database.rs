//! Damaged or full databases: commands report the damage and the fix, and the doctor continues.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::probes::echo;

const PAGE: u64 = 4_096;

/// A home with jobs that fill a database page each.
async fn home_with_jobs() -> TestHome {
    let home = TestHome::new();
    let engine = home.serve().await;
    for number in 0..20 {
        let mut job = echo(&format!("Job {number}"));
        job["description"] = json!("d".repeat(3_000));
        engine.add_job(job).await;
    }
    assert!(engine.stop().success());
    home
}

/// A home with a database that is damaged from page `first` on.
async fn home_damaged_from(first: u64) -> TestHome {
    let home = home_with_jobs().await;
    let path = home.data().join("rouse.db");
    let length = fs::metadata(&path).expect("a file").len();
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("our own file");
    file.seek(SeekFrom::Start(first * PAGE)).expect("a position in the file");
    let rest = usize::try_from(length - first * PAGE).expect("a small file");
    file.write_all(&vec![0xA5; rest]).expect("written");
    home
}

#[tokio::test]
async fn doctor_reports_damaged_database_and_continues() {
    let home = home_damaged_from(12).await;
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    for text in ["rouse.db is damaged", "rouse.db-wal", "Rouse is not running", "andbox"] {
        assert!(doctor.out.contains(text), "no `{text}` in {doctor:#?}");
    }
    let refused = home.rouse(["serve", "--port", "0", "--ready-json"]);
    refused.assert_error(1, "The database is damaged");
    // An export needs a running engine.
    for printed in [&doctor.out, &refused.err] {
        assert!(printed.contains("restore a backup") && !printed.contains("cron export"));
    }
}

#[tokio::test]
async fn doctor_tells_intact_database_from_other_file() {
    let home = TestHome::new();
    assert!(!home.rouse(["doctor"]).out.contains("database"));
    assert!(!home.data().join("rouse.db").exists(), "a look makes nothing");
    assert!(home.serve().await.stop().success());
    assert!(home.rouse(["doctor"]).out.contains("The database is intact"));
    fs::write(home.data().join("rouse.db"), "x".repeat(9_000)).expect("our own file");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("is damaged") && doctor.out.contains("andbox"), "{doctor:#?}");
}

#[tokio::test]
async fn running_engine_reports_damaged_database() {
    let home = home_with_jobs().await;
    let engine = home.serve_plain();
    let path = home.data().join("rouse.db");
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("our own file");
    file.seek(SeekFrom::Start(PAGE)).expect("a position in the file");
    file.write_all(&vec![0xA5; 200 * PAGE as usize]).expect("written");
    let list = home.rouse(["cron", "list"]);
    assert!(list.err.contains("The database is damaged"), "{list:#?}");
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.out.contains("rouse.db is damaged"), "{doctor:#?}");
    assert!(doctor.out.contains("andbox"), "{doctor:#?}");
    drop(engine);
}

/// No command may suggest that jobs fire.
#[tokio::test]
async fn failing_run_insert_is_reported_by_every_job_command() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut job = echo("Tick");
    job["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let id = engine.add_job(job).await;
    assert_eq!(engine.call("cron.status", json!({})).await["problem"], Value::Null);
    assert!(home.rouse(["doctor"]).out.contains("✓ Jobs fire"));
    assert!(engine.stop().success());
    let file = rusqlite::Connection::open(home.data().join("rouse.db")).expect("a file");
    file.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .expect("a trigger");
    file.execute("UPDATE jobs SET next_run_at = 1000000000000 WHERE id = ?1", [&id]).expect("due");
    drop(file);

    let engine = home.serve_plain();
    let problem = engine
        .wait_until(async |engine| {
            let status = engine.call("cron.status", json!({})).await;
            status["problem"].as_str().map(str::to_owned)
        })
        .await;
    assert!(problem.starts_with("Runs cannot be saved."), "{problem}");
    let status = home.rouse(["cron", "status"]);
    assert!(status.ok().starts_with(&format!("Problem: {problem}\n")), "{status:#?}");
    assert!(status.out.contains("Due: Tick") && !status.out.contains("Next:"), "{status:#?}");
    assert_eq!(home.rouse(["cron", "status", "--json"]).json()["problem"], problem);
    assert_eq!(home.rouse(["status"]).ok().matches(&problem).count(), 1);
    let list = home.rouse(["cron", "list"]);
    assert!(list.err.contains(&format!("Warning: {problem}")), "{list:#?}");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {problem}")), "{doctor:#?}");
    assert!(!doctor.out.contains("Jobs fire"), "{doctor:#?}");
}
