//! Codes and sessions run out, by the clock and by their number.

use serde_json::json;

use crate::house::House;

const SECOND: u64 = 1_000;
const DAY: u64 = 24 * 3_600 * SECOND;

async fn code(house: &House) -> String {
    let address = house.client.browser_address("/").await.expect("an address");
    address.split_once("#code=").expect("a code").1.to_owned()
}

/// Trades a code; answers the status and the cookie.
async fn trade(house: &House, code: &str) -> (u16, String) {
    let (status, reply) = house.post("/auth/exchange", "", &json!({ "code": code })).await;
    let cookie = reply.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    (status, cookie.and_then(|cookie| cookie.split(';').next()).unwrap_or_default().to_owned())
}

async fn visit(house: &House, cookie: &str) -> u16 {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    house.post("/rpc", &format!("Cookie: {cookie}\r\n"), &request).await.0
}

#[tokio::test]
async fn a_code_is_good_for_thirty_seconds() {
    let house = House::build().await;
    let (in_time, late) = (code(&house).await, code(&house).await);
    house.clock.advance(30 * SECOND - 1);
    assert_eq!(trade(&house, &in_time).await.0, 204);
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

/// Visits with a cookie; answers what the browser is told to keep.
async fn told_to_keep(house: &House, cookie: &str) -> Option<String> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    let (_, reply) = house.post("/rpc", &format!("Cookie: {cookie}\r\n"), &request).await;
    reply.lines().find_map(|line| line.strip_prefix("set-cookie: ")).map(str::to_owned)
}

#[tokio::test]
async fn the_browser_s_cookie_lives_as_long_as_its_session() {
    let house = House::build().await;
    let (_, cookie) = trade(&house, &code(&house).await).await;
    assert_eq!(told_to_keep(&house, &cookie).await, None, "it is fresh");
    house.clock.advance(DAY);
    let kept = told_to_keep(&house, &cookie).await.expect("a cookie that lives longer");
    let (name_and_value, attributes) = kept.split_once("; ").expect("attributes");
    assert_eq!(name_and_value, cookie);
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
    assert_eq!(told_to_keep(&house, &cookie).await, None, "once a day is enough");
    house.clock.advance(30 * DAY);
    assert_eq!(told_to_keep(&house, &cookie).await, None, "what has ended stays so");
    assert_eq!(told_to_keep(&house, "rouse_session=guess").await, None);
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
    assert_eq!(trade(&house, &last).await.0, 204);
    house.stop().await;
}
