//! The job format: every field and unknown key survives a round trip, and errors name a path.

use chrono_tz::Tz;
use rouse_core::UnixMs;
use rouse_core::job::{
    Job, JobError, imported_job_from_json, job_from_json, patch_job, stored_job_from_json, to_json,
};
use serde_json::{Value, json};

const NOW: UnixMs = UnixMs(1_795_262_400_000);

fn read(input: Value) -> Result<Job, JobError> {
    job_from_json(input, NOW, Tz::Europe__Berlin)
}

fn paths(input: Value) -> Vec<String> {
    read(input).expect_err("refused").0.into_iter().map(|error| error.path).collect()
}

/// Every field, none at the default, and an unknown key at every level.
fn full() -> Value {
    json!({
        "id": "job-1",
        "name": "Morning brief",
        "description": "What is on",
        "enabled": false,
        "createdAtMs": 1_000,
        "updatedAtMs": 2_000,
        "schedule": { "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Asia/Kathmandu", "jitterMs": 500, "x1": [1] },
        "sessionTarget": "isolated",
        "wakeMode": "next-heartbeat",
        "payload": {
            "kind": "agentTurn", "message": "Look", "deliver": true, "channel": "last", "to": "me",
            "timeoutSeconds": 60, "model": "m", "fallbacks": ["n", "ollama:o"], "useTools": false, "tools": ["echo"], "maxSteps": 3,
            "maxTokens": 100, "contextPaths": ["today.md"], "skills": ["weekly-report"], "x2": { "deep": null }
        },
        "isolation": { "postToMainPrefix": "Brief", "x3": 1 },
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 250, "x4": "y" },
        "policies": {
            "misfire": { "mode": "runAll", "maxLatenessSeconds": 90, "limit": 4, "x5": true },
            "overlap": "parallel", "maxConcurrent": 2, "cooldownSeconds": 5, "timeoutSeconds": 30,
            "pauseAfterFailures": 4, "budget": { "tokensPerRun": 10, "tokensPerDay": 20, "usdPerRun": 0.25, "usdPerDay": 2, "x6": 0 }, "notify": "always",
            "quietHours": { "from": "22:00", "to": "07:00" }, "x7": { "later": 1 }
        },
        "deleteAfterRun": true,
        "state": {
            "nextRunAtMs": 5_000, "lastRunAtMs": 4_000, "lastStatus": "error", "lastState": "timedOut",
            "lastError": "e", "lastDurationMs": 7, "consecutiveFailures": 2, "revision": 9
        },
        "x0": { "theirs": [true, null, 1.5] }
    })
}

#[test]
fn full_job_round_trips() {
    let job = read(full()).expect("a job");
    assert_eq!(to_json(&job), full());
    assert_eq!(read(to_json(&job)), Ok(job));
}

fn once(schedule: &Value) -> Value {
    json!({ "name": "Once", "schedule": schedule, "payload": { "kind": "systemEvent", "text": "Tea" } })
}

#[test]
fn local_time_is_stored_as_its_instant() {
    let hour = 3_600_000;
    let tokyo_9 = 1_796_083_200_000_i64;
    let cases = [
        (json!({ "at": "2026-12-01T09:00", "tz": "Asia/Tokyo" }), tokyo_9),
        (json!({ "at": " 2026-12-01 09:00:00 ", "tz": "Asia/Tokyo" }), tokyo_9),
        // The zone of this computer, here Berlin.
        (json!({ "at": "2026-12-01T09:00" }), tokyo_9 + 8 * hour),
        (json!({ "at": "2026-12-01T09:00:00+01:00", "tz": "Asia/Tokyo" }), tokyo_9 + 8 * hour),
        // A repeated time means the first.
        (json!({ "at": "2026-10-25T02:30", "tz": "Europe/Berlin" }), 1_792_888_200_000),
    ];
    for (mut schedule, at) in cases {
        schedule["kind"] = json!("at");
        let job = read(once(&schedule)).expect("a job");
        let mut stored = json!({ "kind": "at", "atMs": at });
        if let Some(tz) = schedule.get("tz") {
            stored["tz"] = tz.clone();
        }
        assert_eq!(to_json(&job)["schedule"], stored, "{schedule}");
    }
}

#[test]
fn skipped_or_unreadable_time_is_refused_by_field() {
    for (at, words) in [
        (
            json!("2026-03-29T02:30"),
            "2026-03-29 02:30 does not exist in Europe/Berlin: the clocks skip it",
        ),
        (json!("tomorrow 9:00"), "expected a day and a time such as 2026-12-24T18:00"),
        (json!("20m"), "expected a day and a time"),
        (json!("+99999-01-01T00:00"), "between the years"),
        (json!("1969-12-31T00:00"), "between the years"),
        (json!(7), "expected a text"),
    ] {
        let schedule = json!({ "kind": "at", "at": at, "tz": "Europe/Berlin" });
        let errors = read(once(&schedule)).expect_err("refused").0;
        assert_eq!(errors.len(), 1, "{at}: {errors:?}");
        assert_eq!(errors[0].path, "schedule.at");
        assert!(errors[0].message.contains(words), "{at}: {errors:?}");
    }
    let neither = once(&json!({ "kind": "at", "tz": "Europe/Berlin" }));
    assert_eq!(paths(neither), ["schedule.atMs"]);
}

#[test]
fn patched_local_time_replaces_the_instant() {
    let at = 1_796_083_200_000_i64;
    let job = read(once(&json!({ "kind": "at", "atMs": at, "tz": "UTC", "jitterMs": 5 })))
        .expect("a job");
    let changed = |schedule: Value| {
        let patched = patch_job(&job, json!({ "schedule": schedule }), NOW, Tz::Europe__Berlin);
        patched.map(|job| to_json(&job)["schedule"].clone()).expect("a job")
    };
    let berlin =
        json!({ "kind": "at", "atMs": at + 8 * 3_600_000, "tz": "Europe/Berlin", "jitterMs": 5 });
    let clock = json!({ "at": "2026-12-01T09:00", "tz": "Europe/Berlin" });
    assert_eq!(changed(clock.clone()), berlin);
    let mut whole = clock;
    whole["atMs"] = Value::Null;
    assert_eq!(changed(whole), berlin);
    // Beside an instant the key is ignored: another program may use it.
    let both = json!({ "kind": "at", "atMs": at, "tz": "UTC", "jitterMs": 5, "at": "theirs" });
    assert_eq!(changed(json!({ "atMs": at, "at": "theirs" })), both);
    let theirs = read(once(&both)).expect("a job");
    let named = patch_job(&theirs, json!({ "name": "Other" }), NOW, Tz::UTC).expect("a job");
    assert_eq!(to_json(&named)["schedule"], both);
}

#[test]
fn short_job_gets_its_defaults_at_creation() {
    let job = read(json!({
        "name": "Tidy",
        "schedule": { "kind": "cron", "expr": "@daily" },
        "payload": { "kind": "toolCall", "tool": "echo" }
    }))
    .expect("a job");
    let written = to_json(&job);
    assert_eq!(
        written["schedule"]["tz"], "Europe/Berlin",
        "the zone is stored, not looked up again"
    );
    assert_eq!(
        (&written["enabled"], &written["sessionTarget"]),
        (&json!(true), &json!("isolated"))
    );
    assert_eq!(written["createdAtMs"], json!(NOW.0));
    assert_eq!(written.get("policies"), None);
}

#[test]
fn interval_is_anchored_at_creation() {
    let job = read(json!({
        "name": "Tick",
        "schedule": { "kind": "every", "everyMs": 60_000.0 },
        "payload": { "kind": "systemEvent", "text": "tick" }
    }));
    assert_eq!(to_json(&job.expect("a job"))["schedule"]["anchorMs"], json!(NOW.0));
}

#[test]
fn all_errors_are_reported_by_path() {
    let mut job = full();
    job["name"] = json!("  ");
    job["schedule"]["tz"] = json!("Mars/Base");
    job["schedule"]["expr"] = json!("61 7 * * *");
    job["payload"]["tools"] = json!(["echo", 7]);
    job["payload"]["maxSteps"] = json!(0);
    job["policies"]["misfire"]["mode"] = json!("later");
    job["policies"]["timeoutSeconds"] = json!("30");
    let expected = [
        "name",
        "schedule.expr",
        "schedule.tz",
        "payload.tools[1]",
        "payload.maxSteps",
        "policies.misfire.mode",
        "policies.timeoutSeconds",
    ];
    let mut found = paths(job);
    found.sort_by_key(|path| expected.iter().position(|known| known == path));
    assert_eq!(found, expected);
}

#[test]
fn unstorable_job_is_refused() {
    let with = |key: &str, value: Value| {
        let mut job = full();
        job[key] = value;
        paths(job)
    };
    assert_eq!(
        with("schedule", json!({ "kind": "cron", "expr": "0 0 31 2 *" })),
        ["schedule.expr"]
    );
    assert_eq!(with("schedule", json!({ "kind": "every", "everyMs": 999 })), ["schedule.everyMs"]);
    assert_eq!(with("schedule", json!({ "kind": "at" })), ["schedule.atMs"]);
    assert_eq!(with("schedule", json!({ "atMs": 1 })), ["schedule.kind"]);
    assert_eq!(with("schedule", json!("daily")), ["schedule"]);
    assert_eq!(with("payload", json!(null)), ["payload"]);
    assert_eq!(with("payload", json!({ "kind": "agentTurn" })), ["payload.message"]);
    assert_eq!(
        with("payload", json!({ "kind": "toolCall", "tool": "echo", "arguments": [] })),
        ["payload.arguments"]
    );
    assert_eq!(
        with("sessionTarget", json!("main")),
        ["sessionTarget"],
        "main never runs an agent itself"
    );
    assert_eq!(paths(json!([])), ["(whole input)"]);
}

#[test]
fn deceptive_name_is_refused() {
    let named = |name: &str| {
        let mut job = full();
        job["name"] = name.into();
        job
    };
    for hiding in
        ["Pay\u{202e}txt.exe", "Pay\u{200b}ment", "\u{2066}Pay", "Pay\u{ad}ment", "Pay\u{e0041}"]
    {
        assert_eq!(paths(named(hiding)), ["name"], "{hiding:?}");
    }
    let families =
        ["Möhre & Ü", "家族 👨‍👩‍👧", "می‌خواهم", "תזכורת בוקר", "A\u{a0}b", "1️⃣ First", "क्षि"];
    for name in families {
        assert!(read(named(name)).is_ok(), "{name:?}");
    }
}

#[test]
fn patch_changes_only_its_keys() {
    let job = read(full()).expect("a job");
    let patch = json!({ "name": "New", "description": null, "policies": { "notify": "never" }, "id": "other", "state": {} });
    let patched = patch_job(&job, patch, UnixMs(9_000), Tz::UTC).expect("a job");
    let mut expected = full();
    expected["name"] = json!("New");
    expected.as_object_mut().expect("an object").remove("description");
    expected["policies"]["notify"] = json!("never");
    expected["updatedAtMs"] = json!(9_000);
    assert_eq!(to_json(&patched), expected);
}

#[test]
fn author_of_the_text_stays_until_it_changes() {
    let agent = json!({ "kind": "agent", "runId": "r1" });
    let mut made = full();
    made["createdBy"] = agent.clone();
    made["payload"] = json!({ "kind": "agentTurn", "message": "Look" });
    let job = read(made.clone()).expect("a job");
    assert!(!job.is_message_by_person());
    let patched = |job: &Job, patch: Value| patch_job(job, patch, NOW, Tz::UTC).expect("a job");
    for patch in [json!({ "name": "B" }), json!({ "payload": made["payload"], "enabled": false })] {
        assert!(!patched(&job, patch.clone()).is_message_by_person(), "{patch}");
    }
    let mine = patched(&job, json!({ "payload": { "message": "Look there" } }));
    assert!(mine.is_message_by_person());
    assert_eq!(to_json(&mine)["messageBy"], json!({ "kind": "person" }));
    assert_eq!(to_json(&mine)["createdBy"], agent);
    assert!(patched(&mine, json!({ "payload": { "message": "Look" } })).is_message_by_person());
    let signed = json!({ "payload": { "message": "Send" }, "messageBy": agent });
    let again = patched(&mine, signed);
    assert!(!again.is_message_by_person());
    assert!(!patched(&again, json!({ "description": "x" })).is_message_by_person());

    // Earlier fields of a person are not reported.
    let own = patched(&read(full()).expect("a job"), json!({ "payload": { "message": "Other" } }));
    assert_eq!(own.extra.get("messageBy"), None);
}

#[test]
fn patch_to_another_kind_drops_the_old_fields() {
    let job = read(full()).expect("a job");
    let patch = json!({ "schedule": { "kind": "every", "everyMs": 60_000 } });
    let patched = patch_job(&job, patch, NOW, Tz::UTC).expect("a job");
    assert_eq!(to_json(&patched)["schedule"]["kind"], "every");
    assert_eq!(to_json(&patched)["schedule"].get("expr"), None);
    assert!(patch_job(&job, json!({ "schedule": { "kind": "every" } }), NOW, Tz::UTC).is_err());
    assert!(patch_job(&job, json!(7), NOW, Tz::UTC).is_err());
}

#[test]
fn jitter_without_slots_is_refused_but_kept_if_stored() {
    let event = json!({ "kind": "event", "source": "wake", "jitterMs": 1 });
    for schedule in [
        json!({ "kind": "webhook", "jitterMs": 3_600_000 }),
        json!({ "kind": "manual", "jitterMs": 3_600_000 }),
        event,
    ] {
        let document = once(&schedule);
        assert_eq!(paths(document.clone()), ["schedule.jitterMs"], "{schedule}");
        let imported = imported_job_from_json(document.clone(), NOW, Tz::UTC).expect("a job");
        let stored = stored_job_from_json(document).expect("a job");
        for job in [imported, stored] {
            assert_eq!(to_json(&job)["schedule"]["jitterMs"], schedule["jitterMs"]);
            let patched = |patch| patch_job(&job, patch, NOW, Tz::UTC);
            let kept =
                patched(json!({ "name": "Other" })).expect("earlier violations are accepted");
            assert_eq!(to_json(&kept)["schedule"]["jitterMs"], schedule["jitterMs"]);
            let gone = patched(json!({ "schedule": { "jitterMs": null } })).expect("a job");
            assert_eq!(gone.schedule.jitter_ms, None);
            let refused = patched(json!({ "schedule": { "jitterMs": 2 } })).expect_err("refused");
            assert_eq!(refused.0[0].path, "schedule.jitterMs");
        }
    }
    assert!(read(once(&json!({ "kind": "webhook", "jitterMs": 0 }))).is_ok());
    assert_eq!(paths(once(&json!({ "kind": "hourly", "jitterMs": 5 }))), ["schedule.kind"]);
    let spread = read(once(&json!({ "kind": "at", "atMs": NOW.0, "jitterMs": 5 }))).expect("a job");
    let patch = json!({ "schedule": { "kind": "webhook", "jitterMs": 5 } });
    assert!(patch_job(&spread, patch, NOW, Tz::UTC).is_err());
    let patch = json!({ "schedule": { "kind": "webhook" } });
    let hook = patch_job(&spread, patch, NOW, Tz::UTC).expect("a job");
    assert_eq!(hook.schedule.jitter_ms, None, "jitter is removed with the schedule");
}
