//! Unknown keys survive the store, edits, a restart, export and import.

use rouse_tests::{EngineBuilder, TestEngine};
use serde_json::{Value, json};

/// A job with an unknown key in every object.
fn job_with_unknown_keys() -> Value {
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

/// The exported job without the fields that the engine owns.
async fn exported(engine: &TestEngine) -> Value {
    let mut job = engine.call("cron.export", json!({ "id": "kept-1" })).await["jobs"][0].clone();
    for key in ["createdAtMs", "updatedAtMs"] {
        job.as_object_mut().map(|job| job.remove(key));
    }
    job["state"] = json!({ "theirs": job["state"]["theirs"] });
    job
}

fn expected(name: &str) -> Value {
    let mut expected = job_with_unknown_keys();
    expected["name"] = json!(name);
    expected["state"] = json!({ "theirs": 10 });
    expected
}

async fn import(engine: &TestEngine, job: &Value, update: bool) -> Value {
    let text = json!({ "format": "rouse", "jobs": [job] }).to_string();
    let answer = engine.call("cron.import", json!({ "text": text, "update": update })).await;
    answer["lines"][0]["outcome"].clone()
}

#[tokio::test]
async fn imported_unknown_keys_survive_edits_and_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    assert_eq!(import(&engine, &job_with_unknown_keys(), false).await, "created");
    assert_eq!(exported(&engine).await, expected("Full"));
    let change = json!({ "name": "Other", "policies": { "cooldownSeconds": 5 } });
    engine.call("cron.update", json!({ "id": "kept-1", "patch": change })).await;
    let change = json!({ "policies": { "cooldownSeconds": null } });
    engine.call("cron.update", json!({ "id": "kept-1", "patch": change })).await;
    engine.host.stop().await;

    let engine = EngineBuilder::new(folder.path()).build().await;
    assert_eq!(exported(&engine).await, expected("Other"));
    assert_eq!(engine.job("kept-1").await["state"]["revision"], 3, "the engine owns known keys");
    assert_eq!(import(&engine, &expected("Third"), true).await, "updated");
    assert_eq!(exported(&engine).await, expected("Third"));
    engine.host.stop().await;
}

#[tokio::test]
async fn added_unknown_keys_survive_run_and_restore() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = job_with_unknown_keys();
    job["state"] = json!({ "theirs": 10 });
    engine.add_job(job).await;
    engine.start_run("kept-1").await;
    engine.finished_runs("kept-1", 1).await;
    assert_eq!(exported(&engine).await, expected("Full"));
    let removed = engine.call("cron.remove", json!({ "id": "kept-1" })).await["job"].clone();
    engine.call("cron.add", removed).await;
    assert_eq!(exported(&engine).await, expected("Full"));
    engine.host.stop().await;
}
