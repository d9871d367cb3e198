//! Signed calls of webhooks, as in Standard Webhooks: signatures, replays, rotation and deleted jobs.

use rouse_channels::sign_message;
use rouse_core::UnixMs;
use rouse_testkit::ManualClock;
use rouse_tests::{EngineBuilder, TestEngine, echo_job};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The example of Standard Webhooks.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SENT_AT: i64 = 1_614_265_330;
const BODY: &str = r#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const TOLERANCE_SECONDS: i64 = 300;

/// An engine at the time of the example, and a job with a signing key.
struct SignedWebhook {
    engine: TestEngine,
    folder: TempDir,
    job: String,
    path: String,
    key: String,
    /// The name of the stored key.
    name: Value,
}

/// A request before it is sent.
#[derive(Clone)]
struct SignedCall {
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl SignedCall {
    fn new(key: &str, id: &str, sent_at: i64, body: &str) -> Self {
        let timestamp = sent_at.to_string();
        let signature = sign_message(key, id, &timestamp, body.as_bytes()).expect("a valid key");
        Self {
            headers: vec![
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", timestamp),
                ("webhook-signature", signature),
            ],
            body: body.to_owned(),
        }
    }

    /// Replaces or adds a header.
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| *known == name);
        &header.expect("a header").1
    }
}

impl SignedWebhook {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(UnixMs(SENT_AT * 1_000));
        let engine = EngineBuilder::new(folder.path()).clock(&clock).build().await;
        let job = engine.add_job(echo_job(&json!({ "kind": "webhook" }))).await;
        let view = engine.call("cron.webhook", json!({ "id": job, "sign": true })).await;
        let key = view["secret"].as_str().expect("a key").to_owned();
        let name = view["signingSecret"].clone();
        let path = format!("/hooks/jobs/{job}");
        Self { engine, folder, job, path, key, name }
    }

    /// A valid call with this id.
    fn call(&self, id: &str) -> SignedCall {
        SignedCall::new(&self.key, id, SENT_AT, BODY)
    }

    async fn send(&self, call: &SignedCall) -> (u16, Value) {
        self.send_to(&self.path, call).await
    }

    async fn send_to(&self, path: &str, call: &SignedCall) -> (u16, Value) {
        let address = self.engine.host.address();
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let headers = call.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{}",
            headers.collect::<String>(),
            call.body.len(),
            call.body
        );
        // A server that refuses early closes during the write; only its response matters.
        drop(stream.write_all(request.as_bytes()).await);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("text");
        let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.expect("a status"), serde_json::from_str(body).expect("JSON"))
    }

    async fn run_count(&self) -> usize {
        self.engine.runs(&self.job).await.len()
    }

    async fn secret_names(&self) -> Vec<Value> {
        let list = self.engine.call("secrets.list", json!({})).await;
        let secrets = list["secrets"].as_array().expect("secrets");
        secrets.iter().map(|secret| secret["name"].clone()).collect()
    }
}

fn error(reply: &Value) -> &str {
    reply["error"].as_str().expect("an error")
}

#[tokio::test]
async fn example_of_the_specification_fires_once() {
    let hook = SignedWebhook::new().await;
    // A sender may bring its own key.
    hook.engine.call("secrets.set", json!({ "name": hook.name, "value": SECRET })).await;
    let example = SignedCall::new(SECRET, ID, SENT_AT, BODY);
    assert_eq!(example.header("webhook-signature"), SIGNATURE);
    let (status, first) = hook.send(&example).await;
    assert_eq!(status, 202, "{first}");
    let detail = hook.engine.call("runs.get", json!({ "id": first["runId"] })).await;
    assert_eq!(
        (&detail["run"]["trigger"], &detail["cause"]["text"]),
        (&json!("webhook"), &json!(BODY))
    );
    assert_eq!(hook.send(&example).await, (200, first));
    assert_eq!(hook.run_count().await, 1);
    assert_eq!(hook.send(&hook.call("a")).await.0, 401, "the replaced key");
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn invalid_signature_is_refused_despite_the_secret() {
    let hook = SignedWebhook::new().await;
    let view = hook.engine.call("cron.webhook", json!({ "id": hook.job })).await;
    let bearer = format!("Bearer {}", view["secret"].as_str().expect("a secret"));
    let valid = hook.call("a").with("Authorization", &bearer);
    let signature = valid.header("webhook-signature").to_owned();
    let signed_at = |sent_at| SignedCall::new(&hook.key, "a", sent_at, BODY);
    for (call, expected) in [
        (SignedCall::new(SECRET, "a", SENT_AT, BODY), "wrong signature"),
        (valid.clone().body("{}"), "wrong signature"),
        (valid.clone().with("webhook-id", "b"), "wrong signature"),
        (valid.clone().with("webhook-timestamp", &(SENT_AT + 1).to_string()), "wrong signature"),
        (
            valid.clone().with("webhook-signature", &signature.replace("v1,", "v2,")),
            "wrong signature",
        ),
        (valid.clone().with("webhook-signature", ""), "wrong signature"),
        (valid.clone().without("webhook-id"), "webhook-id"),
        (valid.clone().without("webhook-timestamp"), "webhook-timestamp"),
        (signed_at(SENT_AT - TOLERANCE_SECONDS - 1), "5 minutes"),
        (signed_at(SENT_AT + TOLERANCE_SECONDS + 1), "5 minutes"),
    ] {
        let (status, reply) = hook.send(&call.with("Authorization", &bearer)).await;
        assert_eq!(status, 401, "{expected}: {reply}");
        assert!(error(&reply).contains(expected), "{expected}: {reply}");
    }
    assert_eq!(hook.run_count().await, 0);
    let list = format!("v1,AAAA v1a,{} {signature}", "x".repeat(88));
    assert_eq!(hook.send(&valid.clone().with("webhook-signature", &list)).await.0, 202);
    let without_signature = valid.without("webhook-signature");
    assert_eq!(hook.send(&without_signature).await.0, 202, "the secret alone");
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn captured_call_cannot_fire_again() {
    let hook = SignedWebhook::new().await;
    let call = hook.call("a");
    let (status, first) = hook.send(&call).await;
    assert_eq!(status, 202, "{first}");
    // No signature covers this header.
    let replay = call.with("Idempotency-Key", "another");
    assert_eq!(hook.send(&replay).await, (200, first));
    let (status, reply) = hook.send(&SignedCall::new(&hook.key, "a", SENT_AT, "{}")).await;
    assert_eq!(status, 422, "{reply}");
    assert!(error(&reply).contains("another body"), "{reply}");
    let long_id = hook.call(&"a".repeat(256));
    assert_eq!(hook.send(&long_id).await.0, 400);
    assert_eq!(hook.run_count().await, 1);
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn signed_calls_have_the_limits_of_hooks() {
    let hook = SignedWebhook::new().await;
    let large = SignedCall::new(&hook.key, "a", SENT_AT, &"x".repeat(64 * 1024 + 1));
    assert_eq!(hook.send(&large).await.0, 413);
    let page = hook.call("a").with("Origin", "null");
    assert_eq!(hook.send(&page).await.0, 403);
    for call in 0..60 {
        let (status, reply) = hook.send(&hook.call("a")).await;
        assert_eq!(status, if call == 0 { 202 } else { 200 }, "{call}: {reply}");
        // Unauthorized calls do not count.
        assert_eq!(hook.send(&hook.call("a").body("{}")).await.0, 401);
    }
    assert_eq!(hook.send(&hook.call("a")).await.0, 429);
    assert_eq!(hook.run_count().await, 1);
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn rotation_ends_the_old_signing_key_at_once() {
    let hook = SignedWebhook::new().await;
    let again = hook.engine.call("cron.webhook", json!({ "id": hook.job, "sign": true })).await;
    assert_eq!((&again["secret"], &again["signingSecret"]), (&Value::Null, &hook.name));
    let rotation = json!({ "id": hook.job, "sign": true, "rotate": true });
    let rotated = hook.engine.call("cron.webhook", rotation).await;
    let key = rotated["secret"].as_str().expect("a key").to_owned();
    assert_ne!(key, hook.key);
    assert_eq!(hook.send(&hook.call("a")).await.0, 401);
    assert_eq!(hook.send(&SignedCall::new(&key, "a", SENT_AT, BODY)).await.0, 202);
    let folder = hook.folder.path().to_owned();
    hook.engine.host.stop().await;
    for file in ["rouse.db", "rouse.db-wal"] {
        let path = folder.join(file);
        let bytes = if path.exists() { std::fs::read(&path).expect("a file") } else { Vec::new() };
        let holds = bytes.windows(key.len()).any(|part| part == key.as_bytes());
        assert!(!holds, "{file} holds the signing key");
    }
}

#[tokio::test]
async fn unusable_signing_key_is_no_wrong_signature() {
    let hook = SignedWebhook::new().await;
    let value = json!({ "name": hook.name, "value": "no signing key" });
    hook.engine.call("secrets.set", value).await;
    let (status, reply) = hook.send(&hook.call("a")).await;
    assert_eq!(status, 503, "{reply}");
    assert!(error(&reply).contains("whsec_"), "{reply}");
    assert_eq!(hook.run_count().await, 0);
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn call_without_a_webhook_or_key_is_refused_alike() {
    let hook = SignedWebhook::new().await;
    let keyless = hook.engine.add_job(echo_job(&json!({ "kind": "webhook" }))).await;
    let call = hook.call("a");
    let expected = (401, json!({ "error": "Unknown webhook or wrong signature." }));
    for path in [format!("/hooks/jobs/{keyless}"), "/hooks/jobs/unknown".to_owned()] {
        assert_eq!(hook.send_to(&path, &call).await, expected, "{path}");
    }
    let manual = json!({ "id": hook.job, "patch": { "schedule": { "kind": "manual" } } });
    hook.engine.call("cron.update", manual).await;
    assert_eq!(hook.send(&call).await, expected, "no webhook trigger");
    let refused = hook.engine.try_call("cron.webhook", json!({ "id": hook.job, "sign": true }));
    assert!(refused.await.is_err());
    hook.engine.host.stop().await;
}

#[tokio::test]
async fn next_signing_key_removes_the_key_of_a_deleted_job() {
    let hook = SignedWebhook::new().await;
    let other = hook.engine.add_job(echo_job(&json!({ "kind": "webhook" }))).await;
    let own = json!({ "name": "mail", "value": "sunflower-42", "hosts": ["example.org"] });
    hook.engine.call("secrets.set", own).await;
    hook.engine.call("cron.remove", json!({ "id": hook.job })).await;
    assert_eq!(hook.send(&hook.call("a")).await.0, 401);
    assert!(hook.secret_names().await.contains(&hook.name), "deleting can be undone");
    let view = hook.engine.call("cron.webhook", json!({ "id": other, "sign": true })).await;
    let names = hook.secret_names().await;
    assert_eq!(names, [json!("mail"), view["signingSecret"].clone()]);
    hook.engine.host.stop().await;
}
