//! Faults of every channel over HTTP, with the real program: `kill -9` while a message is sent, a lost answer, a busy service,
//! and a refusal for good.
//!
//! Each service is a server on loopback that records the requests. Nothing is lost in silence, and no message arrives twice
//! without a mark. `rouse doctor` asks each service and sends no message.

use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_tests::echo_job;
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// The beginning of a repeated message.
const REPEAT: &str = "Again, in case it did not arrive:";

/// A value that no log and no answer may have.
const CANARY: &str = "canary0canary0canary0canary0";

/// A channel over HTTP, with the answers of its service.
struct FaultyChannel {
    kind: &'static str,
    /// The channel's settings, with the address of the server.
    settings: fn(&str) -> Value,
    /// The value of the stored secret `s`.
    secret: fn(&str) -> String,
    /// The answer that confirms a message.
    accepted: fn() -> Reply,
    /// The status of a refusal for good.
    refusal: u16,
}

/// The key of a signature, with the canary as its first bytes.
const SIGNING_KEY: &str = "whsec_Y2FuYXJ5MGNhbmFyeTBjYW5hcnkwY2FuYXJ5MA==";

const CHANNELS: [FaultyChannel; 7] = [
    FaultyChannel {
        kind: "telegram",
        settings: |url| json!({ "kind": "telegram", "url": url, "tokenSecret": "s", "to": ["7"] }),
        secret: |_| format!("42:{CANARY}"),
        accepted: || Reply::json(200, r#"{"ok":true,"result":{"message_id":1}}"#),
        refusal: 403,
    },
    FaultyChannel {
        kind: "ntfy",
        settings: |url| json!({ "kind": "ntfy", "url": url, "topicSecret": "s" }),
        secret: |_| CANARY.to_owned(),
        accepted: || Reply::json(200, r#"{"id":"m1"}"#),
        refusal: 403,
    },
    FaultyChannel {
        kind: "slack",
        settings: |_| json!({ "kind": "slack", "urlSecret": "s" }),
        secret: |url| format!("{url}/services/{CANARY}"),
        accepted: || Reply::page(200, "ok"),
        refusal: 404,
    },
    FaultyChannel {
        kind: "discord",
        settings: |_| json!({ "kind": "discord", "urlSecret": "s" }),
        secret: |url| format!("{url}/api/webhooks/1/{CANARY}"),
        accepted: || Reply::json(200, r#"{"id":"1"}"#),
        refusal: 404,
    },
    FaultyChannel {
        kind: "webhook",
        settings: |url| json!({ "kind": "webhook", "url": url, "signingSecret": "s" }),
        secret: |_| SIGNING_KEY.to_owned(),
        accepted: || Reply::json(204, ""),
        refusal: 410,
    },
    FaultyChannel {
        kind: "apprise",
        settings: |url| json!({ "kind": "apprise", "url": format!("{url}/notify/home") }),
        secret: |_| "unused".to_owned(),
        accepted: || Reply::json(200, "{}"),
        refusal: 404,
    },
    FaultyChannel {
        kind: "whatsapp",
        settings: |url| {
            json!({ "kind": "whatsapp", "url": url, "tokenSecret": "s", "phoneNumberId": "1",
                "to": ["+4915112345678"] })
        },
        secret: |_| CANARY.to_owned(),
        accepted: || Reply::json(200, r#"{"messages":[{"id":"wamid.1"}]}"#),
        refusal: 401,
    },
];

/// An engine whose reports go to the service alone.
async fn engine_with<'h>(
    home: &'h TestHome,
    service: &FaultyChannel,
    server: &FakeModel,
) -> EngineProcess<'h> {
    let engine = home.serve().await;
    let url = server.url();
    let secret = json!({ "name": "s", "value": (service.secret)(&url), "hosts": [url] });
    engine.call("secrets.set", secret).await;
    let channels = json!({ "phone": (service.settings)(&url) });
    let patch = json!({ "channels": channels, "deliverTo": ["phone"] });
    engine.call("config.patch", json!({ "patch": patch })).await;
    engine
}

/// Reports "hello". Returns the id of the run.
async fn report(engine: &EngineProcess<'_>) -> String {
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await
}

/// Waits until the delivery of the run with this index is in `state`.
async fn delivery_in(engine: &EngineProcess<'_>, run: &str, index: usize, state: &str) -> Value {
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            let delivery = detail["deliveries"][index].clone();
            (delivery["state"] == state).then_some(delivery)
        })
        .await
}

/// The requests with the text of the report, and how many of them have the mark of a repeat.
fn arrivals(server: &FakeModel) -> (usize, usize) {
    let bodies: Vec<String> = server.bodies().iter().map(Value::to_string).collect();
    let reports = bodies.iter().filter(|body| body.contains("hello"));
    (reports.clone().count(), reports.filter(|body| body.contains(REPEAT)).count())
}

fn assert_no_secret(home: &TestHome, delivery: &Value, kind: &str) {
    assert!(!delivery.to_string().contains(CANARY), "{kind}: {delivery}");
    for command in [&["doctor"][..], &["channels"], &["logs"]] {
        let output = home.rouse(command);
        let text = format!("{output:?}");
        assert!(!text.contains(CANARY), "{kind}: {command:?}: {text}");
    }
}

#[tokio::test]
async fn killed_engine_repeats_each_message_with_a_mark() {
    for service in &CHANNELS {
        let kind = service.kind;
        let server = FakeModel::replying([Reply::silent(), (service.accepted)()]);
        let home = TestHome::new();
        let engine = engine_with(&home, service, &server).await;
        let run = report(&engine).await;
        delivery_in(&engine, &run, 0, "sending").await;
        engine.wait_until(async |_| (arrivals(&server).0 == 1).then_some(())).await;
        engine.kill();

        let engine = home.serve_plain();
        let delivery = delivery_in(&engine, &run, 0, "delivered").await;
        assert_eq!(delivery["attempts"], 2, "{kind}");
        assert_eq!(arrivals(&server), (2, 1), "{kind}");
        assert_no_secret(&home, &delivery, kind);
        assert!(engine.stop().success());
    }
}

#[tokio::test]
async fn lost_answer_of_each_channel_is_unconfirmed() {
    for service in &CHANNELS {
        let kind = service.kind;
        let server = FakeModel::replying([Reply::dropped()]);
        let home = TestHome::new();
        let engine = engine_with(&home, service, &server).await;
        let run = report(&engine).await;
        let delivery = delivery_in(&engine, &run, 0, "unknown").await;
        assert_eq!(arrivals(&server), (1, 0), "{kind}");
        assert_no_secret(&home, &delivery, kind);
        assert!(engine.stop().success());
    }
}

#[tokio::test]
async fn busy_service_of_each_channel_gets_the_message_once() {
    for service in &CHANNELS {
        for status in [429, 503] {
            let kind = service.kind;
            let server = FakeModel::replying([Reply::json(status, "{}"), (service.accepted)()]);
            let home = TestHome::new();
            let engine = engine_with(&home, service, &server).await;
            let run = report(&engine).await;
            let delivery = delivery_in(&engine, &run, 0, "delivered").await;
            assert_eq!(delivery["attempts"], 2, "{kind} {status}");
            assert_eq!(
                arrivals(&server),
                (2, 0),
                "{kind} {status}: no mark, nothing arrived before"
            );
            assert!(engine.stop().success());
        }
    }
}

#[tokio::test]
async fn refusal_of_each_channel_has_a_reason_and_a_fallback() {
    for service in &CHANNELS {
        let kind = service.kind;
        let server = FakeModel::replying([Reply::json(service.refusal, "{}")]);
        let home = TestHome::new();
        let engine = engine_with(&home, service, &server).await;
        let run = report(&engine).await;
        let failed = delivery_in(&engine, &run, 0, "failed").await;
        assert!(failed["reason"].as_str().is_some_and(|reason| reason.ends_with('.')), "{failed}");
        // The fallback is the notification, which this engine without a desktop suppresses with a reason.
        let fallback = delivery_in(&engine, &run, 1, "suppressed").await;
        assert_eq!(fallback["channel"], "notification", "{kind}");
        assert!(
            fallback["body"].as_str().is_some_and(|body| body.contains("phone did not deliver"))
        );
        assert_no_secret(&home, &failed, kind);
        assert!(engine.stop().success());
    }
}

/// The fakes know no request but a message, so they answer with 404.
#[tokio::test]
async fn doctor_asks_the_service_and_the_list_does_not() {
    for service in &CHANNELS {
        let kind = service.kind;
        let server = FakeModel::start(|_| Reply::json(404, format!(r#"{{"error":"{CANARY}"}}"#)));
        let home = TestHome::new();
        let engine = engine_with(&home, service, &server).await;
        assert!(home.rouse(["channels"]).ok().contains("ready"), "{kind}");
        assert_eq!(server.requests().len(), 0, "{kind}");
        let doctor = home.rouse(["doctor"]);
        assert_eq!(server.requests().len(), 1, "{kind}: {doctor:#?}");
        // Any answer of the person's own server is good.
        let found = match kind {
            "webhook" | "apprise" => "✓ Channels that are ready: 1",
            _ => "✗ The channel phone cannot send",
        };
        assert!(doctor.out.contains(found), "{kind}: {doctor:#?}");
        assert_no_secret(&home, &json!(null), kind);
        assert!(engine.stop().success());
    }
}

/// One after the other, the checks would last longer than the command waits.
#[tokio::test]
async fn silent_services_share_the_time_limit_of_doctor() {
    let server = FakeModel::start(|_| Reply::silent());
    let home = TestHome::new();
    let engine = home.serve().await;
    let channel = json!({ "kind": "apprise", "url": format!("{}/notify/home", server.url()) });
    let channels: Value = ["a", "b", "c", "d", "e", "f", "g"]
        .map(|name| (name.to_owned(), channel.clone()))
        .into_iter()
        .collect();
    engine.call("config.patch", json!({ "patch": { "channels": channels } })).await;
    let doctor = home.rouse(["doctor"]);
    let silent = doctor.out.matches("The service did not answer within 10 seconds.").count();
    assert_eq!(silent, 7, "{doctor:#?}");
    assert!(engine.stop().success());
}
