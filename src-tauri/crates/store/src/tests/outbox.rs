//! Deliveries: due, held, digested, settled.

use rouse_core::delivery::{Delivery, DeliveryState};

use super::*;
use crate::ChannelOutcome;

fn delivery_event(id: &str, state: &str) -> (EventKind, Value) {
    (EventKind::Delivery, json!({ "deliveryId": id, "state": state }))
}

#[tokio::test]
async fn delivery_is_due_until_settled() {
    let fixture = Fixture::new().await;
    let due_at = async || fixture.store.due_channels().await.unwrap().pop().map(|(_, at)| at);
    assert_eq!(due_at().await, None);
    let phone = ChannelName::new("phone");
    let route = Route {
        to: Some("7".to_owned()),
        thread: Some("43".to_owned()),
        ..Route::of(phone.clone())
    };
    let text = Some("Two **mails**.".to_owned());
    let named = NewDelivery { kind: MessageKind::Failure, route, text, ..delivery("d1") };
    fixture.store.enqueue_delivery(None, &named, NOW).await.unwrap();
    let wanted = Delivery {
        id: named.id.clone(),
        run_id: None,
        kind: named.kind,
        approval: None,
        route: named.route.clone(),
        title: named.title.clone(),
        body: named.body.clone(),
        text: named.text.clone(),
        state: DeliveryState::Pending,
        attempts: 0,
        sent_parts: 0,
        unconfirmed: 0,
        reason: None,
        created_at: NOW,
        first_attempt_at: None,
        next_attempt_at: Some(NOW),
        settled_at: None,
        quiet_hours: QuietPolicy::RESPECT,
        held_until: None,
        digest: None,
    };
    assert_eq!(
        fixture.store.due_deliveries(&phone, NOW, 5).await.unwrap(),
        std::slice::from_ref(&wanted)
    );
    assert_eq!(fixture.store.due_deliveries(&phone, NOW.plus_ms(-1), 5).await.unwrap(), []);

    let later = NOW.plus_ms(2_000);
    fixture.store.postpone_delivery(&named.id, &until(later), NOW).await.unwrap();
    assert_eq!(fixture.store.due_deliveries(&phone, NOW, 5).await.unwrap(), []);
    assert_eq!(due_at().await, Some(later));
    let settled_at = NOW.plus_ms(3_000);
    fixture
        .store
        .settle_delivery(&named.id, DeliveryState::Delivered, None, settled_at)
        .await
        .unwrap();
    let settled = fixture.store.delivery(&named.id).await.unwrap().unwrap();
    let wanted = Delivery {
        state: DeliveryState::Delivered,
        attempts: 2,
        first_attempt_at: Some(NOW),
        next_attempt_at: None,
        settled_at: Some(settled_at),
        ..wanted
    };
    assert_eq!(settled, wanted);
    assert_eq!(due_at().await, None);
    assert_eq!(
        fixture.take_events(),
        [
            delivery_event("d1", "pending"),
            delivery_event("d1", "pending"),
            delivery_event("d1", "delivered")
        ]
    );
}

#[tokio::test]
async fn delivery_contains_no_invisible_characters() {
    let fixture = Fixture::new().await;
    let hidden = NewDelivery {
        title: "\u{202e}Mo\u{200b}rning".to_owned(),
        body: "\u{1b}It\u{2066} rains\u{2028}Take a coat\u{7f}".to_owned(),
        ..delivery("d1")
    };
    fixture.store.enqueue_delivery(None, &hidden, NOW).await.unwrap();
    let stored = fixture.store.delivery(&hidden.id).await.unwrap().unwrap();
    assert_eq!((stored.title.as_str(), stored.body.as_str()), ("Morning", "It rains\nTake a coat"));
}

#[tokio::test]
async fn settled_delivery_never_changes() {
    let fixture = Fixture::new().await;
    let id = DeliveryId::new("d1");
    fixture.store.enqueue_delivery(None, &delivery("d1"), NOW).await.unwrap();
    fixture.store.settle_delivery(&id, DeliveryState::Failed, Some("gave up"), NOW).await.unwrap();
    let before = fixture.store.delivery(&id).await.unwrap();
    fixture.take_events();
    fixture.store.settle_delivery(&id, DeliveryState::Delivered, None, NOW).await.unwrap();
    fixture.store.postpone_delivery(&id, &until(NOW), NOW).await.unwrap();
    assert_eq!(fixture.store.delivery(&id).await.unwrap(), before);
    assert_eq!(before.unwrap().reason.as_deref(), Some("gave up"));
    assert_eq!(fixture.take_events(), []);
}

#[tokio::test]
async fn channel_outcomes_are_the_newest_of_each_state() {
    let fixture = Fixture::new().await;
    let phone = ChannelName::new("phone");
    for (id, state, reason, minute) in [
        ("d1", DeliveryState::Failed, Some("old"), 1),
        ("d2", DeliveryState::Failed, Some("blocked"), 3),
        ("d3", DeliveryState::Delivered, None, 2),
        ("d4", DeliveryState::Suppressed, Some("decided"), 4),
    ] {
        let named = NewDelivery { route: Route::of(phone.clone()), ..delivery(id) };
        fixture.store.enqueue_delivery(None, &named, NOW).await.unwrap();
        let at = NOW.plus_ms(minute * 60_000);
        fixture.store.settle_delivery(&named.id, state, reason, at).await.unwrap();
    }
    let mut outcomes = fixture.store.channel_outcomes().await.unwrap();
    outcomes.sort_by_key(|outcome| outcome.at);
    let outcome = |state, reason: Option<&str>, minute: i64| ChannelOutcome {
        channel: phone.clone(),
        state,
        at: NOW.plus_ms(minute * 60_000),
        reason: reason.map(str::to_owned),
    };
    let delivered = outcome(DeliveryState::Delivered, None, 2);
    assert_eq!(outcomes, [delivered, outcome(DeliveryState::Failed, Some("blocked"), 3)]);
}

#[tokio::test]
async fn due_deliveries_are_ordered_by_attempt() {
    let fixture = Fixture::new().await;
    let run = fixture.queued("a").await;
    fixture.store.enqueue_delivery(Some(&run), &delivery("young"), NOW.plus_ms(2)).await.unwrap();
    fixture.store.enqueue_delivery(Some(&run), &delivery("old"), NOW).await.unwrap();
    fixture.store.enqueue_delivery(None, &delivery("other"), NOW.plus_ms(1)).await.unwrap();
    let ids = |deliveries: Vec<Delivery>| -> Vec<String> {
        deliveries.into_iter().map(|delivery| delivery.id.to_string()).collect()
    };
    let due = fixture
        .store
        .due_deliveries(&ChannelName::notification(), NOW.plus_ms(9), 2)
        .await
        .unwrap();
    assert_eq!(ids(due), ["old", "other"]);
    assert_eq!(ids(fixture.store.deliveries_of(&run).await.unwrap()), ["old", "young"]);
}

#[tokio::test]
async fn held_delivery_survives_a_restart() {
    let fixture = Fixture::new().await;
    let id = DeliveryId::new("d1");
    let quiet_hours: QuietPolicy =
        serde_json::from_value(json!({ "from": "22:00", "to": "07:00" })).unwrap();
    let loud = NewDelivery { quiet_hours: quiet_hours.clone(), ..delivery("d1") };
    fixture.store.enqueue_delivery(None, &loud, NOW).await.unwrap();
    fixture.take_events();
    let morning = NOW.plus_ms(9_000);
    fixture.store.hold_delivery(&id, morning, NOW).await.unwrap();
    fixture.store.hold_delivery(&id, morning, NOW).await.unwrap();
    assert_eq!(fixture.take_events(), [delivery_event("d1", "held")], "no change, no event");
    assert_eq!(
        fixture.store.due_deliveries(&ChannelName::notification(), morning, 5).await.unwrap(),
        []
    );
    assert_eq!(fixture.store.due_channels().await.unwrap(), []);

    fixture.store.close().await;
    let store = Store::open(&fixture.path(), listener(&fixture.events)).await.unwrap();
    let held = store.held_deliveries().await.unwrap();
    assert_eq!((held[0].id.clone(), held[0].held_until), (id.clone(), Some(morning)));
    assert_eq!(held[0].quiet_hours, quiet_hours);
    store.release_delivery(&id, morning).await.unwrap();
    let due = store.due_deliveries(&ChannelName::notification(), morning, 5).await.unwrap();
    assert_eq!((due[0].state, due[0].held_until), (DeliveryState::Pending, None));
    assert_eq!(store.held_deliveries().await.unwrap(), []);
}

#[tokio::test]
async fn digested_deliveries_settle_with_their_digest() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let run = fixture.queued("a").await;
    for id in ["d1", "d2", "late"] {
        store.enqueue_delivery(Some(&run), &delivery(id), NOW).await.unwrap();
    }
    let ids = [DeliveryId::new("d1"), DeliveryId::new("d2"), DeliveryId::new("late")];
    for id in &ids[..2] {
        store.hold_delivery(id, NOW.plus_ms(9), NOW).await.unwrap();
    }
    let digest = delivery("digest-1");
    store.digest_deliveries(&ids, &digest, NOW.plus_ms(9)).await.unwrap();
    assert_eq!(store.held_deliveries().await.unwrap(), [], "announced once");
    store.digest_deliveries(&ids[..2], &delivery("digest-2"), NOW.plus_ms(9)).await.unwrap();
    assert_eq!(store.delivery(&DeliveryId::new("digest-2")).await.unwrap(), None);
    store.hold_delivery(&ids[0], NOW.plus_ms(99), NOW).await.unwrap();
    assert_eq!(store.delivery(&ids[0]).await.unwrap().unwrap().held_until, Some(NOW.plus_ms(9)));

    fixture.take_events();
    let later = NOW.plus_ms(10);
    store.settle_delivery(&digest.id, DeliveryState::Delivered, None, later).await.unwrap();
    for id in &ids {
        let settled = store.delivery(id).await.unwrap().unwrap();
        assert_eq!(
            (settled.state, settled.digest.as_ref()),
            (DeliveryState::Delivered, Some(&digest.id))
        );
        assert_eq!(settled.settled_at, Some(later));
        assert_eq!(settled.reason.as_deref(), Some("Announced in a digest with others."));
    }
    assert_eq!(
        fixture.take_events().len(),
        4,
        "the digest and each of the three, held before or not"
    );

    let taken_over = Some(digest.id.of_route(1));
    let query = crate::RunQuery { digest: taken_over, ..crate::RunQuery::default() };
    let page = store.runs(&query).await.unwrap();
    assert_eq!((page.total, page.runs[0].id.clone()), (1, run));
}

#[tokio::test]
async fn crash_while_sending_leaves_an_unconfirmed_delivery() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let phone = ChannelName::new("phone");
    let message = NewDelivery { route: Route::of(phone.clone()), ..delivery("d1") };
    store.enqueue_delivery(None, &message, NOW).await.unwrap();
    assert!(store.begin_send(&message.id, NOW).await.unwrap());
    assert!(!store.begin_send(&message.id, NOW).await.unwrap(), "one sender at a time");
    store.accept_part(&message.id, 1, Some("55"), NOW).await.unwrap();
    assert_eq!(store.due_channels().await.unwrap(), [], "not due while being sent");

    let later = NOW.plus_ms(5);
    store.recover_sending(Some(&ChannelName::new("mail")), later).await.unwrap();
    assert_eq!(store.due_channels().await.unwrap(), [], "another channel");
    store.recover_sending(None, later).await.unwrap();
    let due = store.due_deliveries(&phone, later, 5).await.unwrap();
    let facts = (due[0].state, due[0].sent_parts, due[0].attempts, due[0].is_repeat());
    assert_eq!(facts, (DeliveryState::Unknown, 0, 1, true), "the whole message is repeated");

    assert!(store.begin_send(&message.id, later).await.unwrap());
    store.postpone_delivery(&message.id, &until(later), later).await.unwrap();
    let due = store.due_deliveries(&phone, later, 5).await.unwrap();
    let facts = (due[0].state, due[0].unconfirmed, due[0].attempts);
    assert_eq!(facts, (DeliveryState::Unknown, 1, 2), "a repeat that did not leave stays a repeat");
    assert!(store.begin_send(&message.id, later).await.unwrap());
    store.mark_unconfirmed(&message.id, "no answer", later, later).await.unwrap();
    assert_eq!(store.delivery(&message.id).await.unwrap().unwrap().unconfirmed, 2);
}

#[tokio::test]
async fn server_error_makes_the_next_attempt_a_repeat() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let message = NewDelivery { route: Route::of(ChannelName::new("phone")), ..delivery("d1") };
    store.enqueue_delivery(None, &message, NOW).await.unwrap();
    for _ in 0..2 {
        store.begin_send(&message.id, NOW).await.unwrap();
        store.accept_part(&message.id, 1, None, NOW).await.unwrap();
        let failed = Postponement { may_have_arrived: true, ..until(NOW) };
        store.postpone_delivery(&message.id, &failed, NOW).await.unwrap();
        let stored = store.delivery(&message.id).await.unwrap().unwrap();
        let facts = (stored.state, stored.unconfirmed, stored.sent_parts);
        assert_eq!(facts, (DeliveryState::Unknown, 1, 0));
    }
}

#[tokio::test]
async fn held_repeat_stays_a_repeat() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let phone = ChannelName::new("phone");
    let message = NewDelivery { route: Route::of(phone.clone()), ..delivery("d1") };
    store.enqueue_delivery(None, &message, NOW).await.unwrap();
    store.begin_send(&message.id, NOW).await.unwrap();
    store.mark_unconfirmed(&message.id, "no answer", NOW, NOW).await.unwrap();
    let morning = NOW.plus_ms(60_000);
    store.hold_delivery(&message.id, morning, NOW).await.unwrap();
    assert_eq!(store.due_channels().await.unwrap(), [], "not in quiet hours");
    store.release_delivery(&message.id, morning).await.unwrap();
    let due = store.due_deliveries(&phone, morning, 5).await.unwrap();
    assert_eq!((due[0].state, due[0].is_repeat()), (DeliveryState::Unknown, true));
}

#[tokio::test]
async fn busy_channel_delays_all_its_deliveries() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let (phone, mail) = (ChannelName::new("phone"), ChannelName::new("mail"));
    for (id, channel) in [("d1", &phone), ("d2", &phone), ("d3", &mail)] {
        let message = NewDelivery { route: Route::of(channel.clone()), ..delivery(id) };
        store.enqueue_delivery(None, &message, NOW).await.unwrap();
    }
    let until = NOW.plus_ms(20_000);
    store.delay_channel(&phone, until, NOW).await.unwrap();
    assert_eq!(store.due_channels().await.unwrap(), [(mail, NOW), (phone.clone(), until)]);
    assert_eq!(store.due_deliveries(&phone, until, 5).await.unwrap().len(), 2);
}

#[tokio::test]
async fn failed_delivery_hands_its_message_over_once() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let run = fixture.queued("a").await;
    let (phone, mail) = (ChannelName::new("phone"), ChannelName::new("mail"));
    let message = NewDelivery { route: Route::of(phone.clone()), ..delivery("d1") };
    store.enqueue_delivery(Some(&run), &message, NOW).await.unwrap();
    let fallback = NewDelivery {
        id: message.id.of_route(1),
        route: Route::of(mail.clone()),
        ..message.clone()
    };
    for _ in 0..2 {
        store.fail_delivery(&message.id, "revoked", Some(&fallback), NOW).await.unwrap();
    }
    let routes = store.routes_of_message(&fallback.id).await.unwrap();
    assert_eq!(routes, [(phone, None), (mail.clone(), None)]);
    assert_eq!(store.due_channels().await.unwrap(), [(mail, NOW)]);
    let taken_over = store.delivery(&fallback.id).await.unwrap().unwrap();
    assert_eq!(taken_over.run_id, Some(run));
}

#[tokio::test]
async fn due_channels_are_independent() {
    let fixture = Fixture::new().await;
    let on = |id: &str, channel: &str| NewDelivery {
        route: Route::of(ChannelName::new(channel)),
        ..delivery(id)
    };
    for (index, channel) in ["phone", "mail", "phone"].into_iter().enumerate() {
        let at = NOW.plus_ms(i64::try_from(index).unwrap());
        fixture.store.enqueue_delivery(None, &on(&index.to_string(), channel), at).await.unwrap();
    }
    let due = fixture.store.due_channels().await.unwrap();
    let expected = [("mail", NOW.plus_ms(1)), ("phone", NOW)];
    assert_eq!(due, expected.map(|(name, at)| (ChannelName::new(name), at)));
}
