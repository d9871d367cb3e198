//! Firing: each slot fires once at the right time, and edits never fire.

use rouse_gateway::RpcError;
use rouse_tests::{EngineBuilder, HOUR, MINUTE, NOON, TestEngine, echo_job};
use serde_json::{Value, json};

#[tokio::test]
async fn at_job_fires_at_its_instant_and_notifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "at", "atMs": NOON + 60_000 }))).await;
    engine.clock.advance(MINUTE - 1);
    engine.call("cron.status", json!({})).await;
    assert!(engine.runs(&id).await.is_empty(), "one millisecond early");
    engine.clock.advance(1);
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(
        (&runs[0]["state"], &runs[0]["slotAtMs"]),
        (&json!("succeeded"), &json!(NOON + 60_000))
    );
    assert_eq!((&runs[0]["summary"], &runs[0]["trigger"]), (&json!("hello"), &json!("schedule")));
    let shown = engine.notifier.shown.next().await;
    assert_eq!((shown.title.as_str(), shown.body.as_str()), ("Echo", "hello"));
    assert_eq!(shown.run_id.map(|id| id.to_string()), runs[0]["id"].as_str().map(str::to_owned));
    assert_eq!(engine.job(&id).await["state"]["nextRunAtMs"], json!(null), "a one-shot is done");
    engine.host.stop().await;
}

#[tokio::test]
async fn tool_call_is_in_journal_of_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await;
    let detail = engine.run_detail(&engine.finished_runs(&id, 1).await[0]).await;
    let step = &detail["steps"][0];
    assert_eq!(
        (&step["kind"], &step["name"], &step["status"]),
        (&json!("toolCall"), &json!("echo"), &json!("finished"))
    );
    assert_eq!(step["input"], json!({ "text": "hello" }));
    engine.host.stop().await;
}

#[tokio::test]
async fn editing_and_enabling_do_not_fire() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    engine.call("cron.update", json!({ "id": id, "patch": { "enabled": false } })).await;
    engine.clock.advance(5 * HOUR + MINUTE);
    engine
        .call("cron.update", json!({ "id": id, "patch": { "enabled": true, "name": "Renamed" } }))
        .await;
    assert_eq!(
        engine.job(&id).await["state"]["nextRunAtMs"],
        json!(NOON + 6 * 3_600_000),
        "on the old grid"
    );
    assert!(engine.runs(&id).await.is_empty());
    engine.host.stop().await;
}

#[tokio::test]
async fn manual_run_does_not_move_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "at", "atMs": NOON + 3_600_000 }))).await;
    assert_eq!(
        engine.call("cron.run", json!({ "id": id, "mode": "due" })).await["runId"],
        json!(null),
        "not due"
    );
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    assert_eq!(engine.job(&id).await["state"]["nextRunAtMs"], json!(NOON + 3_600_000));
    engine.clock.advance(HOUR);
    let runs = engine.finished_runs(&id, 2).await;
    assert_eq!((&runs[0]["trigger"], &runs[1]["trigger"]), (&json!("schedule"), &json!("manual")));
    engine.host.stop().await;
}

#[tokio::test]
async fn invalid_schedule_is_refused_by_field_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for (schedule, path) in [
        (json!({ "kind": "cron", "expr": "0 0 31 2 *" }), "schedule.expr"),
        (json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base" }), "schedule.tz"),
        (json!({ "kind": "every", "everyMs": 10 }), "schedule.everyMs"),
        (json!({ "kind": "at", "atMs": NOON - 1 }), "schedule.atMs"),
        (json!({ "kind": "sometimes" }), "schedule.kind"),
    ] {
        let refused = engine.try_call("cron.add", echo_job(&schedule)).await.expect_err("refused");
        assert_eq!(
            (refused.code, refused.data["fields"][0]["path"].as_str()),
            (-32602, Some(path)),
            "{schedule}"
        );
    }
    assert_eq!(
        engine.call("cron.list", json!({ "includeDisabled": true })).await["jobs"],
        json!([])
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn unknown_keys_survive_an_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = echo_job(&json!({ "kind": "manual" }));
    job["theirs"] = json!({ "deep": [1, 2] });
    job["payload"]["color"] = json!("amber");
    let id = engine.add_job(job).await;
    engine.call("cron.update", json!({ "id": id, "patch": { "name": "Other" } })).await;
    let job = engine.job(&id).await;
    assert_eq!(
        (&job["theirs"], &job["payload"]["color"], &job["name"]),
        (&json!({ "deep": [1, 2] }), &json!("amber"), &json!("Other"))
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn stale_edit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    let edit = |name: &str| json!({ "id": id, "patch": { "name": name }, "expectedRevision": 1 });
    engine.call("cron.update", edit("First")).await;
    let refused = engine.try_call("cron.update", edit("Second")).await.expect_err("stale");
    assert_eq!((refused.code, &refused.data["revision"]), (-32009, &json!(2)));
    assert_eq!(engine.job(&id).await["name"], "First");
    engine.host.stop().await;
}

#[tokio::test]
async fn deleted_job_can_be_added_again_with_its_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine: TestEngine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let removed = engine.call("cron.remove", json!({ "id": id })).await["job"].clone();
    assert!(
        engine
            .try_call("cron.get", json!({ "id": id }))
            .await
            .is_err_and(|error| error.code == -32004)
    );
    assert_eq!(engine.add_job(removed).await, id);
    engine.host.stop().await;
}

#[tokio::test]
async fn invalid_tool_call_is_refused_when_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let job_with_call = |tool: &str, arguments: Value| {
        let mut job = echo_job(&json!({ "kind": "manual" }));
        job["payload"] = json!({ "kind": "toolCall", "tool": tool, "arguments": arguments });
        job
    };
    let path = |refused: RpcError| refused.data["fields"][0]["path"].clone();
    let refused = engine.try_call("cron.add", job_with_call("nosuch", json!({}))).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.tool");
    let refused = engine.try_call("cron.add", job_with_call("echo", json!({ "txt": 1 }))).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.arguments");
    let id = engine.add_job(job_with_call("echo", json!({ "text": "x" }))).await;
    let patch = json!({ "payload": { "arguments": { "text": 7 } } });
    let refused = engine.try_call("cron.update", json!({ "id": id, "patch": patch })).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.arguments");
    engine.host.stop().await;
}

#[tokio::test]
async fn preview_notes_describe_dst_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let preview_of = async |schedule: Value, count: u32| {
        engine.call("cron.preview", json!({ "schedule": schedule, "count": count })).await
    };
    let cron = |expr: &str| json!({ "kind": "cron", "expr": expr, "tz": "Europe/Berlin" });
    let forward = "On 28 Mar 2027 the clock goes forward from 02:00 to 03:00";

    let preview = preview_of(cron("30 2 28 * *"), 5).await;
    let effect = format!("{forward}; skipped times run once, right after the change");
    assert_eq!(preview["notes"], json!([effect]));
    let notes: Vec<&Value> =
        preview["next"].as_array().expect("slots").iter().map(|slot| &slot["note"]).collect();
    assert_eq!(notes[..4], [&Value::Null; 4]);
    assert_eq!(*notes[4], json!("02:30 does not exist on 28 Mar 2027; runs at 03:00"));

    // Four years have eight changes.
    let preview = preview_of(cron("0 9 1 * *"), 50).await;
    let notes = preview["notes"].as_array().expect("notes");
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert_eq!(notes[0], forward);
    assert_eq!(notes[3], "And 5 more clock changes");

    // Within ten yearly slots, the note of a change that skips slots comes before notes without effect.
    let preview = preview_of(cron("*/15 2 25 3 *"), 10).await;
    let notes = preview["notes"].as_array().expect("notes");
    let effect = notes.iter().filter_map(Value::as_str).find(|note| note.contains("25 Mar 2029"));
    assert!(effect.is_some_and(|note| note.contains(';')), "{notes:?}");

    // An interval counts elapsed time, so the wall-clock time shifts.
    engine.clock.set_zones(chrono_tz::Europe::Berlin);
    let preview = preview_of(json!({ "kind": "every", "everyMs": 72 * HOUR }), 50).await;
    let effect = "the interval stays the same, so from then on runs are 1 h later by the clock";
    assert_eq!(preview["notes"], json!([format!("{forward}; {effect}")]));

    // A reader in another zone gets a note when the two zones diverge.
    let zoned = |expr: &str, tz: &str| json!({ "kind": "cron", "expr": expr, "tz": tz });
    let here = format!(
        "{forward} in Europe/Berlin; the job uses UTC, so it then fires 1 h later on your clock"
    );
    for (expr, tz, count, notes) in [
        ("0 9 1 * *", "UTC", 6, json!([here])),
        ("0 8-10 1 * *", "UTC", 15, json!([here])),
        ("0 * 27-29 3 *", "UTC", 50, json!([])),
        ("0 9 1 * *", "Europe/Paris", 6, json!([forward])),
    ] {
        let preview = preview_of(zoned(expr, tz), count).await;
        assert_eq!(preview["notes"], notes, "{expr} {tz}: {preview:#}");
    }

    for (at, which) in [(1824942600000_i64, "first"), (1824946200000, "second")] {
        let preview =
            preview_of(json!({ "kind": "at", "atMs": at, "tz": "Europe/Berlin" }), 1).await;
        let text = format!("02:30 comes twice on 31 Oct 2027; this is the {which} time");
        assert_eq!(preview["next"][0]["note"], text, "{preview}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn wall_clock_time_uses_zone_rules_of_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let berlin = |at: &str| json!({ "kind": "at", "at": at, "tz": "Europe/Berlin" });
    let twice = berlin("2027-10-31T02:30");
    let preview = engine.call("cron.preview", json!({ "schedule": twice })).await;
    let slot = json!({
        "atMs": 1_824_942_600_000_i64,
        "jobTime": "2027-10-31T02:30:00+02:00",
        "localTime": "2027-10-31T00:30:00+00:00",
        "note": "02:30 comes twice on 31 Oct 2027; this is the first time",
    });
    assert_eq!(preview["next"], json!([slot]));
    let id = engine.add_job(echo_job(&twice)).await;
    let stored = json!({ "kind": "at", "atMs": slot["atMs"], "tz": "Europe/Berlin" });
    assert_eq!(engine.job(&id).await["schedule"], stored);

    let moved =
        json!({ "id": id, "patch": { "schedule": { "at": "2027-10-30T02:30", "tz": "UTC" } } });
    engine.call("cron.update", moved).await;
    let stored = json!({ "kind": "at", "atMs": 1_824_863_400_000_i64, "tz": "UTC" });
    assert_eq!(engine.job(&id).await["schedule"], stored);

    for (at, path, text) in [
        ("2027-03-28T02:30", "schedule.at", "the clocks skip it"),
        ("2026-11-21T12:00", "schedule.atMs", "has passed"),
        ("soon", "schedule.at", "expected a day and a time"),
    ] {
        for (method, params) in [
            ("cron.preview", json!({ "schedule": berlin(at) })),
            ("cron.add", echo_job(&berlin(at))),
            ("cron.update", json!({ "id": id, "patch": { "schedule": berlin(at) } })),
        ] {
            let refused = engine.try_call(method, params).await.expect_err("refused");
            let field = &refused.data["fields"][0];
            assert_eq!(field["path"], path, "{method} {at}: {refused:?}");
            assert!(
                refused.message.starts_with(&format!("{path}: ")),
                "{method} {at}: {refused:?}"
            );
            assert!(field["message"].to_string().contains(text), "{method} {at}: {refused:?}");
        }
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn preview_of_job_shows_planned_slots() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let spread = json!({ "kind": "every", "everyMs": HOUR, "jitterMs": 600_000 });
    let id = engine.add_job(echo_job(&spread)).await;
    let job = engine.call("cron.get", json!({ "id": id })).await["job"].clone();
    let params = json!({ "schedule": job["schedule"], "id": id });
    let preview = engine.call("cron.preview", params).await;
    assert_eq!(preview["next"][0]["atMs"], job["state"]["nextRunAtMs"]);
    // A job without an id has no jitter offset yet.
    let preview = engine.call("cron.preview", json!({ "schedule": spread })).await;
    assert_eq!(preview["next"][0]["atMs"], NOON + 3_600_000);
    assert_eq!(preview["notes"], json!(["Each up to 10 min later"]));
    // The notes describe the requested time, not the slot after jitter.
    for (expr, begin) in [
        ("50 2 31 10 *", "02:50 comes twice on 31 Oct 2027; runs the first time only, and "),
        ("30 2 28 3 *", "02:30 does not exist on 28 Mar 2027; runs at 03:00, and "),
    ] {
        let spread =
            json!({ "kind": "cron", "expr": expr, "tz": "Europe/Berlin", "jitterMs": 3_600_000 });
        let id = engine.add_job(echo_job(&spread)).await;
        let params = json!({ "schedule": spread, "id": id });
        let note = engine.call("cron.preview", params).await["next"][0]["note"].clone();
        let note = note.as_str().unwrap_or_default();
        assert!(note.starts_with(begin) && note.ends_with(" later"), "{expr}: {note}");
    }
    engine.host.stop().await;
}
