//! What is kept, and that each of its settings changes it.

use rouse_core::message::Message;
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};
use rouse_store::Store;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

use crate::house::{House, NOON, Plan};

/// A data folder with a job's runs, each with a summary of so many bytes and two messages.
async fn fill(folder: &Path, runs: i64, bytes: usize) {
    let database = rouse_host::Home::at(folder).database();
    let store = Store::open(&database, Arc::new(|_| ())).await.expect("a store");
    let session = SessionKey::of_job(&JobId::new("old"));
    for n in 0..runs {
        let at = UnixMs(NOON - 86_400_000 + n);
        let run = Run {
            job_id: Some(JobId::new("old")),
            job_name: "Old".to_owned(),
            slot_at: Some(at),
            state: RunState::Succeeded,
            started_at: Some(at),
            finished_at: Some(at),
            attempt: 1,
            summary: Some("x".repeat(bytes)),
            payload: json!({ "kind": "agentTurn", "message": "Look" }),
            ..Run::queued(RunId::generate(at), RunTrigger::Schedule, at)
        };
        store.insert_run(&run, at).await.expect("a run");
        let said = [Message::User { text: "a".into() }, Message::User { text: "b".into() }];
        store.append_messages(&session, Some(&run.id), &said, at).await.expect("messages");
    }
    store.close().await;
}

async fn set(house: &House, key: &str, value: u32) {
    house.call("config.patch", json!({ "patch": { "retention": { key: value } } })).await;
}

/// Looks until what is kept is right. Pruning causes no event to wait for, so the number of looks is what ends it.
async fn until(house: &House, mut is_right: impl FnMut(&Value) -> bool) -> Value {
    let mut storage = Value::Null;
    for _ in 0..20_000 {
        storage = house.call("system.storage", json!({})).await;
        if is_right(&storage) {
            return storage;
        }
        tokio::task::yield_now().await;
    }
    panic!("it stays at {storage}");
}

#[tokio::test]
async fn the_number_of_runs_and_of_messages_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), 60, 10).await;
    let house = Plan::new(folder.path()).build().await;
    let storage = until(&house, |storage| storage["runs"] == 60).await;
    assert_eq!(
        (&storage["messages"], &storage["oldestRunAtMs"]),
        (&json!(120), &json!(NOON - 86_400_000))
    );
    set(&house, "messagesPerSession", 20).await;
    until(&house, |storage| storage["messages"] == 20).await;
    set(&house, "runsPerJob", 15).await;
    until(&house, |storage| storage["runs"] == 15).await;
    assert_eq!(house.runs("old").await.len(), 15);
    house.host.stop().await;
}

#[tokio::test]
async fn the_size_is_bounded_and_the_file_shrinks() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), 40, 500_000).await;
    let house = Plan::new(folder.path()).build().await;
    let storage = house.call("system.storage", json!({})).await;
    assert!(storage["usedBytes"].as_u64() > Some(19_000_000), "{storage}");
    set(&house, "maxDatabaseMb", 8).await;
    let small = |bytes: &Value, most: u64| bytes.as_u64().is_some_and(|bytes| bytes < most);
    until(&house, |storage| {
        small(&storage["usedBytes"], 8_400_000)
            && storage["runs"].as_u64() > Some(5)
            && small(&storage["freeBytes"], 1_100_000)
    })
    .await;
    house.host.stop().await;
    let file = rouse_host::Home::at(folder.path()).database();
    assert!(std::fs::metadata(file).expect("the file").len() < 10_500_000);
}

#[tokio::test]
async fn a_start_prunes_what_is_too_much() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), 60, 10).await;
    std::fs::write(folder.path().join("config.toml"), "[retention]\nrunsPerJob = 10\n")
        .expect("a file");
    let house = Plan::new(folder.path()).build().await;
    until(&house, |storage| storage["runs"] == 10).await;
    house.host.stop().await;
}

#[tokio::test]
async fn home_of_a_deleted_job_is_removed_at_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let job = json!({
        "name": "Kept", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look" },
    });
    let id = house.call("cron.add", job).await["job"]["id"].as_str().expect("an id").to_owned();
    house.host.stop().await;
    let homes = rouse_host::Home::at(folder.path()).job_homes();
    for name in ["main", "gone", &id] {
        std::fs::create_dir_all(homes.join(name).join("sub")).expect("made");
    }
    let house = Plan::new(folder.path()).build().await;
    until(&house, |_| !homes.join("gone").exists()).await;
    assert!(homes.join("main").exists() && homes.join(id).exists());
}
