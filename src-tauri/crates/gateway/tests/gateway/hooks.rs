//! Inbound hooks under attack: wrong secrets, pages, floods, invalid bodies and repeated calls.

use std::time::Duration;

use rouse_gateway::{BoundPort, ErrorCode};
use serde_json::{Value, json};

use crate::fixture::{GatewayFixture, draft};

/// A job with a webhook trigger.
struct WebhookJob {
    id: String,
    path: String,
    secret: String,
}

impl WebhookJob {
    async fn add(fixture: &GatewayFixture) -> Self {
        let mut job = draft("Hook");
        job["schedule"] = json!({ "kind": "webhook" });
        job["policies"] = json!({ "overlap": "queue" });
        let id =
            fixture.call("cron.add", job).await["job"]["id"].as_str().expect("an id").to_owned();
        let view = fixture.call("cron.webhook", json!({ "id": id })).await;
        let secret = view["secret"].as_str().expect("a secret").to_owned();
        let url = view["url"].as_str().expect("a URL");
        let path = url.split_once(&format!(":{}", fixture.port())).expect("the port").1.to_owned();
        Self { id, path, secret }
    }

    fn auth(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.secret)
    }

    async fn runs(&self, fixture: &GatewayFixture) -> Vec<Value> {
        let list = fixture.call("cron.runs", json!({ "id": self.id, "limit": 200 })).await;
        list["entries"].as_array().expect("runs").clone()
    }
}

fn body_of(reply: &str) -> Value {
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or(Value::Null)
}

#[tokio::test]
async fn call_with_the_secret_fires_the_job() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    for header in [hook.auth(), format!("X-Rouse-Secret: {}\r\n", hook.secret)] {
        let (status, reply) = fixture.post_raw(&hook.path, &header, b"Tea is ready").await;
        assert_eq!(status, 202, "{reply}");
        let run = body_of(&reply)["runId"].clone();
        let detail = fixture.call("runs.get", json!({ "id": run })).await;
        assert_eq!(detail["run"]["trigger"], "webhook");
        assert_eq!(detail["cause"]["source"], "webhook");
        assert_eq!(detail["cause"]["text"], "Tea is ready");
    }
    fixture.stop().await;
}

#[tokio::test]
async fn unauthorized_calls_get_the_same_error() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let plain = fixture.add("Plain").await;
    let plain = format!("/hooks/jobs/{}", plain["id"].as_str().expect("an id"));
    let token = fixture.token();
    let flipped = hook.secret.replace('a', "b");
    let wrong = [
        (hook.path.as_str(), String::new()),
        (hook.path.as_str(), "Authorization: Bearer \r\n".to_owned()),
        (hook.path.as_str(), format!("Authorization: {}\r\n", hook.secret)),
        (hook.path.as_str(), format!("Authorization: Bearer {}\r\n", &hook.secret[1..])),
        (hook.path.as_str(), format!("X-Rouse-Secret: {flipped}x\r\n")),
        (hook.path.as_str(), format!("Authorization: Bearer {token}\r\n")),
        ("/hooks/jobs/unknown", hook.auth()),
        ("/hooks/jobs/%ff", hook.auth()),
        (plain.as_str(), hook.auth()),
    ];
    for (path, header) in wrong {
        let (status, reply) = fixture.post_raw(path, &header, b"x").await;
        assert_eq!(status, 401, "{path} {header}");
        assert_eq!(
            body_of(&reply),
            json!({ "error": "Unknown webhook or wrong secret." }),
            "{reply}"
        );
    }
    assert!(hook.runs(&fixture).await.is_empty());
    fixture.stop().await;
}

#[tokio::test]
async fn all_errors_have_one_shape() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let token = format!("Authorization: Bearer {}\r\n", fixture.token());
    let page = format!("{token}Origin: http://127.0.0.1:{}\r\n", fixture.port());
    let foreign = format!("{token}Origin: http://evil.example\r\n");
    for (method, path, header, status) in [
        ("POST", "/hooks/wake", String::new(), 401),
        ("POST", "/hooks/wake", page, 403),
        ("POST", "/hooks/wake", foreign, 403),
        ("POST", "/hooks/wake", token.clone(), 415),
        ("POST", hook.path.as_str(), String::new(), 401),
        ("GET", "/hooks/wake", token.clone(), 405),
        ("PUT", hook.path.as_str(), hook.auth(), 405),
        ("POST", "/hooks/other", token.clone(), 404),
        ("GET", "/hooks/other", token, 404),
    ] {
        let (found, reply) = fixture.send_raw(method, path, &header, b"x").await;
        assert_eq!(found, status, "{method} {path}: {reply}");
        let body = body_of(&reply);
        assert!(body["error"].as_str().is_some_and(|message| !message.is_empty()), "{reply}");
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{reply}");
        assert_eq!(reply.contains("allow: POST"), status == 405, "{reply}");
    }
    fixture.stop().await;
}

#[tokio::test]
async fn pages_are_refused_even_with_the_secret() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let own = format!("Origin: http://127.0.0.1:{}\r\n", fixture.port());
    for header in [
        own.as_str(),
        "Origin: null\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "Origin: http://evil.example\r\n",
    ] {
        let (status, _) =
            fixture.post_raw(&hook.path, &format!("{}{header}", hook.auth()), b"x").await;
        assert_eq!(status, 403, "{header}");
    }
    let (status, _) =
        fixture.post_raw(&hook.path, &format!("{}Host: evil.example\r\n", hook.auth()), b"x").await;
    assert!([400, 403].contains(&status), "{status}");
    assert!(hook.runs(&fixture).await.is_empty());
    fixture.stop().await;
}

#[tokio::test]
async fn invalid_body_or_key_is_refused() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let large = vec![b'x'; 64 * 1024 + 1];
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), &large).await.0, 413);
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), &[0xff, 0xfe]).await.0, 400);
    let long_key = format!("{}Idempotency-Key: {}\r\n", hook.auth(), "k".repeat(256));
    assert_eq!(fixture.post_raw(&hook.path, &long_key, b"x").await.0, 400);
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), &large[..64 * 1024]).await.0, 202);
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), b"").await.0, 202);
    assert_eq!(hook.runs(&fixture).await.len(), 2);
    fixture.stop().await;
}

#[tokio::test]
async fn idempotency_key_makes_one_run() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let header = format!("{}Idempotency-Key: order 7\r\n", hook.auth());
    let (first, reply) = fixture.post_raw(&hook.path, &header, b"x").await;
    let run = body_of(&reply)["runId"].clone();
    let (second, reply) = fixture.post_raw(&hook.path, &header, b"x").await;
    assert_eq!((first, second), (202, 200));
    assert_eq!(body_of(&reply)["runId"], run);
    let (another, reply) = fixture.post_raw(&hook.path, &header, b"y").await;
    assert_eq!(another, 422, "{reply}");
    assert!(
        body_of(&reply)["error"].as_str().is_some_and(|message| message.contains("another body"))
    );
    assert_eq!(hook.runs(&fixture).await.len(), 1);
    fixture.stop().await;
}

#[tokio::test]
async fn repeated_skipped_call_gets_the_same_response() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let patch = json!({ "policies": { "cooldownSeconds": 3_600 } });
    fixture.call("cron.update", json!({ "id": hook.id, "patch": patch })).await;
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), b"x").await.0, 202);
    let header = format!("{}Idempotency-Key: order 8\r\n", hook.auth());
    let (first_status, first) = fixture.post_raw(&hook.path, &header, b"x").await;
    let first = body_of(&first);
    assert!(first_status == 202 && first["skipped"].is_string(), "{first}");
    let (second_status, second) = fixture.post_raw(&hook.path, &header, b"x").await;
    assert_eq!((second_status, body_of(&second)), (200, first));
    fixture.stop().await;
}

#[tokio::test]
async fn auth_scheme_is_case_insensitive() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let uppercase = format!("AUTHORIZATION: BEARER {}\r\n", hook.secret);
    for header in [hook.auth().to_lowercase(), uppercase] {
        assert_eq!(fixture.post_raw(&hook.path, &header, b"x").await.0, 202, "{header}");
    }
    let token = format!("authorization: bearer {}\r\n", fixture.token());
    let (status, reply) = fixture.post("/hooks/wake", &token, &json!({ "mode": "now" })).await;
    assert_eq!((status, body_of(&reply)["error"].as_str()), (400, Some("text: is required")));
    fixture.stop().await;
}

#[tokio::test]
async fn flood_gets_retry_after() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let header = format!("{}Idempotency-Key: k\r\n", hook.auth());
    for call in 0..60 {
        let (status, _) = fixture.post_raw(&hook.path, &header, b"x").await;
        assert!([200, 202].contains(&status), "{call}: {status}");
        // Unauthorized calls do not count.
        assert_eq!(fixture.post_raw(&hook.path, "X-Rouse-Secret: guess\r\n", b"x").await.0, 401);
    }
    let (status, reply) = fixture.post_raw(&hook.path, &header, b"x").await;
    assert_eq!(status, 429);
    assert!(reply.to_lowercase().contains("\r\nretry-after: 1\r\n"), "{reply}");
    fixture.clock.advance(1_000);
    assert_eq!(fixture.post_raw(&hook.path, &header, b"x").await.0, 200);
    fixture.stop().await;
}

#[tokio::test]
async fn job_that_cannot_fire_returns_the_reason() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    fixture.call("cron.pause", json!({})).await;
    let (status, reply) = fixture.post_raw(&hook.path, &hook.auth(), b"x").await;
    assert_eq!((status, body_of(&reply)["error"].as_str()), (409, Some("Everything was paused")));
    fixture.call("cron.resume", json!({})).await;
    fixture.call("cron.update", json!({ "id": hook.id, "patch": { "enabled": false } })).await;
    let (status, reply) = fixture.post_raw(&hook.path, &hook.auth(), b"x").await;
    assert_eq!(
        (status, body_of(&reply)["error"].as_str()),
        (409, Some("The job is switched off."))
    );
    fixture.call("cron.remove", json!({ "id": hook.id })).await;
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), b"x").await.0, 401);
    fixture.stop().await;
}

#[tokio::test]
async fn secret_is_shown_once_and_ends_with_rotation() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let second = fixture.call("cron.webhook", json!({ "id": hook.id })).await;
    assert_eq!(second["secret"], Value::Null);
    let rotated = fixture.call("cron.webhook", json!({ "id": hook.id, "rotate": true })).await;
    let secret = rotated["secret"].as_str().expect("a new secret");
    assert_ne!(secret, hook.secret);
    assert_eq!(fixture.post_raw(&hook.path, &hook.auth(), b"x").await.0, 401);
    let header = format!("X-Rouse-Secret: {secret}\r\n");
    assert_eq!(fixture.post_raw(&hook.path, &header, b"x").await.0, 202);
    let plain = fixture.add("Plain").await;
    let refused = fixture.try_call("cron.webhook", json!({ "id": plain["id"] })).await;
    assert_eq!(refused.expect_err("no webhook").code, ErrorCode::Conflict.number());
    fixture.stop().await;
}

#[tokio::test]
async fn wake_hook_needs_the_token() {
    let fixture = GatewayFixture::new().await;
    let hook = WebhookJob::add(&fixture).await;
    let body = json!({ "text": "Look up", "mode": "next-heartbeat" });
    assert_eq!(fixture.post("/hooks/wake", "", &body).await.0, 401);
    assert_eq!(fixture.post("/hooks/wake", &hook.auth(), &body).await.0, 401);
    let token = format!("Authorization: Bearer {}\r\n", fixture.token());
    let page = format!("{token}Origin: http://127.0.0.1:{}\r\n", fixture.port());
    assert_eq!(fixture.post("/hooks/wake", &page, &body).await.0, 403);
    assert_eq!(fixture.post("/hooks/wake", &token, &json!({ "text": " " })).await.0, 400);
    let (status, reply) = fixture.post("/hooks/wake", &token, &body).await;
    assert_eq!((status, body_of(&reply)["queued"].as_u64()), (202, Some(1)));
    let queued = fixture.store.pending_system_events(1_000).await.expect("read");
    assert_eq!((queued[0].text.as_str(), queued[0].source.as_str()), ("Look up", "hook"));
    assert!(queued[0].is_tainted, "text of a script is untrusted");
    let now = json!({ "text": "Up", "reason": "the door bell", "coalesceMs": 60_001 });
    let (status, reply) = fixture.post("/hooks/wake", &token, &now).await;
    assert_eq!(status, 400, "{reply}");
    assert!(body_of(&reply)["error"].as_str().is_some_and(|message| message.contains("60000")));
    let now = json!({ "text": "Up", "reason": "the door bell", "coalesceMs": 60_000 });
    assert_eq!(fixture.post("/hooks/wake", &token, &now).await.0, 202);
    let status = fixture.call("heartbeat.status", json!({})).await;
    assert_eq!(status["lastRequest"]["reason"], "the door bell", "{status}");
    let empty = json!({ "text": "" });
    // Four authenticated calls were counted before.
    for _ in 0..56 {
        fixture.post("/hooks/wake", &token, &empty).await;
    }
    assert_eq!(fixture.post("/hooks/wake", &token, &empty).await.0, 429);
    fixture.clock.advance(u64::try_from(Duration::from_secs(2).as_millis()).expect("small"));
    assert_eq!(fixture.post("/hooks/wake", &token, &empty).await.0, 400);
    fixture.stop().await;
}

#[tokio::test]
async fn incomplete_body_times_out() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let fixture =
        GatewayFixture::with_port(port.with_body_timeout(Duration::from_millis(20))).await;
    let hook = WebhookJob::add(&fixture).await;
    let token = format!("Authorization: Bearer {}\r\n", fixture.token());
    for (path, header) in [
        (hook.path.as_str(), hook.auth()),
        ("/hooks/wake", token.clone()),
        ("/rpc", token),
        ("/auth/exchange", String::new()),
    ] {
        let reply = fixture.post_incomplete(path, &header).await;
        assert!(reply.starts_with("HTTP/1.1 408 "), "{path}: {reply}");
        let message = "The body was incomplete after 20ms. Send it at once.";
        assert_eq!(body_of(&reply), json!({ "error": message }), "{path}");
    }
    assert!(hook.runs(&fixture).await.is_empty());
    fixture.stop().await;
}
