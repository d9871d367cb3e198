//! Keys that nobody here knows survive the store, edits, a restart, an export and an import.

use serde_json::{Value, json};

use crate::house::{House, Plan};

/// A job with a key that nobody knows in every object.
fn full() -> Value {
    json!({
        "id": "kept-1", "name": "Full", "enabled": false, "theirs": 0,
        "schedule": { "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Asia/Kathmandu", "theirs": 1 },
        "sessionTarget": "isolated", "wakeMode": "now",
        "payload": {
            "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" },
            "notifyWhen": { "cel": "result == 'b'", "theirs": { "deep": [2] } }, "theirs": 3
        },
        "isolation": { "theirs": 4 },
        "runtime": { "maxAttempts": 2, "theirs": 5 },
        "policies": {
            "misfire": { "theirs": 6 }, "budget": { "theirs": 7 },
            "quietHours": { "from": "22:00", "to": "07:00", "theirs": 8 }, "theirs": 9
        },
        "state": { "nextRunAtMs": 5, "revision": 70, "lastError": 6, "theirs": 10 }
    })
}

/// What is the engine's own to say is left out.
async fn exported(house: &House) -> Value {
    let mut job = house.call("cron.export", json!({ "id": "kept-1" })).await["jobs"][0].clone();
    for key in ["createdAtMs", "updatedAtMs"] {
        job.as_object_mut().map(|job| job.remove(key));
    }
    job["state"] = json!({ "theirs": job["state"]["theirs"] });
    job
}

fn expected(name: &str) -> Value {
    let mut expected = full();
    expected["name"] = json!(name);
    expected["state"] = json!({ "theirs": 10 });
    expected
}

async fn import(house: &House, job: &Value, update: bool) -> Value {
    let text = json!({ "format": "rouse", "jobs": [job] }).to_string();
    let answer = house.call("cron.import", json!({ "text": text, "update": update })).await;
    answer["lines"][0]["outcome"].clone()
}

#[tokio::test]
async fn a_file_comes_out_as_it_went_in_after_edits_and_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    assert_eq!(import(&house, &full(), false).await, "created");
    assert_eq!(exported(&house).await, expected("Full"));
    let change = json!({ "name": "Other", "policies": { "cooldownSeconds": 5 } });
    house.call("cron.update", json!({ "id": "kept-1", "patch": change })).await;
    let change = json!({ "policies": { "cooldownSeconds": null } });
    house.call("cron.update", json!({ "id": "kept-1", "patch": change })).await;
    house.host.stop().await;

    let house = Plan::new(folder.path()).build().await;
    assert_eq!(exported(&house).await, expected("Other"));
    assert_eq!(house.job("kept-1").await["state"]["revision"], 3, "what is known is the engine's");
    assert_eq!(import(&house, &expected("Third"), true).await, "updated");
    assert_eq!(exported(&house).await, expected("Third"));
    house.host.stop().await;
}

#[tokio::test]
async fn a_job_that_is_added_runs_and_comes_back_keeps_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut job = full();
    job["state"] = json!({ "theirs": 10 });
    house.add(job).await;
    house.call("cron.run", json!({ "id": "kept-1", "mode": "force" })).await;
    house.ended("kept-1", 1).await;
    assert_eq!(exported(&house).await, expected("Full"));
    let removed = house.call("cron.remove", json!({ "id": "kept-1" })).await["job"].clone();
    house.call("cron.add", removed).await;
    assert_eq!(exported(&house).await, expected("Full"));
    house.host.stop().await;
}
