//! An engine without a screen lets an attached app show its notifications, and takes nobody's word but that app's.

use std::path::Path;
use std::sync::Arc;

use rouse_gateway::wire::ShowRequest;
use rouse_gateway::{Client, ForScreen, ScreenStream};
use serde_json::{Value, json};

use crate::house::{House, Plan, Recording};

/// The first pause before a delivery is tried again.
const FIRST_PAUSE: u64 = 2_000;

async fn attach(folder: &Path) -> ScreenStream {
    let client = Client::find(folder).expect("the engine says where it is");
    let mut screen = client.attach_screen(0).await.expect("a screen");
    // Only from here on it counts as one.
    hears(&mut screen, |told| match told {
        ForScreen::Event(event) => (event.data["screens"] == 1).then_some(()),
        ForScreen::Show(_) => None,
    })
    .await;
    screen
}

async fn hears<T>(screen: &mut ScreenStream, look: impl Fn(ForScreen) -> Option<T>) -> T {
    loop {
        if let Some(found) = look(screen.next().await.expect("the engine goes on")) {
            return found;
        }
    }
}

async fn asked(screen: &mut ScreenStream) -> ShowRequest {
    hears(screen, |told| match told {
        ForScreen::Show(request) => Some(request),
        ForScreen::Event(_) => None,
    })
    .await
}

async fn answer(house: &House, request: &ShowRequest, outcome: &str, reason: Option<&str>) {
    let answer = json!({ "key": request.key, "outcome": outcome, "reason": reason });
    assert_eq!(house.call("deliveries.answer", answer).await, json!({ "changed": true }));
}

/// Puts a delivery into the outbox; answers its id.
async fn send(house: &House) -> String {
    let sent = house.call("deliveries.test", json!({})).await;
    sent["id"].as_str().expect("an id").to_owned()
}

async fn delivery(house: &House, id: &str) -> Value {
    house.call("deliveries.get", json!({ "id": id })).await
}

async fn until_state(house: &House, id: &str, state: &str) -> Value {
    house
        .until(async |house| {
            let delivery = delivery(house, id).await;
            (delivery["state"] == state).then_some(delivery)
        })
        .await
}

#[tokio::test]
async fn a_delivery_is_delivered_once_the_attached_screen_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let status = house.call("system.status", json!({})).await;
    assert_eq!(
        status["notifications"],
        json!({ "available": true, "reason": null, "failing": false })
    );

    let id = send(&house).await;
    let request = asked(&mut screen).await;
    assert_eq!((request.delivery_id.as_str(), request.title.as_str()), (id.as_str(), "Rouse"));
    let guess = json!({ "key": id, "outcome": "shown" });
    assert_eq!(house.call("deliveries.answer", guess).await, json!({ "changed": false }));
    assert_eq!(delivery(&house, &id).await["state"], "pending", "sent is not shown");
    answer(&house, &request, "shown", None).await;
    until_state(&house, &id, "delivered").await;

    let id = send(&house).await;
    answer(&house, &asked(&mut screen).await, "never", Some("No server here.")).await;
    assert_eq!(until_state(&house, &id, "suppressed").await["reason"], "No server here.");
    house.host.stop().await;
}

#[tokio::test]
async fn with_nobody_attached_it_is_suppressed_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).without_screen().build().await;
    let screen = attach(folder.path()).await;
    let mut events = house.events();
    drop(screen);
    while events.next().await.expect("the host goes on").data["screens"] != 0 {}
    let id = send(&house).await;
    let reason = until_state(&house, &id, "suppressed").await["reason"].clone();
    assert!(reason.as_str().is_some_and(|words| words.contains("without a desktop")), "{reason}");
    let status = house.call("system.status", json!({})).await;
    assert_eq!(
        status["notifications"],
        json!({ "available": false, "reason": reason, "failing": false })
    );
    house.host.stop().await;
}

#[tokio::test]
async fn a_screen_that_goes_away_while_it_is_asked_means_another_try() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let id = send(&house).await;
    asked(&mut screen).await;
    drop(screen);
    let postponed = house
        .until(async |house| {
            let delivery = delivery(house, &id).await;
            (delivery["attempts"] == 1).then_some(delivery)
        })
        .await;
    assert_eq!(postponed["state"], "pending");
    assert!(
        postponed["reason"].as_str().is_some_and(|words| words.contains("went away")),
        "{postponed}"
    );

    let mut screen = attach(folder.path()).await;
    house.clock.advance(FIRST_PAUSE);
    // The clock is the test's; something new makes the outbox look at it.
    let other = send(&house).await;
    for _ in 0..2 {
        let request = asked(&mut screen).await;
        answer(&house, &request, "shown", None).await;
    }
    until_state(&house, &id, "delivered").await;
    until_state(&house, &other, "delivered").await;
    house.host.stop().await;
}

#[tokio::test]
async fn what_the_end_of_the_engine_interrupts_is_shown_after_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).without_screen().build().await;
    let mut screen = attach(folder.path()).await;
    let first = send(&house).await;
    asked(&mut screen).await;
    let clock = house.clock.clone();
    // Both wait behind the one that nobody answers.
    let rest = [send(&house).await, send(&house).await];
    house.host.stop().await;

    clock.advance(FIRST_PAUSE);
    let notifier = Arc::new(Recording::default());
    let house =
        Plan::new(folder.path()).clock(&clock).notifier(Arc::clone(&notifier)).build().await;
    for id in [&first].into_iter().chain(&rest) {
        let kept = delivery(&house, id).await;
        assert!(kept["state"] != "suppressed", "nobody was there to see it: {kept}");
        notifier.shown.next_where(|shown| shown.id.as_str() == id).await;
        until_state(&house, id, "delivered").await;
    }
    house.host.stop().await;
}
