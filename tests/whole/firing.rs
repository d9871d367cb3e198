//! Slots fire once, at their time, and never by an edit.

use rouse_gateway::RpcError;
use serde_json::{Value, json};

use crate::house::{HOUR, House, MINUTE, NOON, Plan, echo};

#[tokio::test]
async fn a_job_fires_at_its_instant_and_tells_about_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "at", "atMs": NOON + 60_000 }))).await;
    house.clock.advance(MINUTE - 1);
    house.call("cron.status", json!({})).await;
    assert!(house.runs(&id).await.is_empty(), "a millisecond early");
    house.clock.advance(1);
    let runs = house.ended(&id, 1).await;
    assert_eq!(
        (&runs[0]["state"], &runs[0]["slotAtMs"]),
        (&json!("succeeded"), &json!(NOON + 60_000))
    );
    assert_eq!((&runs[0]["summary"], &runs[0]["trigger"]), (&json!("hello"), &json!("schedule")));
    let shown = house.notifier.shown.next().await;
    assert_eq!((shown.title.as_str(), shown.body.as_str()), ("Echo", "hello"));
    assert_eq!(shown.run_id.map(|id| id.to_string()), runs[0]["id"].as_str().map(str::to_owned));
    assert_eq!(house.job(&id).await["state"]["nextRunAtMs"], json!(null), "a one-shot is done");
    house.host.stop().await;
}

#[tokio::test]
async fn every_step_of_a_run_is_in_its_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "manual" }))).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let detail = house.detail(&house.ended(&id, 1).await[0]).await;
    let step = &detail["steps"][0];
    assert_eq!(
        (&step["kind"], &step["name"], &step["status"]),
        (&json!("toolCall"), &json!("echo"), &json!("finished"))
    );
    assert_eq!(step["input"], json!({ "text": "hello" }));
    house.host.stop().await;
}

#[tokio::test]
async fn editing_and_enabling_never_fire() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    house.call("cron.update", json!({ "id": id, "patch": { "enabled": false } })).await;
    house.clock.advance(5 * HOUR + MINUTE);
    house
        .call("cron.update", json!({ "id": id, "patch": { "enabled": true, "name": "Renamed" } }))
        .await;
    assert_eq!(
        house.job(&id).await["state"]["nextRunAtMs"],
        json!(NOON + 6 * 3_600_000),
        "on the old grid"
    );
    assert!(house.runs(&id).await.is_empty());
    house.host.stop().await;
}

#[tokio::test]
async fn running_by_hand_does_not_move_the_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "at", "atMs": NOON + 3_600_000 }))).await;
    assert_eq!(
        house.call("cron.run", json!({ "id": id, "mode": "due" })).await["runId"],
        json!(null),
        "not due"
    );
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await;
    assert_eq!(house.job(&id).await["state"]["nextRunAtMs"], json!(NOON + 3_600_000));
    house.clock.advance(HOUR);
    let runs = house.ended(&id, 2).await;
    assert_eq!((&runs[0]["trigger"], &runs[1]["trigger"]), (&json!("schedule"), &json!("manual")));
    house.host.stop().await;
}

#[tokio::test]
async fn bad_input_is_refused_by_the_path_of_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    for (schedule, path) in [
        (json!({ "kind": "cron", "expr": "0 0 31 2 *" }), "schedule.expr"),
        (json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base" }), "schedule.tz"),
        (json!({ "kind": "every", "everyMs": 10 }), "schedule.everyMs"),
        (json!({ "kind": "at", "atMs": NOON - 1 }), "schedule.atMs"),
        (json!({ "kind": "sometimes" }), "schedule.kind"),
    ] {
        let refused = house.try_call("cron.add", echo(&schedule)).await.expect_err("refused");
        assert_eq!(
            (refused.code, refused.data["fields"][0]["path"].as_str()),
            (-32602, Some(path)),
            "{schedule}"
        );
    }
    assert_eq!(
        house.call("cron.list", json!({ "includeDisabled": true })).await["jobs"],
        json!([])
    );
    house.host.stop().await;
}

#[tokio::test]
async fn unknown_keys_survive_an_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut job = echo(&json!({ "kind": "manual" }));
    job["theirs"] = json!({ "deep": [1, 2] });
    job["payload"]["color"] = json!("amber");
    let id = house.add(job).await;
    house.call("cron.update", json!({ "id": id, "patch": { "name": "Other" } })).await;
    let job = house.job(&id).await;
    assert_eq!(
        (&job["theirs"], &job["payload"]["color"], &job["name"]),
        (&json!({ "deep": [1, 2] }), &json!("amber"), &json!("Other"))
    );
    house.host.stop().await;
}

#[tokio::test]
async fn a_stale_edit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "manual" }))).await;
    let edit = |name: &str| json!({ "id": id, "patch": { "name": name }, "expectedRevision": 1 });
    house.call("cron.update", edit("First")).await;
    let refused = house.try_call("cron.update", edit("Second")).await.expect_err("stale");
    assert_eq!((refused.code, &refused.data["revision"]), (-32009, &json!(2)));
    assert_eq!(house.job(&id).await["name"], "First");
    house.host.stop().await;
}

#[tokio::test]
async fn a_deleted_job_comes_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let house: House = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let removed = house.call("cron.remove", json!({ "id": id })).await["job"].clone();
    assert!(
        house
            .try_call("cron.get", json!({ "id": id }))
            .await
            .is_err_and(|error| error.code == -32004)
    );
    assert_eq!(house.add(removed).await, id);
    house.host.stop().await;
}

#[tokio::test]
async fn a_call_that_could_only_fail_is_refused_when_it_is_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let calling = |tool: &str, arguments: Value| {
        let mut job = echo(&json!({ "kind": "manual" }));
        job["payload"] = json!({ "kind": "toolCall", "tool": tool, "arguments": arguments });
        job
    };
    let path = |refused: RpcError| refused.data["fields"][0]["path"].clone();
    let refused = house.try_call("cron.add", calling("nosuch", json!({}))).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.tool");
    let refused = house.try_call("cron.add", calling("echo", json!({ "txt": 1 }))).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.arguments");
    let id = house.add(calling("echo", json!({ "text": "x" }))).await;
    let patch = json!({ "payload": { "arguments": { "text": 7 } } });
    let refused = house.try_call("cron.update", json!({ "id": id, "patch": patch })).await;
    assert_eq!(path(refused.expect_err("refused")), "payload.arguments");
    house.host.stop().await;
}

#[tokio::test]
async fn the_preview_says_what_a_change_of_the_clock_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let shown = async |schedule: Value, count: u32| {
        house.call("cron.preview", json!({ "schedule": schedule, "count": count })).await
    };
    let cron = |expr: &str| json!({ "kind": "cron", "expr": expr, "tz": "Europe/Berlin" });
    let forward = "On 28 Mar 2027 the clock goes forward from 02:00 to 03:00";

    let preview = shown(cron("30 2 28 * *"), 5).await;
    let effect = format!("{forward}; what would fall in between runs once, right after it");
    assert_eq!(preview["notes"], json!([effect]));
    let notes: Vec<&Value> =
        preview["next"].as_array().expect("slots").iter().map(|slot| &slot["note"]).collect();
    assert_eq!(notes[..4], [&Value::Null; 4]);
    assert_eq!(*notes[4], json!("02:30 does not exist on 28 Mar 2027; runs at 03:00"));

    // Four years have eight changes.
    let preview = shown(cron("0 9 1 * *"), 50).await;
    let notes = preview["notes"].as_array().expect("notes");
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert_eq!(notes[0], forward);
    assert_eq!(notes[3], "And 5 more changes of the clock");

    // In ten years of one day a year, the change that leaves slots out is told before those that leave all as it is.
    let preview = shown(cron("*/15 2 25 3 *"), 10).await;
    let notes = preview["notes"].as_array().expect("notes");
    let effect = notes.iter().filter_map(Value::as_str).find(|note| note.contains("25 Mar 2029"));
    assert!(effect.is_some_and(|note| note.contains(';')), "{notes:?}");

    // An interval goes by elapsed time, and what the clock shows then is another time.
    house.clock.set_zones(chrono_tz::Europe::Berlin);
    let preview = shown(json!({ "kind": "every", "everyMs": 72 * HOUR }), 50).await;
    let effect = "it keeps its interval, so from then on it fires 1 h later by the clock";
    assert_eq!(preview["notes"], json!([format!("{forward}; {effect}")]));

    // Who reads another clock than the job's is told when the two come apart.
    let zoned = |expr: &str, tz: &str| json!({ "kind": "cron", "expr": expr, "tz": tz });
    let here = format!(
        "{forward} in Europe/Berlin; it goes by UTC, so from then on it fires 1 h later by your clock"
    );
    for (expr, tz, count, notes) in [
        ("0 9 1 * *", "UTC", 6, json!([here])),
        ("0 8-10 1 * *", "UTC", 15, json!([here])),
        ("0 * 27-29 3 *", "UTC", 50, json!([])),
        ("0 9 1 * *", "Europe/Paris", 6, json!([forward])),
    ] {
        let preview = shown(zoned(expr, tz), count).await;
        assert_eq!(preview["notes"], notes, "{expr} {tz}: {preview:#}");
    }

    for (at, which) in [(1824942600000_i64, "first"), (1824946200000, "second")] {
        let preview = shown(json!({ "kind": "at", "atMs": at, "tz": "Europe/Berlin" }), 1).await;
        let words = format!("02:30 comes twice on 31 Oct 2027; this is the {which} time");
        assert_eq!(preview["next"][0]["note"], words, "{preview}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_time_on_the_clock_is_read_by_the_engines_own_zone_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let berlin = |at: &str| json!({ "kind": "at", "at": at, "tz": "Europe/Berlin" });
    let twice = berlin("2027-10-31T02:30");
    let preview = house.call("cron.preview", json!({ "schedule": twice })).await;
    let slot = json!({
        "atMs": 1_824_942_600_000_i64,
        "jobTime": "2027-10-31T02:30:00+02:00",
        "localTime": "2027-10-31T00:30:00+00:00",
        "note": "02:30 comes twice on 31 Oct 2027; this is the first time",
    });
    assert_eq!(preview["next"], json!([slot]));
    let id = house.add(echo(&twice)).await;
    let stored = json!({ "kind": "at", "atMs": slot["atMs"], "tz": "Europe/Berlin" });
    assert_eq!(house.job(&id).await["schedule"], stored);

    let moved =
        json!({ "id": id, "patch": { "schedule": { "at": "2027-10-30T02:30", "tz": "UTC" } } });
    house.call("cron.update", moved).await;
    let stored = json!({ "kind": "at", "atMs": 1_824_863_400_000_i64, "tz": "UTC" });
    assert_eq!(house.job(&id).await["schedule"], stored);

    for (at, path, words) in [
        ("2027-03-28T02:30", "schedule.at", "the clocks skip it"),
        ("2026-11-21T12:00", "schedule.atMs", "has passed"),
        ("soon", "schedule.at", "expected a day and a time"),
    ] {
        for (method, params) in [
            ("cron.preview", json!({ "schedule": berlin(at) })),
            ("cron.add", echo(&berlin(at))),
            ("cron.update", json!({ "id": id, "patch": { "schedule": berlin(at) } })),
        ] {
            let refused = house.try_call(method, params).await.expect_err("refused");
            let field = &refused.data["fields"][0];
            assert_eq!(field["path"], path, "{method} {at}: {refused:?}");
            assert!(
                refused.message.starts_with(&format!("{path}: ")),
                "{method} {at}: {refused:?}"
            );
            assert!(field["message"].to_string().contains(words), "{method} {at}: {refused:?}");
        }
    }
    house.host.stop().await;
}

#[tokio::test]
async fn the_preview_of_a_job_shows_the_slots_that_the_engine_has_planned() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let spread = json!({ "kind": "every", "everyMs": HOUR, "jitterMs": 600_000 });
    let id = house.add(echo(&spread)).await;
    let job = house.call("cron.get", json!({ "id": id })).await["job"].clone();
    let shown = json!({ "schedule": job["schedule"], "id": id });
    let preview = house.call("cron.preview", shown).await;
    assert_eq!(preview["next"][0]["atMs"], job["state"]["nextRunAtMs"]);
    // A job without an id has no offset yet.
    let preview = house.call("cron.preview", json!({ "schedule": spread })).await;
    assert_eq!(preview["next"][0]["atMs"], NOON + 3_600_000);
    assert_eq!(preview["notes"], json!(["Each up to 10 min later"]));
    // What the clock does is said of the time that was asked for, wherever its spread puts the slot.
    for (expr, begin) in [
        ("50 2 31 10 *", "02:50 comes twice on 31 Oct 2027; runs the first time only, and "),
        ("30 2 28 3 *", "02:30 does not exist on 28 Mar 2027; runs at 03:00, and "),
    ] {
        let spread =
            json!({ "kind": "cron", "expr": expr, "tz": "Europe/Berlin", "jitterMs": 3_600_000 });
        let id = house.add(echo(&spread)).await;
        let shown = json!({ "schedule": spread, "id": id });
        let note = house.call("cron.preview", shown).await["next"][0]["note"].clone();
        let note = note.as_str().unwrap_or_default();
        assert!(note.starts_with(begin) && note.ends_with(" later"), "{expr}: {note}");
    }
    house.host.stop().await;
}
