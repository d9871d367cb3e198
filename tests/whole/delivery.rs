//! A message is in the outbox before it is tried, and ends in one visible state.

use std::sync::Arc;

use rouse_host::NotifyError;
use serde_json::json;

use crate::house::{Plan, Recording, echo};

#[tokio::test]
async fn a_delivery_that_cannot_work_ends_suppressed_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let notifier = Arc::new(Recording::default());
    notifier.refuse.lock().expect("free").push(NotifyError::Never("No server here.".into()));
    let house = Plan::new(folder.path()).notifier(notifier).build().await;
    let id = house.add(echo(&json!({ "kind": "manual" }))).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(&id, 1).await.remove(0);
    let delivery = house
        .until(async |house| {
            let delivery = house.detail(&run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await;
    assert_eq!(
        (&delivery["state"], &delivery["reason"]),
        (&json!("suppressed"), &json!("No server here."))
    );
    assert_eq!(run["state"], "succeeded", "the run and its delivery are two facts");
    house.host.stop().await;
}

#[tokio::test]
async fn a_notification_that_is_not_taken_is_told_until_the_next_one_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let notifier = Arc::new(Recording::default());
    notifier.refuse.lock().expect("free").push(NotifyError::Later("Nobody shows it.".into()));
    let house = Plan::new(folder.path()).notifier(notifier).build().await;
    let told = async |failing: bool| {
        house
            .until(async |house| {
                let told = house.call("system.status", json!({})).await["notifications"].clone();
                (told["failing"] == failing).then_some(told)
            })
            .await
    };
    told(false).await;
    house.call("deliveries.test", json!({})).await;
    let failing = json!({ "available": false, "reason": "Nobody shows it.", "failing": true });
    assert_eq!(told(true).await, failing);
    house.clock.advance(10 * 60_000);
    assert_eq!(told(false).await, json!({ "available": true, "reason": null, "failing": false }));
    house.host.stop().await;
}

#[tokio::test]
async fn a_channel_that_is_not_set_up_is_a_visible_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path())
        .model([rouse_testkit::scripted_model::says("Found it.")])
        .build()
        .await;
    let job = json!({
        "name": "Tell me",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look", "deliver": true, "channel": "telegram", "to": "me" }
    });
    let file = json!({ "jobs": [job] }).to_string();
    let imported = house.call("cron.import", json!({ "text": file, "enable": true })).await;
    let line = &imported["lines"][0];
    assert_eq!(line["outcome"], "created", "{line}");
    let warning = line["warnings"][0]["message"].as_str().expect("a word about it");
    assert!(warning.contains("telegram is not set up"), "{line}");
    let id = line["id"].as_str().expect("an id").to_owned();
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(&id, 1).await.remove(0);
    let delivery = house
        .until(async |house| {
            let delivery = house.detail(&run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await;
    assert_eq!((&delivery["state"], &delivery["channel"]), (&json!("failed"), &json!("telegram")));
    house.host.stop().await;
}

#[tokio::test]
async fn a_channel_that_is_not_set_up_is_refused_when_it_is_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let job = |channel: &str| {
        let payload = json!({ "kind": "agentTurn", "message": "Look", "channel": channel });
        json!({ "name": "Tell me", "schedule": { "kind": "manual" }, "payload": payload })
    };
    for (channel, words) in [
        ("telegram", "telegram is not set up; there are notification and last"),
        ("pigeon", "there is no channel `pigeon`; there are notification and last"),
    ] {
        let refused = house.try_call("cron.add", job(channel)).await.expect_err(channel);
        let field = json!({ "path": "payload.channel", "message": words });
        assert_eq!(refused.data["fields"][0], field);
    }
    house.add(job("notification")).await;
    let id = house.add(job("last")).await;
    let change =
        |channel: &str| json!({ "id": id, "patch": { "payload": { "channel": channel } } });
    let refused = house.try_call("cron.update", change("webhook")).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "payload.channel");

    // What came from a file with such a channel can still be changed, and be mended.
    let file = json!({ "jobs": [job("telegram")] }).to_string();
    let imported = house.call("cron.import", json!({ "text": file })).await;
    let id = imported["lines"][0]["id"].clone();
    let payload = json!({ "message": "Look again" });
    house.call("cron.update", json!({ "id": id, "patch": { "payload": payload } })).await;
    let payload = json!({ "channel": "last" });
    house.call("cron.update", json!({ "id": id, "patch": { "payload": payload } })).await;
    house.host.stop().await;
}

#[tokio::test]
async fn the_test_notification_finds_its_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let sent = house.call("deliveries.test", json!({})).await;
    let shown = house.notifier.shown.next().await;
    assert_eq!(shown.id.to_string(), sent["id"]);
    house
        .until(async |house| {
            let delivery = house.call("deliveries.get", json!({ "id": sent["id"] })).await;
            (delivery["state"] == "delivered").then_some(())
        })
        .await;
    house.host.stop().await;
}
