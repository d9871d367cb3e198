//! The event stream between store and live channel: each event once and in order.

use rouse_gateway::Subscription;
use rouse_gateway::wire::EventKindView;

use crate::fixture::GatewayFixture;

/// Commits an event; returns its number.
async fn commit_event(fixture: &GatewayFixture) -> i64 {
    let now = crate::fixture::NOON;
    fixture.store.queue_system_event("Tea.", "test", &[], now).await.expect("queued");
    fixture.gateway.newest_event().await
}

async fn next_numbers(stream: &mut Subscription, count: usize) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        numbers.push(stream.next().await.expect("an event").seq);
    }
    numbers
}

#[tokio::test]
async fn event_between_subscription_and_read_comes_once() {
    let fixture = GatewayFixture::new().await;
    let before = commit_event(&fixture).await;
    let mut stream = fixture.gateway.events(before - 1);
    // In the live channel and in the store.
    let between = commit_event(&fixture).await;
    assert_eq!(next_numbers(&mut stream, 2).await, [before, between]);
    let after = commit_event(&fixture).await;
    assert_eq!(next_numbers(&mut stream, 1).await, [after]);
    fixture.stop().await;
}

#[tokio::test]
async fn slow_subscriber_reads_from_the_store_again() {
    let fixture = GatewayFixture::new().await;
    let mut slow = fixture.gateway.events(fixture.gateway.newest_event().await);
    let first = commit_event(&fixture).await;
    assert_eq!(next_numbers(&mut slow, 1).await, [first]);
    // More than the capacity of the live channel.
    for _ in 0..1_500 {
        commit_event(&fixture).await;
    }
    let expected: Vec<i64> = (first + 1..=first + 1_500).collect();
    assert_eq!(next_numbers(&mut slow, 1_500).await, expected);
    let next = commit_event(&fixture).await;
    assert_eq!(next_numbers(&mut slow, 1).await, [next], "live again");
    fixture.stop().await;
}

#[tokio::test]
async fn unknown_start_number_gets_a_reset() {
    let fixture = GatewayFixture::new().await;
    commit_event(&fixture).await;
    for after in [-1, 1_000, i64::MAX] {
        let mut stream = fixture.gateway.events(after);
        let reset = stream.next().await.expect("an event");
        assert_eq!(
            (reset.kind, reset.seq),
            (EventKindView::Reset, fixture.gateway.newest_event().await)
        );
        let next = commit_event(&fixture).await;
        assert_eq!(next_numbers(&mut stream, 1).await, [next]);
    }
    fixture.stop().await;
}

#[tokio::test]
async fn client_stream_ends_with_the_engine() {
    let fixture = GatewayFixture::new().await;
    let mut stream = fixture.client.events(None).await.expect("a stream");
    fixture.stop().await;
    assert!(stream.next().await.is_none());
}
