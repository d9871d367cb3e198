//! The hooks, attacked: wrong secrets, pages, floods, bodies that do not fit, the same call twice.

use std::time::Duration;

use rouse_gateway::{BoundPort, ErrorCode};
use serde_json::{Value, json};

use crate::house::{House, draft};

struct Hook {
    id: String,
    path: String,
    secret: String,
}

impl Hook {
    async fn make(house: &House) -> Self {
        let mut job = draft("Hook");
        job["schedule"] = json!({ "kind": "webhook" });
        job["policies"] = json!({ "overlap": "queue" });
        let id = house.call("cron.add", job).await["job"]["id"].as_str().expect("an id").to_owned();
        let view = house.call("cron.webhook", json!({ "id": id })).await;
        let secret = view["secret"].as_str().expect("the first answer has it").to_owned();
        let url = view["url"].as_str().expect("an address");
        let path =
            url.split_once(&format!(":{}", house.port())).expect("its own port").1.to_owned();
        Self { id, path, secret }
    }

    fn auth(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.secret)
    }

    async fn runs(&self, house: &House) -> Vec<Value> {
        let list = house.call("cron.runs", json!({ "id": self.id, "limit": 200 })).await;
        list["entries"].as_array().expect("runs").clone()
    }
}

fn body_of(reply: &str) -> Value {
    let body = reply.split_once("\r\n\r\n").expect("a head and a body").1;
    serde_json::from_str(body).unwrap_or(Value::Null)
}

#[tokio::test]
async fn a_call_with_the_secret_fires_the_job() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    for header in [hook.auth(), format!("X-Rouse-Secret: {}\r\n", hook.secret)] {
        let (status, reply) = house.post_raw(&hook.path, &header, b"Tea is ready").await;
        assert_eq!(status, 202, "{reply}");
        let run = body_of(&reply)["runId"].clone();
        let detail = house.call("runs.get", json!({ "id": run })).await;
        assert_eq!(detail["run"]["trigger"], "webhook");
        assert_eq!(detail["cause"]["source"], "webhook");
        assert_eq!(detail["cause"]["text"], "Tea is ready");
    }
    house.stop().await;
}

#[tokio::test]
async fn strangers_all_get_the_same_answer_and_fire_nothing() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let plain = house.add("Plain").await;
    let plain = format!("/hooks/jobs/{}", plain["id"].as_str().expect("an id"));
    let token = house.token();
    let flipped = hook.secret.replace('a', "b");
    let wrong = [
        (hook.path.as_str(), String::new()),
        (hook.path.as_str(), "Authorization: Bearer \r\n".to_owned()),
        (hook.path.as_str(), format!("Authorization: {}\r\n", hook.secret)),
        (hook.path.as_str(), format!("Authorization: Bearer {}\r\n", &hook.secret[1..])),
        (hook.path.as_str(), format!("X-Rouse-Secret: {flipped}x\r\n")),
        (hook.path.as_str(), format!("Authorization: Bearer {token}\r\n")),
        ("/hooks/jobs/nobody", hook.auth()),
        ("/hooks/jobs/%ff", hook.auth()),
        (plain.as_str(), hook.auth()),
    ];
    for (path, header) in wrong {
        let (status, reply) = house.post_raw(path, &header, b"x").await;
        assert_eq!(status, 401, "{path} {header}");
        assert_eq!(body_of(&reply), json!({ "error": "No webhook answers to this." }), "{reply}");
    }
    assert!(hook.runs(&house).await.is_empty());
    house.stop().await;
}

#[tokio::test]
async fn whatever_a_hook_refuses_is_told_in_one_shape() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let token = format!("Authorization: Bearer {}\r\n", house.token());
    let page = format!("{token}Origin: http://127.0.0.1:{}\r\n", house.port());
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
        let (found, reply) = house.send_raw(method, path, &header, b"x").await;
        assert_eq!(found, status, "{method} {path}: {reply}");
        let body = body_of(&reply);
        assert!(body["error"].as_str().is_some_and(|said| !said.is_empty()), "{reply}");
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{reply}");
        assert_eq!(reply.contains("allow: POST"), status == 405, "{reply}");
    }
    house.stop().await;
}

#[tokio::test]
async fn pages_and_other_names_are_turned_away_even_with_the_secret() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let own = format!("Origin: http://127.0.0.1:{}\r\n", house.port());
    for header in [
        own.as_str(),
        "Origin: null\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "Origin: http://evil.example\r\n",
    ] {
        let (status, _) =
            house.post_raw(&hook.path, &format!("{}{header}", hook.auth()), b"x").await;
        assert_eq!(status, 403, "{header}");
    }
    let (status, _) =
        house.post_raw(&hook.path, &format!("{}Host: evil.example\r\n", hook.auth()), b"x").await;
    assert!([400, 403].contains(&status), "{status}");
    assert!(hook.runs(&house).await.is_empty());
    house.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_fit_is_refused() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let large = vec![b'x'; 64 * 1024 + 1];
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), &large).await.0, 413);
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), &[0xff, 0xfe]).await.0, 400);
    let long_key = format!("{}Idempotency-Key: {}\r\n", hook.auth(), "k".repeat(256));
    assert_eq!(house.post_raw(&hook.path, &long_key, b"x").await.0, 400);
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), &large[..64 * 1024]).await.0, 202);
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), b"").await.0, 202);
    assert_eq!(hook.runs(&house).await.len(), 2);
    house.stop().await;
}

#[tokio::test]
async fn the_same_key_makes_one_run() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let header = format!("{}Idempotency-Key: order 7\r\n", hook.auth());
    let (first, reply) = house.post_raw(&hook.path, &header, b"x").await;
    let run = body_of(&reply)["runId"].clone();
    let (second, reply) = house.post_raw(&hook.path, &header, b"x").await;
    assert_eq!((first, second), (202, 200));
    assert_eq!(body_of(&reply)["runId"], run);
    let (another, reply) = house.post_raw(&hook.path, &header, b"y").await;
    assert_eq!(another, 422, "{reply}");
    assert!(body_of(&reply)["error"].as_str().is_some_and(|words| words.contains("another body")));
    assert_eq!(hook.runs(&house).await.len(), 1);
    house.stop().await;
}

#[tokio::test]
async fn who_asks_again_about_a_skipped_call_hears_the_same() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let patch = json!({ "policies": { "cooldownSeconds": 3_600 } });
    house.call("cron.update", json!({ "id": hook.id, "patch": patch })).await;
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), b"x").await.0, 202);
    let header = format!("{}Idempotency-Key: order 8\r\n", hook.auth());
    let (first, told) = house.post_raw(&hook.path, &header, b"x").await;
    let told = body_of(&told);
    assert!(first == 202 && told["skipped"].is_string(), "{told}");
    let (second, again) = house.post_raw(&hook.path, &header, b"x").await;
    assert_eq!((second, body_of(&again)), (200, told));
    house.stop().await;
}

#[tokio::test]
async fn the_name_of_a_scheme_has_no_case_and_a_missing_text_is_named() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let shouted = format!("AUTHORIZATION: BEARER {}\r\n", hook.secret);
    for header in [hook.auth().to_lowercase(), shouted] {
        assert_eq!(house.post_raw(&hook.path, &header, b"x").await.0, 202, "{header}");
    }
    let token = format!("authorization: bearer {}\r\n", house.token());
    let (status, reply) = house.post("/hooks/wake", &token, &json!({ "mode": "now" })).await;
    assert_eq!((status, body_of(&reply)["error"].as_str()), (400, Some("text: is required")));
    house.stop().await;
}

#[tokio::test]
async fn a_flood_is_told_when_to_come_again() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let header = format!("{}Idempotency-Key: k\r\n", hook.auth());
    for call in 0..60 {
        let (status, _) = house.post_raw(&hook.path, &header, b"x").await;
        assert!([200, 202].contains(&status), "{call}: {status}");
        // A stranger uses up nothing.
        assert_eq!(house.post_raw(&hook.path, "X-Rouse-Secret: guess\r\n", b"x").await.0, 401);
    }
    let (status, reply) = house.post_raw(&hook.path, &header, b"x").await;
    assert_eq!(status, 429);
    assert!(reply.to_lowercase().contains("\r\nretry-after: 1\r\n"), "{reply}");
    house.clock.advance(1_000);
    assert_eq!(house.post_raw(&hook.path, &header, b"x").await.0, 200);
    house.stop().await;
}

#[tokio::test]
async fn a_job_that_does_not_fire_says_why() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    house.call("cron.pause", json!({})).await;
    let (status, reply) = house.post_raw(&hook.path, &hook.auth(), b"x").await;
    assert_eq!((status, body_of(&reply)["error"].as_str()), (409, Some("Everything was paused")));
    house.call("cron.resume", json!({})).await;
    house.call("cron.update", json!({ "id": hook.id, "patch": { "enabled": false } })).await;
    let (status, reply) = house.post_raw(&hook.path, &hook.auth(), b"x").await;
    assert_eq!(
        (status, body_of(&reply)["error"].as_str()),
        (409, Some("The job is switched off."))
    );
    house.call("cron.remove", json!({ "id": hook.id })).await;
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), b"x").await.0, 401);
    house.stop().await;
}

#[tokio::test]
async fn a_secret_is_shown_once_and_dies_with_its_successor() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let again = house.call("cron.webhook", json!({ "id": hook.id })).await;
    assert_eq!(again["secret"], Value::Null);
    let rotated = house.call("cron.webhook", json!({ "id": hook.id, "rotate": true })).await;
    let secret = rotated["secret"].as_str().expect("a new one");
    assert_ne!(secret, hook.secret);
    assert_eq!(house.post_raw(&hook.path, &hook.auth(), b"x").await.0, 401);
    let header = format!("X-Rouse-Secret: {secret}\r\n");
    assert_eq!(house.post_raw(&hook.path, &header, b"x").await.0, 202);
    let plain = house.add("Plain").await;
    let refused = house.try_call("cron.webhook", json!({ "id": plain["id"] })).await;
    assert_eq!(refused.expect_err("no webhook").code, ErrorCode::Conflict.number());
    house.stop().await;
}

#[tokio::test]
async fn a_wake_needs_the_token_and_is_what_the_method_does() {
    let house = House::build().await;
    let hook = Hook::make(&house).await;
    let body = json!({ "text": "Look up", "mode": "next-heartbeat" });
    assert_eq!(house.post("/hooks/wake", "", &body).await.0, 401);
    assert_eq!(house.post("/hooks/wake", &hook.auth(), &body).await.0, 401);
    let token = format!("Authorization: Bearer {}\r\n", house.token());
    let page = format!("{token}Origin: http://127.0.0.1:{}\r\n", house.port());
    assert_eq!(house.post("/hooks/wake", &page, &body).await.0, 403);
    assert_eq!(house.post("/hooks/wake", &token, &json!({ "text": " " })).await.0, 400);
    let (status, reply) = house.post("/hooks/wake", &token, &body).await;
    assert_eq!((status, body_of(&reply)["queued"].as_u64()), (202, Some(1)));
    let waiting = house.store.pending_system_events(1_000).await.expect("read");
    assert_eq!((waiting[0].text.as_str(), waiting[0].source.as_str()), ("Look up", "hook"));
    assert!(waiting[0].from_outside, "a script hands on what it has read");
    let now = json!({ "text": "Up", "reason": "the door bell", "coalesceMs": 60_001 });
    let (status, reply) = house.post("/hooks/wake", &token, &now).await;
    assert_eq!(status, 400, "{reply}");
    assert!(body_of(&reply)["error"].as_str().is_some_and(|said| said.contains("60000")));
    let now = json!({ "text": "Up", "reason": "the door bell", "coalesceMs": 60_000 });
    assert_eq!(house.post("/hooks/wake", &token, &now).await.0, 202);
    let status = house.call("heartbeat.status", json!({})).await;
    assert_eq!(status["lastRequest"]["reason"], "the door bell", "{status}");
    let empty = json!({ "text": "" });
    // Four were counted before: two refused ones and two good ones.
    for _ in 0..56 {
        house.post("/hooks/wake", &token, &empty).await;
    }
    assert_eq!(house.post("/hooks/wake", &token, &empty).await.0, 429);
    house.clock.advance(u64::try_from(Duration::from_secs(2).as_millis()).expect("small"));
    assert_eq!(house.post("/hooks/wake", &token, &empty).await.0, 400);
    house.stop().await;
}

#[tokio::test]
async fn a_body_that_stops_coming_ends_its_connection() {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let house = House::on(port.bodies_within(Duration::from_millis(20))).await;
    let hook = Hook::make(&house).await;
    let token = format!("Authorization: Bearer {}\r\n", house.token());
    for (path, header) in [
        (hook.path.as_str(), hook.auth()),
        ("/hooks/wake", token.clone()),
        ("/rpc", token),
        ("/auth/exchange", String::new()),
    ] {
        let reply = house.post_half(path, &header).await;
        assert!(reply.starts_with("HTTP/1.1 408 "), "{path}: {reply}");
        let said = "The body did not come whole within 20ms. Send it at once.";
        assert_eq!(body_of(&reply), json!({ "error": said }), "{path}");
    }
    assert!(hook.runs(&house).await.is_empty());
    house.stop().await;
}
