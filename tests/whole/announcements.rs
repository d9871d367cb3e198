//! Notification routing: notify conditions, incidents, quiet hours and digests.

use rouse_core::time::Clock as _;
use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::{EngineBuilder, HOUR, MINUTE, NOON, TestEngine, agent_job};
use serde_json::{Value, json};

/// A tool call job that returns `value` every hour.
pub(super) fn hourly(name: &str, value: &Value, more: &Value) -> Value {
    let mut job = json!({
        "name": name,
        "schedule": { "kind": "every", "everyMs": HOUR, "anchorMs": NOON },
        "payload": {
            "kind": "toolCall", "tool": "json",
            "arguments": { "op": "get", "value": value, "pointer": "" },
        },
    });
    if let Some(when) = more.get("notifyWhen") {
        job["payload"]["notifyWhen"] = when.clone();
    }
    if let Some(policies) = more.get("policies") {
        job["policies"] = policies.clone();
    }
    job
}

/// The delivery states of job `id`, newest run first.
async fn delivery_states(engine: &TestEngine, id: &str) -> Vec<String> {
    let mut delivery_states = Vec::new();
    for run in engine.runs(id).await {
        let detail = engine.call("runs.get", json!({ "id": run["id"] })).await;
        for delivery in detail["deliveries"].as_array().expect("a list") {
            delivery_states.push(delivery["state"].as_str().expect("a state").to_owned());
        }
    }
    delivery_states
}

pub(super) async fn wait_for_deliveries(engine: &TestEngine, id: &str, states: &[&str]) {
    engine
        .wait_until(async |engine| (delivery_states(engine, id).await == states).then_some(()))
        .await;
}

#[tokio::test]
async fn notify_condition_delivers_only_when_true() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let when = json!({ "notifyWhen": { "cel": "result.level < 20" } });
    let low = engine.add_job(hourly("Low", &json!({ "level": 17 }), &when)).await;
    let full = engine.add_job(hourly("Full", &json!({ "level": 90 }), &when)).await;
    let unknown = engine.add_job(hourly("Odd", &json!({ "charge": 17 }), &when)).await;
    engine.clock.advance(HOUR);
    for id in [&low, &full, &unknown] {
        engine.finished_runs(id, 1).await;
    }
    wait_for_deliveries(&engine, &low, &["delivered"]).await;
    wait_for_deliveries(&engine, &unknown, &["delivered"]).await;
    assert_eq!(delivery_states(&engine, &full).await, [""; 0]);
    let run = &engine.runs(&unknown).await[0];
    let detail = engine.call("runs.get", json!({ "id": run["id"] })).await;
    let body = detail["deliveries"][0]["body"].as_str().expect("a text");
    assert!(
        body.starts_with("The condition could not be checked: there is no key level"),
        "{body}"
    );
    let note = detail["steps"].as_array().expect("steps").last().expect("a note").clone();
    assert_eq!((note["kind"].clone(), note["isError"].clone()), (json!("note"), json!(true)));

    let params = |cel: &str| json!({ "id": full, "cel": cel });
    let answer = engine.call("cron.tryCondition", params("result.level < 95")).await;
    assert_eq!(answer["holds"], true);
    assert_eq!(
        (&answer["on"]["result"], &answer["on"]["previous"]),
        (&json!({ "level": 90 }), &Value::Null)
    );
    let answer = engine.call("cron.tryCondition", params("result.level <")).await;
    assert!(answer["problem"].as_str().is_some_and(|problem| problem.contains("character")));
    let refused = hourly("Bad", &json!(1), &json!({ "notifyWhen": { "cel": "level < 20" } }));
    let error = engine.try_call("cron.add", refused).await.expect_err("refused");
    assert_eq!(error.data["fields"][0]["path"], "payload.notifyWhen.cel", "{error:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn uncheckable_condition_opens_incident_until_fixed() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let when = json!({ "notifyWhen": { "cel": "result.level < 20" } });
    let id = engine.add_job(hourly("Odd", &json!({ "charge": 17 }), &when)).await;
    let last_note = async |engine: &TestEngine| {
        let detail = engine.run_detail(&engine.runs(&id).await[0]).await;
        let steps = detail["steps"].as_array().cloned().unwrap_or_default();
        steps.last().expect("a note")["output"].as_str().expect("words").to_owned()
    };
    for (n, expected) in [
        (1, "The condition could not be checked, so the run notifies: there is no key `level`"),
        (2, "The condition could not be checked. The error counts as an incident, notified on"),
    ] {
        engine.clock.advance(HOUR);
        engine.finished_runs(&id, n).await;
        let text = last_note(&engine).await;
        assert!(text.starts_with(expected), "{text}");
        let list = engine.call("cron.list", json!({ "hasIncident": true })).await;
        assert_eq!(list["jobs"][0]["job"]["id"], json!(id), "{list}");
        assert_eq!(list["jobs"][0]["incident"]["count"], json!(n));
        assert_eq!(engine.call("cron.status", json!({})).await["failingJobs"], 1);
    }
    wait_for_deliveries(&engine, &id, &["delivered"]).await;
    let patch = json!({ "payload": { "notifyWhen": { "cel": "result.charge < 20" } } });
    engine.call("cron.update", json!({ "id": id, "patch": patch })).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 3).await;
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(view["incident"], Value::Null);
    assert_eq!(engine.call("cron.status", json!({})).await["failingJobs"], 0);
    engine.host.stop().await;
}

#[tokio::test]
async fn repeated_failure_notifies_at_start_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = hourly("Look", &json!({ "a": 1 }), &json!({}));
    job["payload"]["arguments"]["pointer"] = json!("/b");
    let id = engine.add_job(job).await;
    for n in 1..=4 {
        engine.clock.advance(HOUR);
        engine.finished_runs(&id, n).await;
    }
    wait_for_deliveries(&engine, &id, &["delivered"]).await;
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(
        (&view["incident"]["count"], &view["incident"]["openedAtMs"]),
        (&json!(4), &json!(NOON + 3_600_000))
    );
    assert_eq!(view["incident"]["pausedBecause"], Value::Null);
    let patch = json!({ "payload": { "arguments": { "pointer": "/a" } } });
    engine.call("cron.update", json!({ "id": id, "patch": patch })).await;
    engine.clock.advance(HOUR);
    let newest = engine.finished_runs(&id, 5).await.remove(0);
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    let detail = engine.call("runs.get", json!({ "id": newest["id"] })).await;
    assert_eq!(detail["deliveries"][0]["body"], "Works again after 4 failures in 4 h: 1");
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(view["incident"], Value::Null);
    engine.host.stop().await;
}

#[tokio::test]
async fn resumed_job_resets_its_failure_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let policies = json!({ "policies": { "pauseAfterFailures": 3 } });
    let mut job = hourly("Look", &json!({ "a": 1 }), &policies);
    job["payload"]["arguments"]["pointer"] = json!("/b");
    let id = engine.add_job(job).await;
    for n in 1..=3 {
        engine.clock.advance(HOUR);
        engine.finished_runs(&id, n).await;
    }
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(view["job"]["enabled"], false);
    assert_eq!(view["incident"]["pausedBecause"], "Paused after 3 failures in a row");
    let on = json!({ "id": id, "patch": { "enabled": true } });
    let view = engine.call("cron.update", on).await;
    assert_eq!(
        (&view["incident"], &view["job"]["state"]["consecutiveFailures"]),
        (&Value::Null, &json!(0))
    );
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 4).await;
    wait_for_deliveries(&engine, &id, &["delivered", "delivered", "delivered"]).await;
    engine.host.stop().await;
}

#[tokio::test]
async fn job_resumed_after_pause_announces_recovery() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let set_quiet_hours =
        json!({ "notifyWhen": "failure", "policies": { "pauseAfterFailures": 2 } });
    let mut job = hourly("Look", &json!({ "a": 1 }), &set_quiet_hours);
    job["payload"]["arguments"]["pointer"] = json!("/b");
    let id = engine.add_job(job).await;
    for n in 1..=2 {
        engine.clock.advance(HOUR);
        engine.finished_runs(&id, n).await;
    }
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    let patch = json!({ "enabled": true, "payload": { "arguments": { "pointer": "/a" } } });
    engine.call("cron.update", json!({ "id": id, "patch": patch })).await;
    engine.clock.advance(HOUR);
    let newest = engine.finished_runs(&id, 3).await.remove(0);
    wait_for_deliveries(&engine, &id, &["delivered", "delivered", "delivered"]).await;
    let detail = engine.call("runs.get", json!({ "id": newest["id"] })).await;
    assert_eq!(detail["deliveries"][0]["body"], "Works again after 2 failures in 2 h.");
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 4).await;
    wait_for_deliveries(&engine, &id, &["delivered", "delivered", "delivered"]).await;
    engine.host.stop().await;
}

/// An engine in quiet hours whose job has two pending approvals, the job id and the approvals.
async fn with_held_approvals(folder: &std::path::Path) -> (TestEngine, String, Vec<Value>) {
    let write = |path: &str| calls([("c1", "write_file", json!({ "path": path, "content": "x" }))]);
    let script = [write("a.txt"), write("b.txt"), says("Then not."), says("Then not.")];
    let engine = EngineBuilder::new(folder).model(script).build().await;
    set_quiet_hours(&engine, "15:30").await;
    let id = engine.add_job(agent_job("Write")).await;
    let mut approvals = Vec::new();
    for n in 1..=2 {
        engine.start_run(&id).await;
        let open = engine.wait_until(async |engine| {
            let open = engine.call("approvals.list", json!({})).await["approvals"].take();
            open.as_array().filter(|open| open.len() == n).cloned()
        });
        approvals = open.await;
    }
    wait_for_deliveries(&engine, &id, &["held", "held"]).await;
    (engine, id, approvals)
}

#[tokio::test]
async fn held_approval_can_be_decided_after_quiet_hours() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, id, _) = with_held_approvals(folder.path()).await;
    let open = engine.call("approvals.list", json!({})).await["approvals"].clone();
    let half_past_three = NOON + 12_600_000;
    for approval in open.as_array().expect("a list") {
        assert_eq!(approval["expiresAtMs"], json!(half_past_three + 1_800_000), "{approval}");
    }
    engine.clock.advance(3 * HOUR);
    wait_for_deliveries(&engine, &id, &["held", "held"]).await;
    engine.clock.advance(30 * MINUTE);
    // Approvals have buttons, so no digest merges approvals.
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    for approval in open.as_array().expect("a list") {
        engine.decide(approval, "deny").await;
    }
    for run in engine.finished_runs(&id, 2).await {
        assert_eq!(run["summary"], "Then not.");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn approval_decided_in_quiet_hours_is_not_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, id, approvals) = with_held_approvals(folder.path()).await;
    engine.decide(&approvals[0], "deny").await;
    let run = approvals[0]["runId"].clone();
    let deliveries = engine.wait_until(async |engine| {
        let deliveries = engine.call("runs.get", json!({ "id": run })).await["deliveries"].take();
        deliveries
            .as_array()
            .is_some_and(|deliveries| {
                deliveries.iter().any(|delivery| delivery["state"] == "suppressed")
            })
            .then_some(deliveries)
    });
    let suppressed = deliveries
        .await
        .as_array()
        .expect("a list")
        .iter()
        .find(|delivery| delivery["state"] == "suppressed")
        .cloned();
    assert_eq!(
        suppressed.expect("a suppressed delivery")["reason"],
        "The approval was decided before it was announced."
    );
    assert_eq!(
        engine.wait_for_run(&id, "succeeded").await["id"],
        run,
        "the other approval is pending"
    );
    engine.host.stop().await;
}

/// Quiet hours begin at noon here.
const QUIET_FROM: &str = "12:00";

pub(super) async fn set_quiet_hours(engine: &TestEngine, to: &str) {
    let hours = json!({ "from": QUIET_FROM, "to": to, "tz": "UTC" });
    engine.call("config.patch", json!({ "patch": { "quietHours": hours } })).await;
}

#[tokio::test]
async fn held_results_become_one_digest_after_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_quiet_hours(&engine, "15:30").await;
    let id = engine.add_job(hourly("Look", &json!(1), &json!({}))).await;
    let loud = json!({ "policies": { "quietHours": "ignore" } });
    let loud = engine.add_job(hourly("Alarm", &json!(1), &loud)).await;
    for n in 1..=2 {
        engine.clock.advance(HOUR);
        engine.finished_runs(&id, n).await;
        engine.finished_runs(&loud, n).await;
    }
    wait_for_deliveries(&engine, &id, &["held", "held"]).await;
    wait_for_deliveries(&engine, &loud, &["delivered", "delivered"]).await;
    let run = engine.runs(&id).await[0]["id"].clone();
    let held = engine.call("runs.get", json!({ "id": run })).await["deliveries"][0].clone();
    assert_eq!(held["heldUntilMs"], json!(NOON + 12_600_000));
    let clock = engine.clock.clone();
    engine.host.stop().await;

    let engine = EngineBuilder::new(folder.path()).clock(&clock).build().await;
    wait_for_deliveries(&engine, &id, &["held", "held"]).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 3).await;
    wait_for_deliveries(&engine, &id, &["held", "held", "held"]).await;
    engine.clock.advance(30 * MINUTE);
    wait_for_deliveries(&engine, &id, &["delivered", "delivered", "delivered"]).await;
    let delivery = engine.call("runs.get", json!({ "id": run })).await["deliveries"][0].clone();
    let digest = engine.call("deliveries.get", json!({ "id": delivery["digestId"] })).await;
    assert_eq!(
        (&digest["title"], &digest["body"]),
        (&json!("3 results while you slept"), &json!("Look (3)"))
    );
    let runs = engine.call("runs.list", json!({ "digest": delivery["digestId"] })).await;
    assert_eq!(runs["total"], 3);
    engine.host.stop().await;
}

/// Two jobs with the same name: the first was paused in quiet hours and repaired since, the second succeeds.
#[tokio::test]
async fn digest_names_job_paused_in_quiet_hours() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_quiet_hours(&engine, "15:30").await;
    let strict = json!({ "policies": { "pauseAfterFailures": 1 } });
    let mut fails = hourly("Look", &json!({ "a": 1 }), &strict);
    fails["payload"]["arguments"]["pointer"] = json!("/b");
    let fails = engine.add_job(fails).await;
    let well = engine.add_job(hourly("Look", &json!(1), &json!({}))).await;
    engine.clock.advance(HOUR);
    wait_for_deliveries(&engine, &fails, &["held"]).await;
    wait_for_deliveries(&engine, &well, &["held"]).await;
    let patch = json!({ "payload": { "arguments": { "pointer": "/a" } } });
    engine.call("cron.update", json!({ "id": fails, "patch": patch })).await;
    engine.start_run(&fails).await;
    wait_for_deliveries(&engine, &fails, &["held", "held"]).await;
    engine.clock.advance(HOUR);
    wait_for_deliveries(&engine, &well, &["held", "held"]).await;
    engine.clock.advance(HOUR);
    wait_for_deliveries(&engine, &well, &["held", "held", "held"]).await;
    engine.clock.advance(30 * MINUTE);
    wait_for_deliveries(&engine, &fails, &["delivered", "delivered"]).await;
    let run = engine.runs(&fails).await[0]["id"].clone();
    let delivery = engine.call("runs.get", json!({ "id": run })).await["deliveries"][0].clone();
    let digest = engine.call("deliveries.get", json!({ "id": delivery["digestId"] })).await;
    assert_eq!(digest["body"], "Look (2, paused), Look (3)");
    engine.host.stop().await;
}

/// Clearing the quiet hours announces held approvals, and their timeout starts then.
#[tokio::test]
async fn approval_timeout_starts_at_announcement() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, id, _) = with_held_approvals(folder.path()).await;
    engine.clock.advance(HOUR);
    wait_for_deliveries(&engine, &id, &["held", "held"]).await;
    engine.call("config.patch", json!({ "patch": { "quietHours": null } })).await;
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    let open = engine.call("approvals.list", json!({})).await["approvals"].clone();
    for approval in open.as_array().expect("a list") {
        assert_eq!(approval["expiresAtMs"], json!(engine.clock.now().0 + 1_800_000), "{approval}");
    }
    engine.clock.advance(30 * MINUTE);
    for run in engine.finished_runs(&id, 2).await {
        assert_eq!(run["summary"], "Then not.");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn single_held_result_is_delivered_without_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_quiet_hours(&engine, "13:30").await;
    let id = engine.add_job(hourly("Look", &json!(1), &json!({}))).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 1).await;
    wait_for_deliveries(&engine, &id, &["held"]).await;
    engine.clock.advance(30 * MINUTE);
    wait_for_deliveries(&engine, &id, &["delivered"]).await;
    let run = engine.runs(&id).await[0]["id"].clone();
    let delivery = engine.call("runs.get", json!({ "id": run })).await["deliveries"][0].clone();
    assert_eq!((&delivery["digestId"], &delivery["heldUntilMs"]), (&Value::Null, &Value::Null));
    engine.host.stop().await;
}

#[tokio::test]
async fn clock_rollback_and_cleared_hours_release_held_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_quiet_hours(&engine, "15:30").await;
    let id = engine.add_job(hourly("Look", &json!(1), &json!({}))).await;
    engine.clock.advance(HOUR);
    engine.finished_runs(&id, 1).await;
    wait_for_deliveries(&engine, &id, &["held"]).await;
    // A rollback to 18:00 a year earlier is outside the quiet hours, so held results are delivered.
    engine.clock.set(rouse_core::UnixMs(NOON - 365 * 86_400_000 + 6 * 3_600_000));
    wait_for_deliveries(&engine, &id, &["delivered"]).await;

    engine.clock.set(rouse_core::UnixMs(NOON + 7_200_000));
    engine.finished_runs(&id, 2).await;
    wait_for_deliveries(&engine, &id, &["held", "delivered"]).await;
    engine.call("config.patch", json!({ "patch": { "quietHours": null } })).await;
    wait_for_deliveries(&engine, &id, &["delivered", "delivered"]).await;
    engine.host.stop().await;
}

#[tokio::test]
async fn many_missed_jobs_share_one_notification() {
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    for (jobs, notifications) in [(12, 1), (55, 1), (2, 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = EngineBuilder::new(folder.path()).build().await;
        let mut ids = Vec::new();
        for n in 0..jobs {
            ids.push(engine.add_job(hourly(&format!("Look {n}"), &json!(1), &skip)).await);
        }
        engine.clock.advance(2 * HOUR + 30 * MINUTE);
        for id in &ids {
            wait_for_deliveries(&engine, id, &["delivered"]).await;
        }
        let shown = engine.notifier.shown.take_all();
        let titles: Vec<&str> = shown.iter().map(|titles| titles.title.as_str()).collect();
        assert_eq!(titles.len(), notifications, "{titles:?}");
        let digest = format!("{jobs} jobs missed their time");
        assert_eq!(titles.contains(&digest.as_str()), notifications == 1, "{titles:?}");
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn incident_filter_finds_failing_jobs_across_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut broken = Vec::new();
    for n in 0..9 {
        let mut job = hourly(&format!("Look {n}"), &json!({ "a": 1 }), &json!({}));
        job["schedule"]["anchorMs"] = json!(NOON + n * 1_000);
        let fails = n % 3 == 2;
        job["payload"]["arguments"]["pointer"] = json!(if fails { "/b" } else { "/a" });
        let id = engine.add_job(job).await;
        broken.extend(fails.then_some(id));
    }
    let find = async |more: Value| {
        let mut params = json!({ "includeDisabled": true, "hasIncident": true });
        params
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        let answer = engine.call("cron.list", params).await;
        let jobs = answer["jobs"].as_array().expect("a list").clone();
        assert!(jobs.iter().all(|view| view["incident"].is_object()), "{jobs:#?}");
        let ids = jobs.iter().map(|view| view["job"]["id"].as_str().expect("an id").to_owned());
        (ids.collect::<Vec<_>>(), answer["nextCursor"].clone())
    };
    assert_eq!(find(json!({})).await, (Vec::new(), Value::Null), "nothing has failed yet");
    for id in &broken {
        engine.start_run(id).await;
        engine.finished_runs(id, 1).await;
    }
    assert_eq!(find(json!({})).await, (broken.clone(), Value::Null));
    for limit in 1..=4 {
        let (mut found, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let (ids, next) = find(json!({ "limit": limit, "cursor": cursor })).await;
            assert!(ids.len() <= limit, "{ids:?}");
            found.extend(ids);
            if next.is_null() {
                break;
            }
            cursor = next;
        }
        assert_eq!(found, broken, "by {limit}");
    }
    // A self-paused job keeps the incident until the job is enabled, even after a successful manual run.
    let (paused, others) = broken.split_first().expect("some");
    let patch = |patch: Value| json!({ "id": paused, "patch": patch });
    engine.call("cron.update", patch(json!({ "policies": { "pauseAfterFailures": 1 } }))).await;
    engine.start_run(paused).await;
    engine.finished_runs(paused, 2).await;
    engine
        .call("cron.update", patch(json!({ "payload": { "arguments": { "pointer": "/a" } } })))
        .await;
    engine.start_run(paused).await;
    engine.finished_runs(paused, 3).await;
    let (ids, _) = find(json!({})).await;
    assert!(ids.contains(paused) && others.iter().all(|other| ids.contains(other)), "{ids:?}");
    assert_eq!(engine.call("cron.status", json!({})).await["failingJobs"], broken.len());
    engine.host.stop().await;
}
