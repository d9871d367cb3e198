//! A database that a disk, or a hand, has damaged, or that takes nothing more: it is named, with what to do, and the rest
//! of the doctor is heard.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::{Value, json};

use crate::engine::Home;
use crate::probes::echo;

const PAGE: u64 = 4_096;

/// A home with jobs, a page of the database for each.
async fn with_jobs() -> Home {
    let home = Home::new();
    let engine = home.serve().await;
    for number in 0..20 {
        let mut job = echo(&format!("Job {number}"));
        job["description"] = json!("d".repeat(3_000));
        engine.add(job).await;
    }
    assert!(engine.stop().success());
    home
}

/// The same, whose database is damaged from page `first` on.
async fn damaged_from(first: u64) -> Home {
    let home = with_jobs().await;
    let path = home.data().join("rouse.db");
    let length = fs::metadata(&path).expect("a file").len();
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("our own file");
    file.seek(SeekFrom::Start(first * PAGE)).expect("a place in it");
    let rest = usize::try_from(length - first * PAGE).expect("a small file");
    file.write_all(&vec![0xA5; rest]).expect("written");
    home
}

#[tokio::test]
async fn the_doctor_names_it_and_goes_on() {
    let home = damaged_from(12).await;
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    for words in ["rouse.db is damaged", "rouse.db-wal", "Rouse is not running", "andbox"] {
        assert!(doctor.out.contains(words), "no `{words}` in {doctor:#?}");
    }
    let refused = home.rouse(["serve", "--port", "0", "--ready-json"]);
    refused.refused(1, "The database is damaged");
    // An export asks an engine, and there is none.
    for said in [&doctor.out, &refused.err] {
        assert!(said.contains("put a backup in their place") && !said.contains("cron export"));
    }
}

#[tokio::test]
async fn a_whole_one_is_called_so_and_one_that_is_none_is_not() {
    let home = Home::new();
    assert!(!home.rouse(["doctor"]).out.contains("database"));
    assert!(!home.data().join("rouse.db").exists(), "a look makes nothing");
    assert!(home.serve().await.stop().success());
    assert!(home.rouse(["doctor"]).out.contains("The database is whole"));
    fs::write(home.data().join("rouse.db"), "x".repeat(9_000)).expect("our own file");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("is damaged") && doctor.out.contains("andbox"), "{doctor:#?}");
}

#[tokio::test]
async fn an_engine_that_meets_it_says_so() {
    let home = with_jobs().await;
    let engine = home.serve_as_it_is();
    let path = home.data().join("rouse.db");
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("our own file");
    file.seek(SeekFrom::Start(PAGE)).expect("a place in it");
    file.write_all(&vec![0xA5; 200 * PAGE as usize]).expect("written");
    let list = home.rouse(["cron", "list"]);
    assert!(list.err.contains("The database is damaged"), "{list:#?}");
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.out.contains("rouse.db is damaged"), "{doctor:#?}");
    assert!(doctor.out.contains("andbox"), "{doctor:#?}");
    drop(engine);
}

/// Nobody who looks at the jobs may think that they fire.
#[tokio::test]
async fn one_that_takes_no_run_is_told_wherever_jobs_are_looked_at() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut job = echo("Tick");
    job["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let id = engine.add(job).await;
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

    let engine = home.serve_as_it_is();
    let problem = engine
        .until(async |engine| {
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
