//! An engine without a screen shows notifications through an attached app.

use std::path::Path;
use std::sync::Arc;

use rouse_gateway::wire::NotificationRequest;
use rouse_gateway::{Client, DesktopAppMessage, DesktopAppStream};
use rouse_tests::{EngineBuilder, RecordingNotifier, TestEngine};
use serde_json::{Value, json};

/// The first backoff of a delivery.
const FIRST_BACKOFF: u64 = 2_000;

async fn attach(folder: &Path) -> DesktopAppStream {
    let client = Client::find(folder).expect("a running engine");
    let mut screen = client.attach_desktop_app(0).await.expect("a screen");
    // The engine counts the screen from this event on.
    next_where(&mut screen, |message| match message {
        DesktopAppMessage::Event(event) => (event.data["screens"] == 1).then_some(()),
        DesktopAppMessage::Show(_) => None,
    })
    .await;
    screen
}

async fn next_where<T>(
    screen: &mut DesktopAppStream,
    select: impl Fn(DesktopAppMessage) -> Option<T>,
) -> T {
    loop {
        if let Some(found) = select(screen.next().await.expect("the engine goes on")) {
            return found;
        }
    }
}

async fn next_request(screen: &mut DesktopAppStream) -> NotificationRequest {
    next_where(screen, |message| match message {
        DesktopAppMessage::Show(request) => Some(request),
        DesktopAppMessage::Event(_) => None,
    })
    .await
}

async fn answer_request(
    engine: &TestEngine,
    request: &NotificationRequest,
    outcome: &str,
    reason: Option<&str>,
) {
    let answer = json!({ "key": request.key, "outcome": outcome, "reason": reason });
    assert_eq!(engine.call("deliveries.answer", answer).await, json!({ "changed": true }));
}

/// Creates a test delivery and returns the id.
async fn send_test(engine: &TestEngine) -> String {
    let sent = engine.call("deliveries.test", json!({})).await;
    sent["id"].as_str().expect("an id").to_owned()
}

async fn delivery(engine: &TestEngine, id: &str) -> Value {
    engine.call("deliveries.get", json!({ "id": id })).await
}

async fn wait_for_state(engine: &TestEngine, id: &str, state: &str) -> Value {
    engine
        .wait_until(async |engine| {
            let delivery = delivery(engine, id).await;
            (delivery["state"] == state).then_some(delivery)
        })
        .await
}

#[tokio::test]
async fn delivery_is_delivered_after_screen_confirms() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let status = engine.call("system.status", json!({})).await;
    assert_eq!(
        status["notifications"],
        json!({ "available": true, "reason": null, "failing": false })
    );

    let id = send_test(&engine).await;
    let request = next_request(&mut screen).await;
    assert_eq!((request.delivery_id.as_str(), request.title.as_str()), (id.as_str(), "Rouse"));
    let guess = json!({ "key": id, "outcome": "shown" });
    assert_eq!(engine.call("deliveries.answer", guess).await, json!({ "changed": false }));
    assert_eq!(delivery(&engine, &id).await["state"], "pending", "sent is not shown");
    answer_request(&engine, &request, "shown", None).await;
    wait_for_state(&engine, &id, "delivered").await;

    let id = send_test(&engine).await;
    answer_request(&engine, &next_request(&mut screen).await, "never", Some("No server here."))
        .await;
    assert_eq!(wait_for_state(&engine, &id, "suppressed").await["reason"], "No server here.");
    engine.host.stop().await;
}

#[tokio::test]
async fn delivery_without_screen_is_suppressed_with_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).without_screen().build().await;
    let screen = attach(folder.path()).await;
    let mut events = engine.events();
    drop(screen);
    while events.next().await.expect("the host goes on").data["screens"] != 0 {}
    let id = send_test(&engine).await;
    let reason = wait_for_state(&engine, &id, "suppressed").await["reason"].clone();
    assert!(reason.as_str().is_some_and(|text| text.contains("No desktop session")), "{reason}");
    let status = engine.call("system.status", json!({})).await;
    assert_eq!(
        status["notifications"],
        json!({ "available": false, "reason": reason, "failing": false })
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn delivery_is_retried_when_screen_disconnects() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let id = send_test(&engine).await;
    next_request(&mut screen).await;
    drop(screen);
    let postponed = engine
        .wait_until(async |engine| {
            let delivery = delivery(engine, &id).await;
            (delivery["attempts"] == 1).then_some(delivery)
        })
        .await;
    assert_eq!(postponed["state"], "pending");
    assert!(
        postponed["reason"].as_str().is_some_and(|text| text.contains("disconnected")),
        "{postponed}"
    );

    let mut screen = attach(folder.path()).await;
    engine.clock.advance(FIRST_BACKOFF);
    // The manual clock wakes nothing, so another delivery makes the outbox look at the time.
    let other = send_test(&engine).await;
    for _ in 0..2 {
        let request = next_request(&mut screen).await;
        answer_request(&engine, &request, "shown", None).await;
    }
    wait_for_state(&engine, &id, "delivered").await;
    wait_for_state(&engine, &other, "delivered").await;
    engine.host.stop().await;
}

#[tokio::test]
async fn interrupted_delivery_is_shown_after_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let first = send_test(&engine).await;
    next_request(&mut screen).await;
    let clock = engine.clock.clone();
    // Both wait behind the unanswered delivery.
    let rest = [send_test(&engine).await, send_test(&engine).await];
    engine.host.stop().await;

    clock.advance(FIRST_BACKOFF);
    let notifier = Arc::new(RecordingNotifier::default());
    let engine = EngineBuilder::new(folder.path())
        .clock(&clock)
        .notifier(Arc::clone(&notifier))
        .build()
        .await;
    for id in [&first].into_iter().chain(&rest) {
        let stored = delivery(&engine, id).await;
        assert!(stored["state"] != "suppressed", "{stored}");
        notifier.shown.next_where(|shown| shown.id.as_str() == id).await;
        wait_for_state(&engine, id, "delivered").await;
    }
    engine.host.stop().await;
}
