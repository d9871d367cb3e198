//! Cancellation, time limits, the kill switch and the pause.

use rouse_testkit::scripted_model::Scripted;
use rouse_tests::{EngineBuilder, HOUR, MINUTE, NOON, agent_job, echo_job};
use serde_json::json;

#[tokio::test]
async fn running_run_is_cancelled_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([Scripted::Silence]).build().await;
    let id = engine.add_job(agent_job("Think for ever")).await;
    engine.start_run(&id).await;
    engine.model.asked(1).await;
    let run = engine.wait_for_run(&id, "running").await;
    assert_eq!(
        engine.call("runs.cancel", json!({ "id": run["id"] })).await,
        json!({ "changed": true })
    );
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(runs[0]["state"], "cancelled");
    assert_eq!(
        engine.call("runs.cancel", json!({ "id": run["id"] })).await,
        json!({ "changed": false }),
        "once"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn run_over_time_limit_times_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([Scripted::Silence]).build().await;
    let mut job = agent_job("Think for ever");
    job["policies"] = json!({ "timeoutSeconds": 60 });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    engine.model.asked(1).await;
    engine.clock.advance(MINUTE);
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(runs[0]["state"], "timedOut");
    let shown = engine.notifier.shown.next().await;
    assert_eq!(shown.body, "Timed out.");
    engine.host.stop().await;
}

#[tokio::test]
async fn kill_switch_skips_runs_with_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).env("ROUSE_SKIP_CRON", "1").build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let status = engine.call("cron.status", json!({})).await;
    assert_eq!(status["enabled"], false);
    assert!(status["offReason"].as_str().is_some_and(|reason| reason.contains("ROUSE_SKIP_CRON")));
    engine.clock.advance(HOUR);
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!((&runs[0]["state"], &runs[0]["reason"]), (&json!("skipped"), &status["offReason"]));
    engine.host.stop().await;
}

#[tokio::test]
async fn pause_skips_runs_until_it_expires() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let until = NOON + 90 * 60_000;
    assert_eq!(
        engine.call("cron.pause", json!({ "untilMs": until })).await["pause"]["untilMs"],
        json!(until)
    );
    engine.clock.advance(HOUR);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "skipped");
    engine.clock.advance(HOUR);
    let runs = engine.finished_runs(&id, 2).await;
    assert_eq!(runs[0]["state"], "succeeded");
    assert_eq!(engine.call("cron.status", json!({})).await["pause"], json!(null));
    engine.host.stop().await;
}
