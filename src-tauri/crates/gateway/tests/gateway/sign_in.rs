//! Expiry and limits of codes and sessions.

use rouse_gateway::page_proof;
use serde_json::{Value, json};

use crate::fixture::GatewayFixture;

const SECOND: u64 = 1_000;
const DAY: u64 = 24 * 3_600 * SECOND;

async fn create_code(fixture: &GatewayFixture) -> String {
    let url = fixture.client.sign_in_url("/").await.expect("a URL");
    url.split_once("#code=").expect("a code").1.to_owned()
}

/// Exchanges a code; returns the status and the headers of the page: cookie and proof.
async fn exchange(fixture: &GatewayFixture, code: &str) -> (u16, String) {
    let (status, reply) = fixture.post("/auth/exchange", "", &json!({ "code": code })).await;
    let cookie = reply.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let Some(cookie) = cookie.and_then(|cookie| cookie.split(';').next()) else {
        return (status, String::new());
    };
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    let exchanged: Value = serde_json::from_str(body).expect("JSON");
    let start_id = fixture.send_raw("GET", "/auth/start-id", "", b"").await.1;
    let start_id = start_id.split_once("\r\n\r\n").expect("a body").1;
    let key = exchanged["pageKey"].as_str().expect("a key");
    let origin = format!("http://127.0.0.1:{}", fixture.port());
    let proof = page_proof(&origin, start_id, key);
    (status, format!("Cookie: {cookie}\r\nRouse-Page: {proof}\r\n"))
}

/// Calls a method as a page; returns status and raw response.
async fn call_as_page(fixture: &GatewayFixture, headers: &str) -> (u16, String) {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    fixture.post("/rpc", headers, &request).await
}

async fn status_of_call(fixture: &GatewayFixture, headers: &str) -> u16 {
    call_as_page(fixture, headers).await.0
}

#[tokio::test]
async fn code_expires_after_thirty_seconds() {
    let fixture = GatewayFixture::new().await;
    let (in_time, late) = (create_code(&fixture).await, create_code(&fixture).await);
    fixture.clock.advance(30 * SECOND - 1);
    assert_eq!(exchange(&fixture, &in_time).await.0, 200);
    fixture.clock.advance(1);
    assert_eq!(exchange(&fixture, &late).await, (401, String::new()));
    fixture.clock.set(crate::fixture::NOON);
    assert_eq!(exchange(&fixture, &late).await.0, 401, "also after a clock rollback");
    fixture.stop().await;
}

#[tokio::test]
async fn requests_extend_a_session() {
    let fixture = GatewayFixture::new().await;
    let (_, used) = exchange(&fixture, &create_code(&fixture).await).await;
    let (_, unused) = exchange(&fixture, &create_code(&fixture).await).await;
    for _ in 0..3 {
        fixture.clock.advance(20 * DAY);
        assert_eq!(status_of_call(&fixture, &used).await, 200);
    }
    assert_eq!(status_of_call(&fixture, &unused).await, 401);
    fixture.clock.advance(30 * DAY);
    assert_eq!(status_of_call(&fixture, &used).await, 401);
    fixture.stop().await;
}

/// Calls a method as a page; returns the cookie of the response.
async fn renewed_cookie(fixture: &GatewayFixture, headers: &str) -> Option<String> {
    let (_, reply) = call_as_page(fixture, headers).await;
    reply.lines().find_map(|line| line.strip_prefix("set-cookie: ")).map(str::to_owned)
}

#[tokio::test]
async fn cookie_is_renewed_once_a_day() {
    let fixture = GatewayFixture::new().await;
    let (_, headers) = exchange(&fixture, &create_code(&fixture).await).await;
    assert_eq!(renewed_cookie(&fixture, &headers).await, None, "a new cookie");
    fixture.clock.advance(DAY);
    let cookie = renewed_cookie(&fixture, &headers).await.expect("a renewed cookie");
    let (name_and_value, attributes) = cookie.split_once("; ").expect("attributes");
    assert!(headers.starts_with(&format!("Cookie: {name_and_value}\r\n")), "{cookie}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
    assert_eq!(renewed_cookie(&fixture, &headers).await, None, "once a day");
    fixture.clock.advance(30 * DAY);
    assert_eq!(renewed_cookie(&fixture, &headers).await, None, "an expired session");
    let (name, _) = name_and_value.split_once('=').expect("a pair");
    let port = name.strip_prefix("rouse_session_").and_then(|port| port.parse::<u16>().ok());
    assert!(port.is_some(), "no port in {name}");
    assert_eq!(renewed_cookie(&fixture, &format!("Cookie: {name}=guess\r\n")).await, None);
    fixture.stop().await;
}

#[tokio::test]
async fn oldest_code_is_removed_above_the_limit() {
    let fixture = GatewayFixture::new().await;
    let first = create_code(&fixture).await;
    let mut last = String::new();
    for _ in 0..64 {
        fixture.clock.advance(1);
        last = create_code(&fixture).await;
    }
    assert_eq!(exchange(&fixture, &first).await.0, 401, "the oldest");
    assert_eq!(exchange(&fixture, &last).await.0, 200);
    fixture.stop().await;
}

#[tokio::test]
async fn cookie_needs_the_proof_of_its_page() {
    let fixture = GatewayFixture::new().await;
    let (_, headers) = exchange(&fixture, &create_code(&fixture).await).await;
    let (_, other) = exchange(&fixture, &create_code(&fixture).await).await;
    let [cookie, proof] = headers.trim_end().split("\r\n").collect::<Vec<_>>()[..] else {
        panic!("{headers}")
    };
    let other_proof = other.trim_end().split("\r\n").nth(1).expect("a proof");
    for (sent, status) in [
        (format!("{cookie}\r\n"), 401),
        (format!("{proof}\r\n"), 401),
        (format!("{cookie}\r\n{other_proof}\r\n"), 401),
        (format!("{cookie}\r\nRouse-Page: \r\n"), 401),
        (headers.clone(), 200),
    ] {
        assert_eq!(status_of_call(&fixture, &sent).await, status, "{sent}");
    }
    fixture.stop().await;
}
