//! Runs end when they are told to, or when their time is over.

use rouse_testkit::scripted_model::Scripted;
use serde_json::json;

use crate::house::{HOUR, MINUTE, NOON, Plan, ask, echo};

#[tokio::test]
async fn a_run_at_work_is_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([Scripted::Silence]).build().await;
    let id = house.add(ask("Think for ever")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.model.asked(1).await;
    let run = house.run_in(&id, "running").await;
    assert_eq!(
        house.call("runs.cancel", json!({ "id": run["id"] })).await,
        json!({ "changed": true })
    );
    let runs = house.ended(&id, 1).await;
    assert_eq!(runs[0]["state"], "cancelled");
    assert_eq!(
        house.call("runs.cancel", json!({ "id": run["id"] })).await,
        json!({ "changed": false }),
        "once"
    );
    house.host.stop().await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_times_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([Scripted::Silence]).build().await;
    let mut job = ask("Think for ever");
    job["policies"] = json!({ "timeoutSeconds": 60 });
    let id = house.add(job).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.model.asked(1).await;
    house.clock.advance(MINUTE);
    let runs = house.ended(&id, 1).await;
    assert_eq!(runs[0]["state"], "timedOut");
    let shown = house.notifier.shown.next().await;
    assert_eq!(shown.body, "Ran out of time.");
    house.host.stop().await;
}

#[tokio::test]
async fn the_kill_switch_stops_firing_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).env("ROUSE_SKIP_CRON", "1").build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let status = house.call("cron.status", json!({})).await;
    assert_eq!(status["enabled"], false);
    assert!(status["offReason"].as_str().is_some_and(|reason| reason.contains("ROUSE_SKIP_CRON")));
    house.clock.advance(HOUR);
    let runs = house.ended(&id, 1).await;
    assert_eq!((&runs[0]["state"], &runs[0]["reason"]), (&json!("skipped"), &status["offReason"]));
    house.host.stop().await;
}

#[tokio::test]
async fn a_pause_skips_and_ends_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let until = NOON + 90 * 60_000;
    assert_eq!(
        house.call("cron.pause", json!({ "untilMs": until })).await["pause"]["untilMs"],
        json!(until)
    );
    house.clock.advance(HOUR);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "skipped");
    house.clock.advance(HOUR);
    let runs = house.ended(&id, 2).await;
    assert_eq!(runs[0]["state"], "succeeded");
    assert_eq!(house.call("cron.status", json!({})).await["pause"], json!(null));
    house.host.stop().await;
}
