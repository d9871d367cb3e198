//! A data directory of an earlier build opens and continues.
//!
//! Owns the fixture of November 2026: six jobs, a parked run, a grant, deliveries, transcripts, a secret and a queued
//! system event. Never rewrite the fixture. Pitfall: its approval has expired in real time, so the test moves the
//! expiry.

use std::process::Command;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::model_settings;
use rusqlite::Connection;
use serde_json::json;

use crate::engine::TestHome;

/// An instant after every run of this test: the year 2100.
const YEAR_2100_MS: i64 = 4_102_444_800_000;

#[tokio::test]
async fn data_directory_of_november_2026_opens_and_continues() {
    let model = FakeModel::start(|_| Reply::events(sse::chat_says("I left the list alone.")));
    let home = home_from_fixture(&model);
    let engine = home.serve().await;
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    let mut names: Vec<&str> = jobs["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .filter_map(|view| view["job"]["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["Disk", "Granted", "Hook", "Parked", "Reason"]);
    let parked = home.rouse(["cron", "show", "Parked", "--json"]).json();
    assert_eq!(parked["job"]["policies"]["cooldownSeconds"], 600, "{parked:#}");
    assert_eq!(parked["job"]["schedule"]["tz"], "Europe/Berlin", "{parked:#}");

    let approval = engine.pending_approval().await;
    assert_eq!(approval["tool"], "write_file");
    home.rouse(["approvals", "deny", approval["id"].as_str().expect("an id")]).ok();
    let run = approval["runId"].as_str().expect("an id").to_owned();
    let ended = engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            detail["run"]["finishedAtMs"].is_number().then_some(detail)
        })
        .await;
    assert_eq!(ended["run"]["state"], "succeeded", "{ended:#}");
    assert_eq!(ended["run"]["summary"], "I left the list alone.");

    let grants = engine.call("grants.list", json!({})).await;
    assert_eq!(grants["grants"][0]["tool"], "write_file", "{grants:#}");
    let secrets = engine.call("secrets.list", json!({})).await;
    assert_eq!(secrets["secrets"][0]["hosts"], json!(["example.org"]));
    let granted = home.rouse(["cron", "runs", "Granted", "--json"]).json();
    let delivery = engine.call("runs.get", json!({ "id": granted["entries"][0]["id"] })).await;
    assert!(delivery["deliveries"].as_array().is_some_and(|all| !all.is_empty()), "{delivery:#}");
    let heartbeat = engine.call("heartbeat.status", json!({})).await;
    assert!(heartbeat["queuedEvents"].as_u64() >= Some(1), "{heartbeat:#}");
}

/// The fixture in a new home, with `model` as its provider and a later expiry of its approval.
fn home_from_fixture(model: &FakeModel) -> TestHome {
    let home = TestHome::new();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/data_directory/2026_11.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["xzf", archive, "--strip-components", "1", "-C"]).arg(home.data());
    assert!(tar.status().expect("tar starts").success());
    home.write_config(&model_settings(model));
    let database = Connection::open(home.data().join("rouse.db")).expect("a database");
    let moved = database
        .execute("UPDATE approvals SET expires_at = ?1 WHERE state = 'pending'", [YEAR_2100_MS]);
    assert_eq!(moved, Ok(1));
    home
}
