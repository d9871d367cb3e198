//! System events, reminders and heartbeat turns of the main session.

use rouse_core::model::ProviderErrorKind;
use rouse_testkit::scripted_model::{fails, large, says};
use rouse_tests::{EngineBuilder, MINUTE, NOON, TestEngine, agent_job};
use serde_json::{Value, json};

fn reminder(wake: &str) -> Value {
    json!({
        "name": "Reminder",
        "schedule": { "kind": "at", "atMs": NOON + 1_000 },
        "sessionTarget": "main",
        "wakeMode": wake,
        "payload": { "kind": "systemEvent", "text": "Stretch your legs" }
    })
}

async fn queued(engine: &TestEngine) -> Value {
    engine.call("heartbeat.status", json!({})).await["queuedEvents"].clone()
}

#[tokio::test]
async fn reminder_without_model_notifies_and_stays_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(reminder("now")).await;
    engine.clock.advance(1_000);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(engine.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&engine).await, json!(1));
    let pending = engine.call("heartbeat.status", json!({})).await["pending"].clone();
    assert_eq!(pending, "Waiting for a model");
    engine.host.stop().await;
}

#[tokio::test]
async fn reminder_with_heartbeat_off_notifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([]).build().await;
    engine.call("set-heartbeats", json!({ "enabled": false })).await;
    let id = engine.add_job(reminder("next-heartbeat")).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    assert_eq!(engine.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&engine).await, json!(1));
    engine.host.stop().await;
}

#[tokio::test]
async fn heartbeat_switch_set_by_environment_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).env("HEARTBEAT_ENABLED", "false").build().await;
    let unchanged = engine.try_call("set-heartbeats", json!({ "enabled": false })).await;
    assert_eq!(unchanged.expect("as it is")["enabled"], false);
    let refused = engine.try_call("set-heartbeats", json!({ "enabled": true })).await;
    let refused = refused.expect_err("it stays off").message;
    assert!(refused.contains("the environment variable HEARTBEAT_ENABLED"), "{refused}");
    engine.host.stop().await;
}

#[tokio::test]
async fn reminder_with_model_starts_turn_of_main_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Time to stand up.")]).build().await;
    engine.add_job(reminder("now")).await;
    engine.clock.advance(1_000);
    engine.coalesce_wakes().await;
    let shown = engine.notifier.shown.next().await;
    assert_eq!(shown.body, "Time to stand up.");
    let message = format!("{:?}", engine.model.requests()[0].messages.last());
    assert!(message.contains("System: Stretch your legs"), "{message}");
    engine.wait_until(async |engine| (queued(engine).await == json!(0)).then_some(())).await;
    engine.host.stop().await;
}

/// Waits until `count` heartbeat turns are finished. Returns the newest first.
async fn finished_heartbeats(engine: &TestEngine, count: usize) -> Vec<Value> {
    engine
        .wait_until(async |engine| {
            let runs = engine.call("runs.list", json!({ "triggers": ["heartbeat"] })).await;
            let runs = runs["runs"].as_array().cloned().unwrap_or_default();
            let over = |run: &Value| !matches!(run["state"].as_str(), Some("queued" | "running"));
            (runs.len() >= count && runs.iter().all(over)).then_some(runs)
        })
        .await
}

/// The deliveries of the only run of the reminder `id`.
async fn run_deliveries(engine: &TestEngine, id: &str) -> Value {
    engine.run_detail(&engine.runs(id).await[0]).await["deliveries"].clone()
}

#[tokio::test]
async fn reminder_of_failed_turn_notifies_once_and_stays_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let failure = || fails(ProviderErrorKind::Auth, "The key was refused.");
    let script = [failure(), failure(), says("HEARTBEAT_OK")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let mut job = reminder("now");
    job["policies"] = json!({ "quietHours": "ignore" });
    let id = engine.add_job(job).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    assert_eq!(run_deliveries(&engine, &id).await, json!([]), "the main session announces it");
    engine.coalesce_wakes().await;
    assert_eq!(finished_heartbeats(&engine, 1).await[0]["state"], "failed");
    let deliveries = run_deliveries(&engine, &id).await;
    assert_eq!(deliveries[0]["title"], "Reminder", "{deliveries}");
    assert_eq!(deliveries[0]["body"], "Stretch your legs", "{deliveries}");
    engine
        .wait_until(async |engine| {
            (run_deliveries(engine, &id).await[0]["state"] == "delivered").then_some(())
        })
        .await;
    assert_eq!(queued(&engine).await, json!(1), "the next turn that works sees it");
    engine.clock.advance(30 * MINUTE);
    assert_eq!(finished_heartbeats(&engine, 2).await[0]["state"], "failed");
    assert_eq!(queued(&engine).await, json!(1));
    engine.clock.advance(30 * MINUTE);
    finished_heartbeats(&engine, 3).await;
    engine.wait_until(async |engine| (queued(engine).await == json!(0)).then_some(())).await;
    assert_eq!(
        run_deliveries(&engine, &id).await.as_array().map(Vec::len),
        Some(1),
        "announced once"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn reminder_of_silent_turn_notifies_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [says("HEARTBEAT_OK"), says("HEARTBEAT_OK")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = engine.add_job(reminder("now")).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    engine.coalesce_wakes().await;
    assert_eq!(finished_heartbeats(&engine, 1).await[0]["state"], "nothingToReport");
    let deliveries = run_deliveries(&engine, &id).await;
    assert_eq!(deliveries[0]["body"], "Stretch your legs", "{deliveries}");
    assert_eq!(engine.notifier.shown.next().await.body, "Stretch your legs");
    assert_eq!(queued(&engine).await, json!(0), "a turn has seen it");
    engine.clock.advance(30 * MINUTE);
    finished_heartbeats(&engine, 1).await;
    assert_eq!(
        run_deliveries(&engine, &id).await.as_array().map(Vec::len),
        Some(1),
        "announced once"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn reminder_with_used_up_budget_notifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([large(says("Done."))]).build().await;
    engine.call("config.patch", json!({ "patch": { "budget": { "tokensPerDay": 1_500 } } })).await;
    let mut spender = agent_job("Look");
    spender["payload"]["useTools"] = json!(false);
    let spender = engine.add_job(spender).await;
    engine.start_run(&spender).await;
    assert_eq!(engine.finished_runs(&spender, 1).await[0]["state"], "succeeded");
    let id = engine.add_job(reminder("now")).await;
    let mut silent = reminder("now");
    silent["policies"] = json!({ "notify": "never" });
    let silent = engine.add_job(silent).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    engine.finished_runs(&silent, 1).await;
    engine.coalesce_wakes().await;
    assert_eq!(finished_heartbeats(&engine, 1).await[0]["state"], "skipped");
    assert_eq!(run_deliveries(&engine, &id).await[0]["body"], "Stretch your legs");
    assert_eq!(run_deliveries(&engine, &silent).await, json!([]), "its policy is silent");
    assert_eq!(queued(&engine).await, json!(3), "with the event of the other job");
    engine.host.stop().await;
}

#[tokio::test]
async fn reminder_announced_once_is_not_repeated_by_failed_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(reminder("now")).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    engine.notifier.shown.next().await;
    let clock = engine.clock.clone();
    engine.host.stop().await;
    let failure = fails(ProviderErrorKind::Auth, "The key was refused.");
    let engine = EngineBuilder::new(folder.path()).clock(&clock).model([failure]).build().await;
    assert_eq!(finished_heartbeats(&engine, 1).await[0]["state"], "failed");
    assert_eq!(run_deliveries(&engine, &id).await.as_array().map(Vec::len), Some(1));
    assert_eq!(queued(&engine).await, json!(1));
    engine.host.stop().await;
}

#[tokio::test]
async fn next_heartbeat_event_waits_for_heartbeat() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("HEARTBEAT_OK")]).build().await;
    let id = engine.add_job(reminder("next-heartbeat")).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    assert_eq!(queued(&engine).await, json!(1));
    assert!(engine.model.requests().is_empty());
    engine.clock.advance(30 * MINUTE);
    assert_eq!(finished_heartbeats(&engine, 1).await[0]["state"], "nothingToReport");
    assert_eq!(queued(&engine).await, json!(0));
    engine.host.stop().await;
}

/// Only reminders are announced in any case. The model decides about other system events.
#[tokio::test]
async fn system_event_of_silent_turn_is_not_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("HEARTBEAT_OK")]).build().await;
    engine.call("wake", json!({ "text": "The kettle boils", "mode": "next-heartbeat" })).await;
    engine.clock.advance(30 * MINUTE);
    let heartbeat = finished_heartbeats(&engine, 1).await[0].clone();
    assert_eq!(heartbeat["state"], "nothingToReport");
    assert_eq!(queued(&engine).await, json!(0));
    // Deliveries of a turn are written at the end.
    assert_eq!(engine.run_detail(&heartbeat).await["deliveries"], json!([]));
    assert!(engine.notifier.shown.take_all().is_empty(), "HEARTBEAT_OK is silence");
    engine.host.stop().await;
}

#[tokio::test]
async fn failed_turn_keeps_system_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([]).build().await;
    engine.call("wake", json!({ "text": "Look here", "mode": "now" })).await;
    engine.coalesce_wakes().await;
    engine.model.asked(1).await;
    engine
        .wait_until(async |engine| {
            let runs = engine.call("runs.list", json!({ "triggers": ["heartbeat"] })).await["runs"]
                .clone();
            (runs[0]["state"] == "failed").then_some(())
        })
        .await;
    assert_eq!(queued(&engine).await, json!(1));
    engine.host.stop().await;
}

#[tokio::test]
async fn wake_returns_its_outcome() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let deliveries = engine.call("wake", json!({ "text": "Look here" })).await;
    assert_eq!(deliveries["queued"], 1);
    assert!(
        deliveries["outcome"].as_str().is_some_and(|outcome| outcome.contains("No model")),
        "{deliveries}"
    );
    assert!(engine.try_call("wake", json!({ "text": "  " })).await.is_err());
    engine.host.stop().await;
}

/// The outcome text of a wake.
async fn wake_outcome(engine: &TestEngine, more: Value) -> String {
    let mut params = json!({ "text": "Look here", "coalesceMs": 0 });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        params[key] = value;
    }
    let deliveries = engine.call("wake", params).await;
    deliveries["outcome"].as_str().expect("words").to_owned()
}

#[tokio::test]
async fn wake_outcome_names_blocking_condition() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        EngineBuilder::new(folder.path()).model((0..6).map(|_| says("Seen."))).build().await;
    for turn in 1..=6 {
        assert_eq!(wake_outcome(&engine, json!({})).await, "The main session runs now.");
        finished_heartbeats(&engine, turn).await;
    }
    let flood = wake_outcome(&engine, json!({})).await;
    let many = "Too many wakes in the last minute.";
    assert_eq!(flood, format!("{many} The main session runs within the next minute."));
    let waits = "The main session runs as soon as jobs fire again.";

    engine.call("cron.pause", json!({})).await;
    let paused = wake_outcome(&engine, json!({})).await;
    assert_eq!(paused, format!("Everything is paused. {waits}"));
    engine.call("config.patch", json!({ "patch": { "cron": { "enabled": false } } })).await;
    let off = "Firing is switched off in the settings (cron.enabled)";
    let deliveries = engine
        .wait_until(async |engine| {
            let deliveries = wake_outcome(engine, json!({})).await;
            deliveries.starts_with("Firing").then_some(deliveries)
        })
        .await;
    assert_eq!(deliveries, format!("{off}. {waits}"));
    let status = engine.call("heartbeat.status", json!({})).await;
    assert_eq!(status["nextAtMs"], Value::Null, "nothing fires");
    assert_eq!(status["lastSkipReason"], off);
    assert_eq!(status["pending"], format!("Waiting: {off}"));
    let next = json!({ "text": "Later", "mode": "next-heartbeat" });
    let deliveries = engine.call("wake", next).await["outcome"].clone();
    assert_eq!(deliveries, format!("Queued, but no heartbeat is scheduled: {off}."));
    engine.host.stop().await;
}

#[tokio::test]
async fn coalesced_wake_returns_its_delay() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Seen.")]).build().await;
    let deliveries = wake_outcome(&engine, json!({ "coalesceMs": 60_000 })).await;
    assert_eq!(deliveries, "The main session runs within 1 min.");
    engine.host.stop().await;
}

#[tokio::test]
async fn heartbeat_hours_and_prompt_are_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let hours = "[heartbeat]\nactiveHours = { from = \"08:00\", to = \"11:00\", tz = \"UTC\" }\nprompt = \"Speak Latin.\"\n";
    std::fs::write(folder.path().join("config.toml"), hours).expect("a file");
    let engine = EngineBuilder::new(folder.path()).model([says("Salve.")]).build().await;
    let status = engine.call("heartbeat.status", json!({})).await;
    let tomorrow_at_eight = NOON + 20 * 3_600_000;
    assert_eq!(status["nextAtMs"], tomorrow_at_eight, "it is noon");
    assert_eq!(status["activeHours"], "08:00–11:00");
    engine.call("wake", json!({ "text": "Look here" })).await;
    engine.coalesce_wakes().await;
    engine.model.asked(1).await;
    assert!(engine.model.requests()[0].system.contains("Speak Latin."), "in its own words");
    let removed = json!({ "patch": { "heartbeat": { "activeHours": null } } });
    engine.call("config.patch", removed).await;
    engine
        .wait_until(async |engine| {
            let status = engine.call("heartbeat.status", json!({})).await;
            (status["activeHours"].is_null() && status["nextAtMs"] == NOON + 1_800_000)
                .then_some(())
        })
        .await;
    let wrong =
        json!({ "patch": { "heartbeat": { "activeHours": { "from": "8", "to": "11:00" } } } });
    let refused = engine.try_call("config.patch", wrong).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "heartbeat.activeHours.from");
    engine.host.stop().await;
}

#[tokio::test]
async fn heartbeat_file_with_lost_provenance_is_untrusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("workspace/HEARTBEAT.md");
    let engine = EngineBuilder::new(folder.path()).build().await;
    std::fs::write(&list, "water the plants").expect("a list");
    let status = engine.call("heartbeat.status", json!({})).await;
    assert_eq!(status["untrustedList"], Value::Null, "{status}");
    engine.host.stop().await;
    let file = rusqlite::Connection::open(folder.path().join("rouse.db")).expect("a file");
    let garble = "UPDATE settings SET value = '{' WHERE key LIKE 'heartbeat.list%'";
    assert_eq!(file.execute(garble, []).expect("garbled"), 1);
    drop(file);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let list = engine.call("heartbeat.status", json!({})).await["untrustedList"].clone();
    assert_eq!((&list["text"], &list["runId"]), (&json!("water the plants"), &Value::Null));
    let reason = list["changedBy"].as_str().expect("words");
    assert!(reason.contains("cannot be read"), "{reason}");
    let status = engine.call("heartbeat.trust", json!({ "digest": list["digest"] })).await;
    assert_eq!(status["untrustedList"], Value::Null, "{status}");
    engine.host.stop().await;
}

/// The author of a reminder decides whether the turn is tainted.
#[tokio::test]
async fn reminder_written_by_agent_is_untrusted_input() {
    let (agent, person) = (json!({ "kind": "agent", "runId": "r" }), json!({ "kind": "person" }));
    let cases = [
        (json!({}), false),
        (json!({ "createdBy": agent }), true),
        (json!({ "messageBy": agent }), true),
        (json!({ "createdBy": agent, "messageBy": person }), false),
    ];
    for (signed, is_agents) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let engine =
            EngineBuilder::new(folder.path()).model([says("Time to stand up.")]).build().await;
        let mut job = reminder("now");
        job.as_object_mut().expect("a job").extend(signed.as_object().expect("keys").clone());
        engine.add_job(job).await;
        engine.clock.advance(1_000);
        engine.coalesce_wakes().await;
        let heartbeat = finished_heartbeats(&engine, 1).await[0].clone();
        let steps = engine.run_detail(&heartbeat).await["steps"].clone();
        let steps = steps.as_array().expect("steps");
        let note = steps.iter().find(|step| step["name"] == "System events").expect("a note");
        assert_eq!(note["input"]["fromOutside"], is_agents, "{signed}: {note}");
        let message = format!("{:?}", engine.model.requests()[0].messages.last());
        assert_eq!(message.contains("⟦outside "), is_agents, "{signed}: {message}");
        assert!(message.contains("System: Stretch your legs"), "{signed}: {message}");
        engine.host.stop().await;
    }
}

/// Editing a reminder does not change the provenance of a queued event.
#[tokio::test]
async fn queued_event_keeps_provenance_of_its_creation() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = reminder("now");
    job["deleteAfterRun"] = json!(false);
    job["createdBy"] = json!({ "kind": "agent", "runId": "r" });
    let id = engine.add_job(job).await;
    engine.clock.advance(1_000);
    engine.finished_runs(&id, 1).await;
    engine.notifier.shown.next().await;
    let patch = json!({ "payload": { "text": "Stretch your arms" } });
    engine.call("cron.update", json!({ "id": id, "patch": patch })).await;
    let clock = engine.clock.clone();
    engine.host.stop().await;
    let engine = EngineBuilder::new(folder.path()).clock(&clock).model([says("Up!")]).build().await;
    finished_heartbeats(&engine, 1).await;
    let message = format!("{:?}", engine.model.requests()[0].messages.last());
    assert!(message.contains("⟦outside "), "{message}");
    engine.host.stop().await;
}
