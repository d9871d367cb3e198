//! Missing databases, backups and restore.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::probes::echo;

#[tokio::test]
async fn missing_database_is_refused_and_wal_stays() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Tick")).await;
    engine.kill();
    let (database, log) = (home.data().join("rouse.db"), home.data().join("rouse.db-wal"));
    let before = fs::read(&log).expect("the log of a killed engine");
    fs::remove_file(&database).expect("our own file");
    let start = ["serve", "--port", "0", "--ready-json"];
    home.rouse(start).assert_error(5, "rouse.db is missing");
    assert!(!database.exists(), "a refused start makes nothing");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("rouse restore FILE"), "{doctor:#?}");
    fs::write(&database, "").expect("emptied");
    home.rouse(start).assert_error(5, "rouse.db is empty");
    assert_eq!(fs::read(&log).expect("kept"), before);
}

#[tokio::test]
async fn backup_is_private_and_restores_jobs() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Tick")).await;
    fs::write(home.data().join("workspace/notes.md"), "Tea").expect("our own file");
    let to = home.data().join("copy.tar.gz");
    let file = to.to_str().expect("text");
    let made = home.rouse(["backup", file, "--json"]).json();
    assert_eq!(made["path"], file);
    assert_eq!(fs::metadata(&to).expect("there").permissions().mode() & 0o777, 0o600);
    home.rouse(["backup", file]).assert_error(2, "exists");
    assert!(home.rouse(["backup", "--list"]).ok().contains("backups/rouse-"));
    assert!(home.rouse(["doctor"]).out.contains("Newest backup: "));
    engine.call("cron.remove", json!({ "id": id })).await;
    home.rouse(["restore", file]).assert_error(5, "Rouse is running");
    assert!(engine.stop().success());

    fs::remove_file(home.data().join("workspace/notes.md")).expect("lost");
    let token = fs::read(home.data().join("gateway.token")).expect("a token");
    let output = home.rouse(["restore", file]);
    assert!(output.ok().contains("The old database and settings are in"), "{output:#?}");
    assert_eq!(fs::read(home.data().join("gateway.token")).expect("a token"), token);
    assert_eq!(fs::read(home.data().join("workspace/notes.md")).expect("back"), b"Tea");
    let engine = home.serve_plain();
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    let is_back = |view: &Value| view["job"]["id"] == id.as_str();
    assert!(jobs["jobs"].as_array().expect("jobs").iter().any(is_back), "{jobs}");
    drop(engine);
    home.rouse(["restore", "/etc/hostname"]).assert_error(5, "Nothing was changed");
}

#[tokio::test]
async fn backup_without_engine_is_written_by_command() {
    let home = TestHome::new();
    home.rouse(["backup"]).assert_error(5, "nothing to back up");
    assert!(home.serve().await.stop().success());
    assert!(home.rouse(["backup"]).ok().starts_with("Backed up to "));
    assert!(home.rouse(["backup", "--list", "--json"]).json()["backups"][0]["bytes"].is_u64());
}

#[tokio::test]
async fn killed_engine_without_wal_is_reported() {
    for is_lost in [false, true] {
        let home = TestHome::new();
        let engine = home.serve().await;
        let mark = home.data().join("running.json");
        engine
            .wait_until(async |engine| {
                engine.call("wake", json!({ "text": "x", "mode": "next-heartbeat" })).await;
                mark.exists().then_some(())
            })
            .await;
        engine.kill();
        if is_lost {
            for name in ["rouse.db-wal", "rouse.db-shm"] {
                fs::remove_file(home.data().join(name)).expect("our own file");
            }
        }
        let engine = home.serve_plain();
        let problem = engine.call("system.status", json!({})).await["problem"].clone();
        let is_reported = problem.as_str().is_some_and(|text| text.contains("Rouse was killed"));
        assert_eq!(is_reported, is_lost, "{problem}");
        assert!(engine.stop().success());
        assert!(!mark.exists(), "a clean stop leaves no mark");
    }
}
