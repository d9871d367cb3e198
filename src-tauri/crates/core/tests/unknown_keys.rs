//! Unknown keys survive every change of a job, in every object.

use chrono_tz::Tz;
use rouse_core::UnixMs;
use rouse_core::job::{job_from_json, patch_job, stored_job_from_json, to_json};
use serde_json::{Map, Value, json};

const NOW: UnixMs = UnixMs(1_795_262_400_000);

/// Objects in which every key means something: a tool's arguments, and the fields of an event.
const WITHOUT_UNKNOWN_KEYS: [&str; 2] = ["arguments", "filters"];

/// Without a null in an object, which a merge patch cannot carry.
fn unknown_key() -> Value {
    json!({ "theirs": [true, null, 1.5], "deep": { "er": {} } })
}

fn schedules() -> [Value; 6] {
    [
        json!({ "kind": "at", "atMs": NOW.0 + 1, "tz": "Europe/Berlin" }),
        json!({ "kind": "every", "everyMs": 60_000, "anchorMs": 7 }),
        json!({ "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Asia/Kathmandu", "jitterMs": 500 }),
        json!({ "kind": "event", "source": "job", "pattern": "x", "filters": { "status": "ok" } }),
        json!({ "kind": "webhook" }),
        json!({ "kind": "manual" }),
    ]
}

fn payloads() -> [Value; 3] {
    [
        json!({ "kind": "systemEvent", "text": "Tea." }),
        json!({ "kind": "agentTurn", "message": "Look", "tools": ["echo"] }),
        json!({
            "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" },
            "notifyWhen": { "cel": "result.level < 20" }
        }),
    ]
}

/// A job with every object that the format has.
fn job(schedule: &Value, payload: &Value) -> Value {
    let target = if payload["kind"] == "systemEvent" { "main" } else { "isolated" };
    json!({
        "id": "job-1", "name": "Full", "enabled": false, "createdAtMs": 1_000, "updatedAtMs": 2_000,
        "schedule": schedule, "sessionTarget": target, "wakeMode": "now", "payload": payload,
        "isolation": { "postToMainPrefix": "Brief" },
        "runtime": { "maxAttempts": 3 },
        "policies": {
            "misfire": { "mode": "runAll" }, "overlap": "queue", "budget": { "tokensPerRun": 10 },
            "quietHours": { "from": "22:00", "to": "07:00", "tz": "Europe/Berlin", "days": ["fri"] }
        },
        "state": { "lastStatus": "ok", "lastState": "succeeded", "consecutiveFailures": 0, "revision": 9 }
    })
}

/// The pointer of every object of the format in `value`.
fn objects(value: &Value, pointer: &str) -> Vec<String> {
    let Value::Object(fields) = value else { return Vec::new() };
    let inner = fields.iter().filter(|(key, _)| !WITHOUT_UNKNOWN_KEYS.contains(&key.as_str()));
    let inner = inner.flat_map(|(key, value)| objects(value, &format!("{pointer}/{key}")));
    [pointer.to_owned()].into_iter().chain(inner).collect()
}

/// `job` with an unknown key in every object, at the end, as written by Rouse.
fn with_unknown_keys(mut job: Value) -> Value {
    for pointer in objects(&job, "") {
        job.pointer_mut(&pointer).expect("an object")["future"] = unknown_key();
    }
    job
}

fn all() -> impl Iterator<Item = Value> {
    let of = |schedule| payloads().map(|payload| with_unknown_keys(job(&schedule, &payload)));
    schedules().into_iter().flat_map(of)
}

/// A change of a field beside each unknown_key, as a client may send.
fn neighbours(job: &Value) -> Vec<Value> {
    let payload = match job["payload"]["kind"].as_str() {
        Some("systemEvent") => json!({ "text": "Coffee." }),
        Some("agentTurn") => json!({ "message": "Look again" }),
        _ => json!({ "notifyWhen": { "cel": "result.level < 10" } }),
    };
    let mut changes = vec![
        json!({ "name": "Other" }),
        json!({ "payload": payload }),
        json!({ "isolation": { "postToMainPrefix": null } }),
        json!({ "runtime": { "maxAttempts": 4 } }),
        json!({ "policies": { "overlap": null } }),
        json!({ "policies": { "misfire": { "mode": null }, "budget": { "tokensPerRun": null } } }),
        json!({ "policies": { "quietHours": { "days": null, "from": "21:00" } } }),
    ];
    if job["schedule"]["kind"] == "cron" {
        changes.push(json!({ "schedule": { "expr": "@daily" } }));
    }
    changes
}

#[test]
fn every_object_of_a_job_keeps_unknown_keys() {
    for full in all() {
        let read = job_from_json(full.clone(), NOW, Tz::UTC).expect("a job");
        assert_eq!(to_json(&read), full, "read and written");
        let stored = stored_job_from_json(full.clone()).expect("a stored job");
        assert_eq!(to_json(&stored), full, "stored and read");
        for change in neighbours(&full) {
            let patched = patch_job(&read, change.clone(), NOW, Tz::UTC).expect("a job");
            let patched = to_json(&patched);
            for pointer in objects(&full, "").iter().filter(|pointer| !pointer.contains("future")) {
                let kept = patched.pointer(&format!("{pointer}/future"));
                assert_eq!(kept, Some(&unknown_key()), "{pointer} after {change}");
            }
        }
    }
}

#[test]
fn change_of_kind_drops_only_the_old_kinds_keys() {
    let before: Vec<Value> = all().collect();
    for (from, to) in before.iter().flat_map(|from| before.iter().map(move |to| (from, to))) {
        let read = job_from_json(from.clone(), NOW, Tz::UTC).expect("a job");
        for part in ["schedule", "payload"] {
            if from[part]["kind"] == to[part]["kind"] {
                continue;
            }
            let mut change = json!({ part: to[part] });
            change[part].as_object_mut().map(|new| new.shift_remove("future"));
            if part == "payload" {
                change["sessionTarget"] = to["sessionTarget"].clone();
            }
            let patched = patch_job(&read, change, NOW, Tz::UTC).expect("a job");
            assert_eq!(to_json(&patched)[part], to[part], "{from}");
        }
    }
}

#[test]
fn null_under_an_unknown_key_is_kept() {
    let mut full = job(&schedules()[2], &payloads()[2]);
    for pointer in objects(&full, "") {
        full.pointer_mut(&pointer).expect("an object")["future"] = json!({ "deep": null });
        full.pointer_mut(&pointer).expect("an object")["void"] = Value::Null;
    }
    let read = job_from_json(full.clone(), NOW, Tz::UTC).expect("a job");
    assert_eq!(to_json(&read), full);
    let renamed = patch_job(&read, json!({ "name": "Full" }), UnixMs(2_000), Tz::UTC);
    assert_eq!(to_json(&renamed.expect("a job")), full);
}

#[test]
fn client_cannot_set_known_state_keys() {
    let full = with_unknown_keys(job(&schedules()[5], &payloads()[1]));
    let read = job_from_json(full.clone(), NOW, Tz::UTC).expect("a job");
    let change =
        json!({ "state": { "revision": 1, "lastError": "mine", "future": null, "newer": 1 } });
    let patched = to_json(&patch_job(&read, change, NOW, Tz::UTC).expect("a job"));
    let mut expected = full["state"].clone();
    expected.as_object_mut().map(|state| state.shift_remove("future"));
    expected["newer"] = json!(1);
    assert_eq!(patched["state"], expected);
    assert_eq!(read.state.extra, Map::from_iter([("future".to_owned(), unknown_key())]));
}

#[test]
fn stored_instant_is_read_only_from_its_own_key() {
    let mut stored = job(&schedules()[0], &payloads()[0]);
    stored["schedule"] = json!({ "kind": "at", "at": "2031-01-05 07:30" });
    let error = stored_job_from_json(stored.clone()).expect_err("no instant");
    assert!(error.to_string().contains("atMs"), "{error}");
    stored["schedule"]["atMs"] = json!(NOW.0);
    let read = stored_job_from_json(stored).expect("a job");
    assert_eq!(to_json(&read)["schedule"]["at"], "2031-01-05 07:30", "a foreign key");
}
