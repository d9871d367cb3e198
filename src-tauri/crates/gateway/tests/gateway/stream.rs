//! The event stream between store and live channel: each event once and in order, whoever is slow.

use rouse_gateway::Subscription;
use rouse_gateway::wire::EventKind;

use crate::house::House;

/// Commits one event; answers its number.
async fn one_more(house: &House) -> i64 {
    let now = crate::house::NOON;
    house.store.queue_system_event("Tea.", "test", &[], now).await.expect("queued");
    house.gateway.newest_event().await
}

async fn numbers(stream: &mut Subscription, count: usize) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        numbers.push(stream.next().await.expect("the engine goes on").seq);
    }
    numbers
}

#[tokio::test]
async fn an_event_between_subscribing_and_reading_comes_once() {
    let house = House::build().await;
    let before = one_more(&house).await;
    let mut stream = house.gateway.events(before - 1);
    // Both in the live channel and in what is read from the store first.
    let between = one_more(&house).await;
    assert_eq!(numbers(&mut stream, 2).await, [before, between]);
    let after = one_more(&house).await;
    assert_eq!(numbers(&mut stream, 1).await, [after]);
    house.stop().await;
}

#[tokio::test]
async fn a_slow_subscriber_goes_back_to_the_store() {
    let house = House::build().await;
    let mut slow = house.gateway.events(house.gateway.newest_event().await);
    let first = one_more(&house).await;
    assert_eq!(numbers(&mut slow, 1).await, [first]);
    // More than the live channel keeps.
    for _ in 0..1_500 {
        one_more(&house).await;
    }
    let expected: Vec<i64> = (first + 1..=first + 1_500).collect();
    assert_eq!(numbers(&mut slow, 1_500).await, expected);
    let next = one_more(&house).await;
    assert_eq!(numbers(&mut slow, 1).await, [next], "and is live again");
    house.stop().await;
}

#[tokio::test]
async fn a_gap_is_said_and_not_left_out() {
    let house = House::build().await;
    one_more(&house).await;
    for nowhere in [-1, 1_000, i64::MAX] {
        let mut stream = house.gateway.events(nowhere);
        let reset = stream.next().await.expect("an event");
        assert_eq!((reset.kind, reset.seq), (EventKind::Reset, house.gateway.newest_event().await));
        let next = one_more(&house).await;
        assert_eq!(numbers(&mut stream, 1).await, [next]);
    }
    house.stop().await;
}

#[tokio::test]
async fn a_client_hears_the_end() {
    let house = House::build().await;
    let mut stream = house.client.events(None).await.expect("a stream");
    house.stop().await;
    assert!(stream.next().await.is_none());
}
