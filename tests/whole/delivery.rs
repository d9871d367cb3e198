//! The outbox: every delivery ends in one visible state.

use std::sync::Arc;

use rouse_host::NotifyError;
use rouse_tests::{EngineBuilder, RecordingNotifier, echo_job};
use serde_json::json;

#[tokio::test]
async fn permanent_delivery_failure_is_suppressed_with_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let notifier = Arc::new(RecordingNotifier::default());
    notifier.refuse.lock().expect("free").push(NotifyError::Never("No server here.".into()));
    let engine = EngineBuilder::new(folder.path()).notifier(notifier).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let delivery = engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await;
    assert_eq!(
        (&delivery["state"], &delivery["reason"]),
        (&json!("suppressed"), &json!("No server here."))
    );
    assert_eq!(run["state"], "succeeded", "the run succeeds without its delivery");
    engine.host.stop().await;
}

#[tokio::test]
async fn failed_notification_is_reported_until_one_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let notifier = Arc::new(RecordingNotifier::default());
    notifier.refuse.lock().expect("free").push(NotifyError::Later("Nobody shows it.".into()));
    let engine = EngineBuilder::new(folder.path()).notifier(notifier).build().await;
    let notifications_when = async |failing: bool| {
        engine
            .wait_until(async |engine| {
                let notifications_when =
                    engine.call("system.status", json!({})).await["notifications"].clone();
                (notifications_when["failing"] == failing).then_some(notifications_when)
            })
            .await
    };
    notifications_when(false).await;
    engine.call("deliveries.test", json!({})).await;
    let failing = json!({ "available": false, "reason": "Nobody shows it.", "failing": true });
    assert_eq!(notifications_when(true).await, failing);
    engine.clock.advance(10 * 60_000);
    assert_eq!(
        notifications_when(false).await,
        json!({ "available": true, "reason": null, "failing": false })
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn delivery_to_missing_channel_fails_visibly() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path())
        .model([rouse_testkit::scripted_model::says("Found it.")])
        .build()
        .await;
    let job = json!({
        "name": "Tell me",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look", "deliver": true, "channel": "telegram", "to": "me" }
    });
    let file = json!({ "jobs": [job] }).to_string();
    let imported = engine.call("cron.import", json!({ "text": file, "enable": true })).await;
    let line = &imported["lines"][0];
    assert_eq!(line["outcome"], "created", "{line}");
    let warning = line["warnings"][0]["message"].as_str().expect("a warning");
    assert!(warning.contains("there is no channel `telegram`"), "{line}");
    let id = line["id"].as_str().expect("an id").to_owned();
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    let delivery = engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await;
    assert_eq!((&delivery["state"], &delivery["channel"]), (&json!("failed"), &json!("telegram")));
    let reason =
        "The channel telegram is not set up. Set it up with `rouse channels add telegram`.";
    assert_eq!(delivery["reason"], reason);
    let fallback = engine.notifier.shown.next().await;
    assert_eq!(fallback.body, format!("Found it. (telegram did not deliver this: {reason})"));
    engine.host.stop().await;
}

#[tokio::test]
async fn missing_channel_is_refused_when_job_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let job = |channel: &str| {
        let payload = json!({ "kind": "agentTurn", "message": "Look", "channel": channel });
        json!({ "name": "Tell me", "schedule": { "kind": "manual" }, "payload": payload })
    };
    for channel in ["telegram", "pigeon"] {
        let text = format!(
            "there is no channel `{channel}`; the channels are `notification`, `last`. Set one up with `rouse channels add`"
        );
        let refused = engine.try_call("cron.add", job(channel)).await.expect_err(channel);
        let field = json!({ "path": "payload.channel", "message": text });
        assert_eq!(refused.data["fields"][0], field);
    }
    engine.add_job(job("notification")).await;
    let id = engine.add_job(job("last")).await;
    let change =
        |channel: &str| json!({ "id": id, "patch": { "payload": { "channel": channel } } });
    let refused = engine.try_call("cron.update", change("webhook")).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "payload.channel");

    // An imported job with a missing channel stays editable.
    let file = json!({ "jobs": [job("telegram")] }).to_string();
    let imported = engine.call("cron.import", json!({ "text": file })).await;
    let id = imported["lines"][0]["id"].clone();
    let payload = json!({ "message": "Look again" });
    engine.call("cron.update", json!({ "id": id, "patch": { "payload": payload } })).await;
    let payload = json!({ "channel": "last" });
    engine.call("cron.update", json!({ "id": id, "patch": { "payload": payload } })).await;
    engine.host.stop().await;
}

#[tokio::test]
async fn test_notification_is_delivered() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let sent = engine.call("deliveries.test", json!({})).await;
    let shown = engine.notifier.shown.next().await;
    assert_eq!(shown.id.to_string(), sent["id"]);
    engine
        .wait_until(async |engine| {
            let delivery = engine.call("deliveries.get", json!({ "id": sent["id"] })).await;
            (delivery["state"] == "delivered").then_some(())
        })
        .await;
    engine.host.stop().await;
}
