//! Slots that passed while nothing could fire.

use std::path::Path;

use rouse_core::time::Clock as _;
use rouse_tests::{DAY, EngineBuilder, HOUR, MINUTE, NOON, TestEngine, echo_job};
use serde_json::json;

/// Stops the engine and starts a new one on the same folder after `ms` milliseconds.
async fn restart_after(ms: u64, engine: TestEngine, folder: &Path) -> TestEngine {
    let clock = engine.clock.clone();
    engine.host.stop().await;
    clock.advance(ms);
    EngineBuilder::new(folder).clock(&clock).build().await
}

#[tokio::test]
async fn run_once_makes_one_late_run_for_all_missed_slots() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine
        .add_job(echo_job(&json!({ "kind": "cron", "expr": "0 13 * * *", "tz": "UTC" })))
        .await;
    let engine = restart_after(3 * DAY, engine, folder.path()).await;
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["trigger"], &runs[0]["slotCount"]), (&json!("catchUp"), &json!(3)));
    assert_eq!(runs[0]["lateByMs"], json!(23 * HOUR));
    assert_eq!(
        engine.job(&id).await["state"]["nextRunAtMs"],
        json!(NOON + 3 * 86_400_000 + 3_600_000)
    );
    engine.host.stop().await;
}

/// Half a million missed slots become a single row and a single run.
#[tokio::test]
async fn year_of_missed_slots_is_one_row_and_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine
        .add_job(echo_job(&json!({ "kind": "cron", "expr": "* * * * *", "tz": "UTC" })))
        .await;
    let engine = restart_after(365 * DAY, engine, folder.path()).await;
    let runs = engine.finished_runs(&id, 1).await;
    let [run] = runs.as_slice() else { panic!("one row: {runs:#?}") };
    assert_eq!((&run["trigger"], &run["state"]), (&json!("catchUp"), &json!("succeeded")));
    assert_eq!((&run["slotCount"], &run["attempt"]), (&json!(365 * 24 * 60), &json!(1)));
    assert_eq!(run["slotAtMs"], json!(engine.clock.now().0));
    let next = engine.job(&id).await["state"]["nextRunAtMs"].clone();
    assert_eq!(next, json!(engine.clock.now().0 + 60_000));
    engine.host.stop().await;
}

#[tokio::test]
async fn skip_records_missed_slots() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = echo_job(&json!({ "kind": "every", "everyMs": HOUR }));
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = engine.add_job(job).await;
    let engine = restart_after(5 * HOUR + 10 * MINUTE, engine, folder.path()).await;
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(
        (runs.len(), &runs[0]["state"], &runs[0]["slotCount"]),
        (1, &json!("missed"), &json!(5))
    );
    assert!(runs[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    engine.host.stop().await;
}

#[tokio::test]
async fn restart_neither_repeats_nor_loses_slots() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let clock = engine.clock.clone();
    clock.advance(HOUR);
    engine.finished_runs(&id, 1).await;
    engine.host.stop().await;
    let engine = EngineBuilder::new(folder.path()).clock(&clock).build().await;
    assert_eq!(engine.runs(&id).await.len(), 1, "the slot has had its run");
    clock.advance(HOUR);
    let runs = engine.finished_runs(&id, 2).await;
    assert_eq!(runs[0]["slotAtMs"], json!(NOON + 2 * 3_600_000));
    engine.host.stop().await;
}

#[tokio::test]
async fn clock_rollback_repeats_no_slot() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine
        .add_job(echo_job(&json!({ "kind": "cron", "expr": "*/10 * * * *", "tz": "UTC" })))
        .await;
    engine.clock.advance(10 * MINUTE);
    engine.finished_runs(&id, 1).await;
    engine.clock.set(rouse_core::UnixMs(NOON + 300_000));
    engine.call("cron.status", json!({})).await;
    engine.clock.advance(5 * MINUTE);
    engine.call("cron.status", json!({})).await;
    assert_eq!(engine.runs(&id).await.len(), 1, "12:10 has had its run");
    engine.clock.advance(10 * MINUTE);
    let slots: Vec<_> =
        engine.finished_runs(&id, 2).await.iter().map(|run| run["slotAtMs"].clone()).collect();
    assert_eq!(slots, [json!(NOON + 1_200_000), json!(NOON + 600_000)]);
    engine.host.stop().await;
}
