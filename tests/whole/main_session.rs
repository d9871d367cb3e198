//! Lines for the main session, and its turns.

use rouse_core::model::ProviderErrorKind;
use rouse_testkit::scripted_model::{fails, large, says};
use serde_json::{Value, json};

use crate::house::{House, MINUTE, NOON, Plan, ask};

fn reminder(wake: &str) -> Value {
    json!({
        "name": "Reminder",
        "schedule": { "kind": "at", "atMs": NOON + 1_000 },
        "sessionTarget": "main",
        "wakeMode": wake,
        "payload": { "kind": "systemEvent", "text": "Stretch your legs" }
    })
}

async fn queued(house: &House) -> Value {
    house.call("heartbeat.status", json!({})).await["queuedEvents"].clone()
}

#[tokio::test]
async fn without_a_model_a_reminder_is_a_notification_and_stays_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(reminder("now")).await;
    house.clock.advance(1_000);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(house.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&house).await, json!(1));
    let pending = house.call("heartbeat.status", json!({})).await["pending"].clone();
    assert_eq!(pending, "It waits for a model");
    house.host.stop().await;
}

#[tokio::test]
async fn a_reminder_for_a_heartbeat_that_is_off_is_a_notification() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([]).build().await;
    house.call("set-heartbeats", json!({ "enabled": false })).await;
    let id = house.add(reminder("next-heartbeat")).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    assert_eq!(house.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&house).await, json!(1));
    house.host.stop().await;
}

#[tokio::test]
async fn a_switch_that_the_environment_decides_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).env("HEARTBEAT_ENABLED", "false").build().await;
    let off = house.try_call("set-heartbeats", json!({ "enabled": false })).await;
    assert_eq!(off.expect("as it is")["enabled"], false);
    let refused = house.try_call("set-heartbeats", json!({ "enabled": true })).await;
    let refused = refused.expect_err("it stays off").message;
    assert!(refused.contains("the environment variable HEARTBEAT_ENABLED"), "{refused}");
    house.host.stop().await;
}

#[tokio::test]
async fn with_a_model_a_reminder_becomes_a_turn_of_main() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Time to stand up.")]).build().await;
    house.add(reminder("now")).await;
    house.clock.advance(1_000);
    house.gather().await;
    let shown = house.notifier.shown.next().await;
    assert_eq!(shown.body, "Time to stand up.");
    let seen = format!("{:?}", house.model.requests()[0].messages.last());
    assert!(seen.contains("System: Stretch your legs"), "{seen}");
    house.until(async |house| (queued(house).await == json!(0)).then_some(())).await;
    house.host.stop().await;
}

/// Waits until `count` turns of main are over; answers them, newest first.
async fn beats(house: &House, count: usize) -> Vec<Value> {
    house
        .until(async |house| {
            let runs = house.call("runs.list", json!({ "triggers": ["heartbeat"] })).await;
            let runs = runs["runs"].as_array().cloned().unwrap_or_default();
            let over = |run: &Value| !matches!(run["state"].as_str(), Some("queued" | "running"));
            (runs.len() >= count && runs.iter().all(over)).then_some(runs)
        })
        .await
}

/// What the one run of the reminder `id` has told.
async fn told(house: &House, id: &str) -> Value {
    house.detail(&house.runs(id).await[0]).await["deliveries"].clone()
}

#[tokio::test]
async fn a_reminder_whose_turn_fails_is_a_notification_once_and_stays_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let down = || fails(ProviderErrorKind::Auth, "The key was refused.");
    let script = [down(), down(), says("HEARTBEAT_OK")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let mut job = reminder("now");
    job["policies"] = json!({ "quietHours": "ignore" });
    let id = house.add(job).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    assert_eq!(told(&house, &id).await, json!([]), "main tells it");
    house.gather().await;
    assert_eq!(beats(&house, 1).await[0]["state"], "failed");
    let deliveries = told(&house, &id).await;
    assert_eq!(deliveries[0]["title"], "Reminder", "{deliveries}");
    assert_eq!(deliveries[0]["body"], "Stretch your legs", "{deliveries}");
    house
        .until(async |house| (told(house, &id).await[0]["state"] == "delivered").then_some(()))
        .await;
    assert_eq!(queued(&house).await, json!(1), "the next turn that works sees it");
    house.clock.advance(30 * MINUTE);
    assert_eq!(beats(&house, 2).await[0]["state"], "failed");
    assert_eq!(queued(&house).await, json!(1));
    house.clock.advance(30 * MINUTE);
    beats(&house, 3).await;
    house.until(async |house| (queued(house).await == json!(0)).then_some(())).await;
    assert_eq!(told(&house, &id).await.as_array().map(Vec::len), Some(1), "told once");
    house.host.stop().await;
}

#[tokio::test]
async fn a_reminder_whose_turn_says_nothing_is_a_notification_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [says("HEARTBEAT_OK"), says("HEARTBEAT_OK")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = house.add(reminder("now")).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    house.gather().await;
    assert_eq!(beats(&house, 1).await[0]["state"], "nothingToReport");
    let deliveries = told(&house, &id).await;
    assert_eq!(deliveries[0]["body"], "Stretch your legs", "{deliveries}");
    assert_eq!(house.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&house).await, json!(0), "a turn has seen it");
    house.clock.advance(30 * MINUTE);
    beats(&house, 1).await;
    assert_eq!(told(&house, &id).await.as_array().map(Vec::len), Some(1), "told once");
    house.host.stop().await;
}

#[tokio::test]
async fn a_reminder_is_told_when_the_budget_of_the_day_is_used_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([large(says("Done."))]).build().await;
    house.call("config.patch", json!({ "patch": { "budget": { "tokensPerDay": 1_500 } } })).await;
    let mut asks = ask("Look");
    asks["payload"]["useTools"] = json!(false);
    let asks = house.add(asks).await;
    house.call("cron.run", json!({ "id": asks, "mode": "force" })).await;
    assert_eq!(house.ended(&asks, 1).await[0]["state"], "succeeded");
    let id = house.add(reminder("now")).await;
    let mut silent = reminder("now");
    silent["policies"] = json!({ "notify": "never" });
    let silent = house.add(silent).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    house.ended(&silent, 1).await;
    house.gather().await;
    assert_eq!(beats(&house, 1).await[0]["state"], "skipped");
    assert_eq!(told(&house, &id).await[0]["body"], "Stretch your legs");
    assert_eq!(told(&house, &silent).await, json!([]), "as its policy says");
    assert_eq!(queued(&house).await, json!(3), "with the line of the other job");
    house.host.stop().await;
}

#[tokio::test]
async fn a_line_that_was_told_without_a_model_is_not_told_again_by_a_turn_that_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(reminder("now")).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    house.notifier.shown.next().await;
    let clock = house.clock.clone();
    house.host.stop().await;
    let down = fails(ProviderErrorKind::Auth, "The key was refused.");
    let house = Plan::new(folder.path()).clock(&clock).model([down]).build().await;
    assert_eq!(beats(&house, 1).await[0]["state"], "failed");
    assert_eq!(told(&house, &id).await.as_array().map(Vec::len), Some(1));
    assert_eq!(queued(&house).await, json!(1));
    house.host.stop().await;
}

#[tokio::test]
async fn a_line_for_the_next_heartbeat_waits_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("HEARTBEAT_OK")]).build().await;
    let id = house.add(reminder("next-heartbeat")).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    assert_eq!(queued(&house).await, json!(1));
    assert!(house.model.requests().is_empty());
    house.clock.advance(30 * MINUTE);
    assert_eq!(beats(&house, 1).await[0]["state"], "nothingToReport");
    assert_eq!(queued(&house).await, json!(0));
    house.host.stop().await;
}

/// A person's reminder is told all the same; any other line is the model's to weigh.
#[tokio::test]
async fn a_line_that_is_no_reminder_and_needs_nobody_is_silence() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("HEARTBEAT_OK")]).build().await;
    house.call("wake", json!({ "text": "The kettle boils", "mode": "next-heartbeat" })).await;
    house.clock.advance(30 * MINUTE);
    let beat = beats(&house, 1).await[0].clone();
    assert_eq!(beat["state"], "nothingToReport");
    assert_eq!(queued(&house).await, json!(0));
    // What is told of a turn is written down with its end.
    assert_eq!(house.detail(&beat).await["deliveries"], json!([]));
    assert!(house.notifier.shown.take_all().is_empty(), "HEARTBEAT_OK is silence");
    house.host.stop().await;
}

#[tokio::test]
async fn a_failed_turn_loses_no_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([]).build().await;
    house.call("wake", json!({ "text": "Look here", "mode": "now" })).await;
    house.gather().await;
    house.model.asked(1).await;
    house
        .until(async |house| {
            let runs =
                house.call("runs.list", json!({ "triggers": ["heartbeat"] })).await["runs"].clone();
            (runs[0]["state"] == "failed").then_some(())
        })
        .await;
    assert_eq!(queued(&house).await, json!(1));
    house.host.stop().await;
}

#[tokio::test]
async fn a_wake_says_what_happens_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let told = house.call("wake", json!({ "text": "Look here" })).await;
    assert_eq!(told["queued"], 1);
    assert!(told["outcome"].as_str().is_some_and(|outcome| outcome.contains("No model")), "{told}");
    assert!(house.try_call("wake", json!({ "text": "  " })).await.is_err());
    house.host.stop().await;
}

/// What a wake says.
async fn woken(house: &House, more: Value) -> String {
    let mut params = json!({ "text": "Look here", "coalesceMs": 0 });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        params[key] = value;
    }
    let told = house.call("wake", params).await;
    told["outcome"].as_str().expect("words").to_owned()
}

#[tokio::test]
async fn a_wake_names_what_its_turn_waits_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model((0..6).map(|_| says("Seen."))).build().await;
    for turn in 1..=6 {
        assert_eq!(woken(&house, json!({})).await, "The main session gets its turn now.");
        beats(&house, turn).await;
    }
    let flood = woken(&house, json!({})).await;
    let waits = "The line waits and the main session gets its turn";
    let many = "There were many wakes in the last minute.";
    assert_eq!(flood, format!("{many} {waits} within the next one."));

    house.call("cron.pause", json!({})).await;
    let paused = woken(&house, json!({})).await;
    assert_eq!(paused, format!("Everything is paused. {waits} as soon as jobs fire again."));
    house.call("config.patch", json!({ "patch": { "cron": { "enabled": false } } })).await;
    let off = "Firing is switched off in the settings (cron.enabled)";
    let told = house
        .until(async |house| {
            let told = woken(house, json!({})).await;
            told.starts_with("Firing").then_some(told)
        })
        .await;
    assert_eq!(told, format!("{off}. {waits} as soon as jobs fire again."));
    let status = house.call("heartbeat.status", json!({})).await;
    assert_eq!(status["nextAtMs"], Value::Null, "nothing fires");
    assert_eq!(status["lastSkipReason"], off);
    assert_eq!(status["pending"], format!("It waits: {off}"));
    let next = json!({ "text": "Later", "mode": "next-heartbeat" });
    let told = house.call("wake", next).await["outcome"].clone();
    assert_eq!(told, format!("The line waits for the next heartbeat, and none is planned: {off}."));
    house.host.stop().await;
}

#[tokio::test]
async fn a_wake_that_gathers_says_for_how_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Seen.")]).build().await;
    let told = woken(&house, json!({ "coalesceMs": 60_000 })).await;
    assert_eq!(told, "The main session gets its turn within 1 min.");
    house.host.stop().await;
}

#[tokio::test]
async fn hours_words_and_model_of_the_heartbeat_are_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let hours = "[heartbeat]\nactiveHours = { from = \"08:00\", to = \"11:00\", tz = \"UTC\" }\nprompt = \"Speak Latin.\"\n";
    std::fs::write(folder.path().join("config.toml"), hours).expect("a file");
    let house = Plan::new(folder.path()).model([says("Salve.")]).build().await;
    let status = house.call("heartbeat.status", json!({})).await;
    let tomorrow_at_eight = NOON + 20 * 3_600_000;
    assert_eq!(status["nextAtMs"], tomorrow_at_eight, "it is noon");
    assert_eq!(status["activeHours"], "08:00–11:00");
    house.call("wake", json!({ "text": "Look here" })).await;
    house.gather().await;
    house.model.asked(1).await;
    assert!(house.model.requests()[0].system.contains("Speak Latin."), "in its own words");
    let removed = json!({ "patch": { "heartbeat": { "activeHours": null } } });
    house.call("config.patch", removed).await;
    house
        .until(async |house| {
            let status = house.call("heartbeat.status", json!({})).await;
            (status["activeHours"].is_null() && status["nextAtMs"] == NOON + 1_800_000)
                .then_some(())
        })
        .await;
    let wrong =
        json!({ "patch": { "heartbeat": { "activeHours": { "from": "8", "to": "11:00" } } } });
    let refused = house.try_call("config.patch", wrong).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "heartbeat.activeHours.from");
    house.host.stop().await;
}

#[tokio::test]
async fn a_list_of_which_nobody_knows_any_more_who_changed_it_gives_no_orders() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("workspace/HEARTBEAT.md");
    let house = Plan::new(folder.path()).build().await;
    std::fs::write(&list, "water the plants").expect("a list");
    let status = house.call("heartbeat.status", json!({})).await;
    assert_eq!(status["changedList"], Value::Null, "{status}");
    house.host.stop().await;
    let file = rusqlite::Connection::open(folder.path().join("rouse.db")).expect("a file");
    let garble = "UPDATE settings SET value = '{' WHERE key LIKE 'heartbeat.list%'";
    assert_eq!(file.execute(garble, []).expect("garbled"), 1);
    drop(file);
    let house = Plan::new(folder.path()).build().await;
    let list = house.call("heartbeat.status", json!({})).await["changedList"].clone();
    assert_eq!((&list["text"], &list["runId"]), (&json!("water the plants"), &Value::Null));
    let why = list["why"].as_str().expect("words");
    assert!(why.contains("cannot be read"), "{why}");
    let status = house.call("heartbeat.trust", json!({ "digest": list["digest"] })).await;
    assert_eq!(status["changedList"], Value::Null, "{status}");
    house.host.stop().await;
}

/// Whose reminder it is decides the note of the turn that was told it, and so what that turn may do unasked.
#[tokio::test]
async fn a_reminder_that_an_agent_has_written_is_no_word_of_the_person() {
    let (agent, person) = (json!({ "kind": "agent", "runId": "r" }), json!({ "kind": "person" }));
    let cases = [
        (json!({}), false),
        (json!({ "createdBy": agent }), true),
        (json!({ "messageBy": agent }), true),
        (json!({ "createdBy": agent, "messageBy": person }), false),
    ];
    for (signed, is_agents) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let house = Plan::new(folder.path()).model([says("Time to stand up.")]).build().await;
        let mut job = reminder("now");
        job.as_object_mut().expect("a job").extend(signed.as_object().expect("keys").clone());
        house.add(job).await;
        house.clock.advance(1_000);
        house.gather().await;
        let beat = beats(&house, 1).await[0].clone();
        let steps = house.detail(&beat).await["steps"].clone();
        let steps = steps.as_array().expect("steps");
        let note = steps.iter().find(|step| step["name"] == "Queued lines").expect("a note");
        assert_eq!(note["input"]["fromOutside"], is_agents, "{signed}: {note}");
        let seen = format!("{:?}", house.model.requests()[0].messages.last());
        assert_eq!(seen.contains("⟦outside "), is_agents, "{signed}: {seen}");
        assert!(seen.contains("System: Stretch your legs"), "{signed}: {seen}");
        house.host.stop().await;
    }
}

/// What is said of a reminder later changes nothing about a line that waits.
#[tokio::test]
async fn a_line_that_waits_is_whose_it_was_when_it_was_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut job = reminder("now");
    job["deleteAfterRun"] = json!(false);
    job["createdBy"] = json!({ "kind": "agent", "runId": "r" });
    let id = house.add(job).await;
    house.clock.advance(1_000);
    house.ended(&id, 1).await;
    house.notifier.shown.next().await;
    let mine = json!({ "payload": { "text": "Stretch your arms" } });
    house.call("cron.update", json!({ "id": id, "patch": mine })).await;
    let clock = house.clock.clone();
    house.host.stop().await;
    let house = Plan::new(folder.path()).clock(&clock).model([says("Up!")]).build().await;
    beats(&house, 1).await;
    let seen = format!("{:?}", house.model.requests()[0].messages.last());
    assert!(seen.contains("⟦outside "), "{seen}");
    house.host.stop().await;
}
