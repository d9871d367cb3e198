//! A database that a disk, or a hand, has damaged: it is named, with what to do, and the rest of the doctor is heard.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::json;

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
    for words in ["rouse.db is damaged", "rouse cron export", "Rouse is not running", "andbox"] {
        assert!(doctor.out.contains(words), "no `{words}` in {doctor:#?}");
    }
    let refused = home.rouse(["serve", "--port", "0", "--ready-json"]);
    refused.refused(1, "The database is damaged");
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
