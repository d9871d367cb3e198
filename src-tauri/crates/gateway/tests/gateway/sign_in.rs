//! Codes and sessions run out, by the clock and by their number.

use rouse_gateway::page_proof;
use serde_json::{Value, json};

use crate::house::House;

const SECOND: u64 = 1_000;
const DAY: u64 = 24 * 3_600 * SECOND;

async fn code(house: &House) -> String {
    let address = house.client.browser_address("/").await.expect("an address");
    address.split_once("#code=").expect("a code").1.to_owned()
}

/// Trades a code; answers the status and what the page shows from then on: its cookie and its proof.
async fn trade(house: &House, code: &str) -> (u16, String) {
    let (status, reply) = house.post("/auth/exchange", "", &json!({ "code": code })).await;
    let cookie = reply.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let Some(cookie) = cookie.and_then(|cookie| cookie.split(';').next()) else {
        return (status, String::new());
    };
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    let told: Value = serde_json::from_str(body).expect("JSON");
    let life = house.send_raw("GET", "/auth/life", "", b"").await.1;
    let life = life.split_once("\r\n\r\n").expect("a body").1;
    let proof = page_proof(house.port(), life, told["pageKey"].as_str().expect("a key"));
    (status, format!("Cookie: {cookie}\r\nRouse-Page: {proof}\r\n"))
}

/// Asks something as a page; answers the status and the whole reply.
async fn ask(house: &House, shown: &str) -> (u16, String) {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    house.post("/rpc", shown, &request).await
}

async fn visit(house: &House, shown: &str) -> u16 {
    ask(house, shown).await.0
}

#[tokio::test]
async fn a_code_is_good_for_thirty_seconds() {
    let house = House::build().await;
    let (in_time, late) = (code(&house).await, code(&house).await);
    house.clock.advance(30 * SECOND - 1);
    assert_eq!(trade(&house, &in_time).await.0, 200);
    house.clock.advance(1);
    assert_eq!(trade(&house, &late).await, (401, String::new()));
    house.clock.set(crate::house::NOON);
    assert_eq!(trade(&house, &late).await.0, 401, "a clock that is set back opens nothing again");
    house.stop().await;
}

#[tokio::test]
async fn a_session_lives_as_long_as_it_is_used() {
    let house = House::build().await;
    let (_, used) = trade(&house, &code(&house).await).await;
    let (_, forgotten) = trade(&house, &code(&house).await).await;
    for _ in 0..3 {
        house.clock.advance(20 * DAY);
        assert_eq!(visit(&house, &used).await, 200);
    }
    assert_eq!(visit(&house, &forgotten).await, 401);
    house.clock.advance(30 * DAY);
    assert_eq!(visit(&house, &used).await, 401);
    house.stop().await;
}

/// Visits as a page; answers what the browser is told to keep.
async fn told_to_keep(house: &House, shown: &str) -> Option<String> {
    let (_, reply) = ask(house, shown).await;
    reply.lines().find_map(|line| line.strip_prefix("set-cookie: ")).map(str::to_owned)
}

#[tokio::test]
async fn the_browser_s_cookie_lives_as_long_as_its_session() {
    let house = House::build().await;
    let (_, shown) = trade(&house, &code(&house).await).await;
    assert_eq!(told_to_keep(&house, &shown).await, None, "it is fresh");
    house.clock.advance(DAY);
    let kept = told_to_keep(&house, &shown).await.expect("a cookie that lives longer");
    let (name_and_value, attributes) = kept.split_once("; ").expect("attributes");
    assert!(shown.starts_with(&format!("Cookie: {name_and_value}\r\n")), "{kept}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
    assert_eq!(told_to_keep(&house, &shown).await, None, "once a day is enough");
    house.clock.advance(30 * DAY);
    assert_eq!(told_to_keep(&house, &shown).await, None, "what has ended stays so");
    let (name, _) = name_and_value.split_once('=').expect("a pair");
    let port = name.strip_prefix("rouse_session_").and_then(|port| port.parse::<u16>().ok());
    assert!(port.is_some(), "another engine's stays beside it: {name}");
    assert_eq!(told_to_keep(&house, &format!("Cookie: {name}=guess\r\n")).await, None);
    house.stop().await;
}

#[tokio::test]
async fn only_so_many_codes_are_kept() {
    let house = House::build().await;
    let first = code(&house).await;
    let mut last = String::new();
    for _ in 0..64 {
        house.clock.advance(1);
        last = code(&house).await;
    }
    assert_eq!(trade(&house, &first).await.0, 401, "the oldest goes first");
    assert_eq!(trade(&house, &last).await.0, 200);
    house.stop().await;
}

#[tokio::test]
async fn a_cookie_without_its_page_opens_nothing() {
    let house = House::build().await;
    let (_, one) = trade(&house, &code(&house).await).await;
    let (_, other) = trade(&house, &code(&house).await).await;
    let [cookie, proof] = one.trim_end().split("\r\n").collect::<Vec<_>>()[..] else {
        panic!("{one}")
    };
    let others_proof = other.trim_end().split("\r\n").nth(1).expect("a proof");
    for (shown, status) in [
        (format!("{cookie}\r\n"), 401),
        (format!("{proof}\r\n"), 401),
        (format!("{cookie}\r\n{others_proof}\r\n"), 401),
        (format!("{cookie}\r\nRouse-Page: \r\n"), 401),
        (one.clone(), 200),
    ] {
        assert_eq!(visit(&house, &shown).await, status, "{shown}");
    }
    house.stop().await;
}
