//! Messages to channels: routes, faults of the service, fallbacks, quiet hours and digests.
//!
//! The channel `phone` is an ntfy server on loopback; its topic is a stored secret. Never sleeps: the manual clock passes
//! the pauses between attempts.

use std::path::Path;

use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_tests::{DAY, EngineBuilder, MINUTE, TestEngine, echo_job};
use serde_json::{Value, json};

#[cfg(unix)]
use super::hooks::write_hooks;
use super::secret_redaction::files_with_value;

/// The topic, which is the password of the channel.
const TOPIC: &str = "sunflower-42-Tango";

/// The beginning of a repeated message.
const REPEAT: &str = "Again, in case it did not arrive:";

fn accepted() -> Reply {
    Reply::json(200, r#"{"id":"m1"}"#)
}

/// Sets up the channel `phone` at `server`, and reports to these channels.
async fn set_up_phone(engine: &TestEngine, server: &FakeModel, deliver_to: Value) {
    let url = server.url();
    let secret = json!({ "name": "topic", "value": TOPIC, "hosts": [url] });
    engine.call("secrets.set", secret).await;
    let phone = json!({ "kind": "ntfy", "url": url, "topicSecret": "topic" });
    let patch = json!({ "channels": { "phone": phone }, "deliverTo": deliver_to });
    engine.call("config.patch", json!({ "patch": patch })).await;
}

/// An engine that reports to `phone` alone.
async fn engine_with_phone(folder: &Path, server: &FakeModel) -> TestEngine {
    let engine = EngineBuilder::new(folder).build().await;
    set_up_phone(&engine, server, json!(["phone"])).await;
    engine
}

/// Runs a job and returns the finished run.
async fn report(engine: &TestEngine) -> Value {
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

/// Waits until the delivery of `run` with this index is in `state`.
async fn delivery_in(engine: &TestEngine, run: &Value, index: usize, state: &str) -> Value {
    engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(run).await["deliveries"][index].clone();
            (delivery["state"] == state).then_some(delivery)
        })
        .await
}

/// The texts that arrived at the server.
fn texts(server: &FakeModel) -> Vec<String> {
    let text = |body: Value| body["message"].as_str().unwrap_or_default().to_owned();
    server.bodies().into_iter().map(text).collect()
}

#[tokio::test]
async fn report_reaches_each_default_channel() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([accepted()]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_up_phone(&engine, &server, json!(["notification", "phone"])).await;
    let run = report(&engine).await;
    assert_eq!(engine.notifier.shown.next().await.body, "hello");
    let sent = delivery_in(&engine, &run, 1, "delivered").await;
    assert_eq!((&sent["channel"], &sent["attempts"]), (&json!("phone"), &json!(1)));
    assert_eq!(texts(&server), ["hello"]);
    assert_eq!(server.bodies()[0]["title"], "Echo");
    engine.host.stop().await;
    assert_eq!(files_with_value(folder.path()), [folder.path().join("secrets.json")]);
}

#[tokio::test]
async fn lost_answer_is_repeated_once_with_a_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::dropped(), accepted()]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let run = report(&engine).await;
    let unknown = delivery_in(&engine, &run, 0, "unknown").await;
    assert!(!unknown["reason"].as_str().expect("a reason").contains(TOPIC), "{unknown}");
    engine.clock.advance(MINUTE);
    let sent = delivery_in(&engine, &run, 0, "delivered").await;
    assert_eq!(sent["attempts"], 2);
    let texts = texts(&server);
    assert_eq!((texts.len(), texts[0].as_str()), (2, "hello"));
    assert!(texts[1].starts_with(REPEAT) && texts[1].contains("hello"), "{texts:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn second_lost_answer_fails_and_falls_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::dropped(), Reply::dropped()]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let run = report(&engine).await;
    delivery_in(&engine, &run, 0, "unknown").await;
    engine.clock.advance(MINUTE);
    engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            (delivery["attempts"] == 2 && delivery["state"] == "unknown").then_some(())
        })
        .await;
    engine.clock.advance(MINUTE);
    let failed = delivery_in(&engine, &run, 0, "failed").await;
    let reason = failed["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("Not confirmed. "), "{reason}");
    let shown = engine.notifier.shown.next().await;
    assert_eq!(shown.body, format!("hello (phone did not deliver this: {reason})"));
    assert_eq!(server.requests().len(), 2, "never a third message");
    engine.host.stop().await;
}

#[tokio::test]
async fn busy_service_is_tried_again_without_a_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let busy = |status| Reply::json(status, "{}");
    let server = FakeModel::replying([
        busy(429).header("retry-after", "120"),
        busy(503),
        busy(503),
        accepted(),
    ]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let run = report(&engine).await;
    for (attempts, pause) in [(1, 2 * MINUTE), (2, MINUTE), (3, MINUTE)] {
        let waiting = engine.wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            let is_waiting = delivery["attempts"] == attempts && delivery["state"] == "pending";
            is_waiting.then_some(())
        });
        waiting.await;
        engine.clock.advance(pause);
    }
    delivery_in(&engine, &run, 0, "delivered").await;
    assert_eq!(texts(&server), ["hello"; 4]);
    engine.host.stop().await;
}

/// A hook rewrites the text, and the channel gets headlines only.
#[cfg(unix)]
#[tokio::test]
async fn rewritten_message_keeps_to_the_headline() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        r#"cat >/dev/null; echo '{"decision":"rewrite","body":"All is well. The code is 4711."}'"#;
    write_hooks(folder.path(), &[("before_delivery", script)]);
    let server = FakeModel::replying([accepted()]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let headline = json!({ "channels": { "phone": { "details": "headline" } } });
    engine.call("config.patch", json!({ "patch": headline })).await;
    let run = report(&engine).await;
    delivery_in(&engine, &run, 0, "delivered").await;
    assert_eq!(texts(&server), ["All is well."]);
    engine.host.stop().await;
}

#[tokio::test]
async fn server_error_marks_the_next_attempt() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::json(502, "{}"), accepted()]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let run = report(&engine).await;
    delivery_in(&engine, &run, 0, "unknown").await;
    engine.clock.advance(MINUTE);
    delivery_in(&engine, &run, 0, "delivered").await;
    let texts = texts(&server);
    assert!(texts[0] == "hello" && texts[1].starts_with(REPEAT), "{texts:?}");
    engine.host.stop().await;
}

/// Waits until the delivery of a run has had this number of attempts. Returns it.
async fn delivery_after(engine: &TestEngine, run: &Value, attempts: u64) -> Value {
    let waiting = engine.wait_until(async |engine| {
        let delivery = engine.run_detail(run).await["deliveries"][0].clone();
        (delivery["attempts"] == attempts && delivery["state"] != "sending").then_some(delivery)
    });
    waiting.await
}

#[tokio::test]
async fn unreachable_service_is_given_up_after_a_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([]);
    let engine = engine_with_phone(folder.path(), &server).await;
    drop(server);
    let run = report(&engine).await;
    let mut attempts = 1;
    let failed = loop {
        let delivery = delivery_after(&engine, &run, attempts).await;
        if delivery["state"] == "failed" {
            break delivery;
        }
        engine.clock.advance(15 * MINUTE);
        attempts += 1;
    };
    assert_eq!(attempts, 97, "four attempts an hour for a day");
    assert!(failed["reason"].as_str().expect("a reason").starts_with("Given up after a day. "));
    assert!(engine.notifier.shown.next().await.body.starts_with("hello (phone did not"));
    engine.host.stop().await;
}

#[tokio::test]
async fn weekend_asleep_gives_no_message_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([]);
    let engine = engine_with_phone(folder.path(), &server).await;
    drop(server);
    let run = report(&engine).await;
    delivery_after(&engine, &run, 1).await;
    engine.clock.advance(3 * DAY);
    for attempts in [2, 3] {
        let delivery = delivery_after(&engine, &run, attempts).await;
        assert_eq!(delivery["state"], "pending", "the network may be slow after the sleep");
        engine.clock.advance(15 * MINUTE);
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn refused_message_falls_back_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::json(403, r#"{"code":40301}"#)]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let run = report(&engine).await;
    let failed = delivery_in(&engine, &run, 0, "failed").await;
    let fallback = delivery_in(&engine, &run, 1, "delivered").await;
    assert_eq!(fallback["channel"], "notification");
    let reason = failed["reason"].as_str().expect("a reason");
    let shown = engine.notifier.shown.next().await;
    assert_eq!(shown.body, format!("hello (phone did not deliver this: {reason})"));
    assert!(!reason.contains(TOPIC), "{reason}");
    engine.host.stop().await;
}

#[tokio::test]
async fn silent_service_delays_no_notification() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::silent(), accepted()]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_up_phone(&engine, &server, json!(["phone"])).await;
    let silent = report(&engine).await;
    delivery_in(&engine, &silent, 0, "sending").await;
    engine.call("deliveries.test", json!({})).await;
    assert_eq!(engine.notifier.shown.next().await.title, "Rouse");
    let clock = engine.clock.clone();
    engine.host.stop().await;

    // The answer never came, so the next engine repeats the message with the mark.
    let engine = EngineBuilder::new(folder.path()).clock(&clock).build().await;
    let sent = delivery_in(&engine, &silent, 0, "delivered").await;
    assert_eq!(sent["attempts"], 2);
    assert!(texts(&server)[1].starts_with(REPEAT));
    engine.host.stop().await;
}

#[tokio::test]
async fn quiet_hours_hold_channels_and_end_in_a_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([accepted(), accepted()]);
    let engine = engine_with_phone(folder.path(), &server).await;
    let patch = json!({ "quietHours": { "from": "11:00", "to": "13:00" } });
    engine.call("config.patch", json!({ "patch": patch })).await;
    let (first, second) = (report(&engine).await, report(&engine).await);
    delivery_in(&engine, &first, 0, "held").await;
    delivery_in(&engine, &second, 0, "held").await;
    assert_eq!(server.requests().len(), 0);
    engine.clock.advance(60 * MINUTE);
    delivery_in(&engine, &first, 0, "delivered").await;
    assert_eq!(server.bodies()[0]["title"], "2 results while you slept");
    assert_eq!(texts(&server), ["Echo: hello\nEcho: hello"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn job_names_its_own_channels() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([accepted()]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    set_up_phone(&engine, &server, json!(["notification"])).await;
    let mut job = echo_job(&json!({ "kind": "manual" }));
    job["policies"] = json!({ "deliverTo": ["phone"] });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    delivery_in(&engine, &run, 0, "delivered").await;
    assert_eq!(texts(&server), ["hello"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn preview_resolves_the_channels_of_a_draft() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mail = json!({
        "kind": "email", "server": "127.0.0.1:9", "security": "none",
        "from": "r@b.org", "to": ["a@b.org"],
    });
    let patch = json!({ "channels": { "mail": mail } });
    engine.call("config.patch", json!({ "patch": patch })).await;
    let preview = async |delivery: Value| {
        let params = json!({ "schedule": { "kind": "manual" }, "delivery": delivery });
        let preview = engine.call("cron.preview", params).await;
        let routes = &preview["routes"];
        assert_eq!(routes["failures"], routes["reports"]);
        assert_eq!(routes["approvals"], json!(["notification"]));
        (routes["reports"].clone(), preview["routeProblem"].clone())
    };
    let (here, mail) = (json!(["notification"]), json!(["mail (E-mail)"]));
    let turn = |to: Option<&str>| json!({ "channel": "mail", "to": to, "deliver": true });
    assert_eq!(preview(Value::Null).await, (here.clone(), Value::Null));
    assert_eq!(preview(json!({})).await, (here, Value::Null));
    assert_eq!(preview(json!({ "deliverTo": ["mail"] })).await, (mail.clone(), Value::Null));
    assert_eq!(preview(turn(None)).await, (mail, Value::Null));
    for (delivery, report, problem) in [
        (
            json!({ "deliverTo": ["fax"] }),
            "fax",
            "The outcome cannot be delivered: there is no channel `fax`; the channels are \
             `notification`, `last`, `mail`. Set one up with `rouse channels add`.",
        ),
        (
            turn(Some("b@b.org")),
            "mail (E-mail, b@b.org)",
            "The outcome cannot be delivered: `b@b.org` is no recipient of mail; its recipients \
             are `a@b.org`.",
        ),
    ] {
        assert_eq!(preview(delivery).await, (json!([report]), json!(problem)));
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn engine_without_a_desktop_uses_its_channels() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([accepted()]);
    let engine = EngineBuilder::new(folder.path()).without_screen().build().await;
    set_up_phone(&engine, &server, Value::Null).await;
    let run = report(&engine).await;
    delivery_in(&engine, &run, 0, "suppressed").await;
    delivery_in(&engine, &run, 1, "delivered").await;
    assert_eq!(texts(&server), ["hello"]);
    engine.host.stop().await;
}
