//! Retention settings and pruning.

use rouse_core::message::Message;
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};
use rouse_store::Store;
use rouse_tests::{EngineBuilder, NOON, TestEngine};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Creates a data directory with runs of a job, each with a summary of `bytes` bytes and two messages.
async fn fill_database(folder: &Path, runs: i64, bytes: usize) {
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
        let messages = [Message::User { text: "a".into() }, Message::User { text: "b".into() }];
        store.append_messages(&session, Some(&run.id), &messages, at).await.expect("messages");
    }
    store.close().await;
}

async fn set_retention(engine: &TestEngine, key: &str, value: u32) {
    engine.call("config.patch", json!({ "patch": { "retention": { key: value } } })).await;
}

/// Polls the storage status until `is_right`. Pruning emits no event, so the number of polls is bounded.
async fn wait_for_storage(engine: &TestEngine, mut is_right: impl FnMut(&Value) -> bool) -> Value {
    let mut storage = Value::Null;
    for _ in 0..20_000 {
        storage = engine.call("system.storage", json!({})).await;
        if is_right(&storage) {
            return storage;
        }
        tokio::task::yield_now().await;
    }
    panic!("it stays at {storage}");
}

#[tokio::test]
async fn runs_and_messages_are_pruned_to_their_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    fill_database(folder.path(), 60, 10).await;
    let engine = EngineBuilder::new(folder.path()).build().await;
    let storage = wait_for_storage(&engine, |storage| storage["runs"] == 60).await;
    assert_eq!(
        (&storage["messages"], &storage["oldestRunAtMs"]),
        (&json!(120), &json!(NOON - 86_400_000))
    );
    set_retention(&engine, "messagesPerSession", 20).await;
    wait_for_storage(&engine, |storage| storage["messages"] == 20).await;
    set_retention(&engine, "runsPerJob", 15).await;
    wait_for_storage(&engine, |storage| storage["runs"] == 15).await;
    assert_eq!(engine.runs("old").await.len(), 15);
    engine.host.stop().await;
}

#[tokio::test]
async fn database_size_is_bounded_and_file_shrinks() {
    let folder = tempfile::tempdir().expect("a folder");
    fill_database(folder.path(), 40, 500_000).await;
    let engine = EngineBuilder::new(folder.path()).build().await;
    let storage = engine.call("system.storage", json!({})).await;
    assert!(storage["usedBytes"].as_u64() > Some(19_000_000), "{storage}");
    set_retention(&engine, "maxDatabaseMb", 8).await;
    let is_below = |bytes: &Value, most: u64| bytes.as_u64().is_some_and(|bytes| bytes < most);
    wait_for_storage(&engine, |storage| {
        is_below(&storage["usedBytes"], 8_400_000)
            && storage["runs"].as_u64() > Some(5)
            && is_below(&storage["freeBytes"], 1_100_000)
    })
    .await;
    engine.host.stop().await;
    let file = rouse_host::Home::at(folder.path()).database();
    assert!(std::fs::metadata(file).expect("the file").len() < 10_500_000);
}

#[tokio::test]
async fn start_prunes_runs_over_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    fill_database(folder.path(), 60, 10).await;
    std::fs::write(folder.path().join("config.toml"), "[retention]\nrunsPerJob = 10\n")
        .expect("a file");
    let engine = EngineBuilder::new(folder.path()).build().await;
    wait_for_storage(&engine, |storage| storage["runs"] == 10).await;
    engine.host.stop().await;
}

#[tokio::test]
async fn home_of_deleted_job_is_removed_at_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let job = json!({
        "name": "Kept", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look" },
    });
    let id = engine.call("cron.add", job).await["job"]["id"].as_str().expect("an id").to_owned();
    engine.host.stop().await;
    let homes = rouse_host::Home::at(folder.path()).job_homes();
    for name in ["main", "gone", &id] {
        std::fs::create_dir_all(homes.join(name).join("sub")).expect("made");
    }
    let engine = EngineBuilder::new(folder.path()).build().await;
    wait_for_storage(&engine, |_| !homes.join("gone").exists()).await;
    assert!(homes.join("main").exists() && homes.join(id).exists());
}
