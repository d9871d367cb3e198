//! Deliveries: due, held, digested, settled.

use rouse_core::delivery::{Delivery, DeliveryState};

use super::*;

fn delivery_event(id: &str, state: &str) -> (EventKind, Value) {
    (EventKind::Delivery, json!({ "deliveryId": id, "state": state }))
}

#[tokio::test]
async fn delivery_is_due_until_settled() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.next_delivery_at().await.unwrap(), None);
    let named = NewDelivery {
        channel: Channel::Named("telegram".to_owned()),
        to: Some("me".to_owned()),
        ..delivery("d1")
    };
    fixture.store.enqueue_delivery(None, &named, NOW).await.unwrap();
    let wanted = Delivery {
        id: named.id.clone(),
        run_id: None,
        channel: named.channel.clone(),
        to: named.to.clone(),
        title: named.title.clone(),
        body: named.body.clone(),
        state: DeliveryState::Pending,
        attempts: 0,
        reason: None,
        created_at: NOW,
        next_attempt_at: Some(NOW),
        settled_at: None,
        quiet_hours: QuietPolicy::RESPECT,
        held_until: None,
        digest: None,
    };
    assert_eq!(fixture.store.due_deliveries(NOW, 5).await.unwrap(), std::slice::from_ref(&wanted));
    assert_eq!(fixture.store.due_deliveries(NOW.plus_ms(-1), 5).await.unwrap(), []);

    let later = NOW.plus_ms(2_000);
    fixture.store.postpone_delivery(&named.id, "no network", later, NOW).await.unwrap();
    assert_eq!(fixture.store.due_deliveries(NOW, 5).await.unwrap(), []);
    assert_eq!(fixture.store.next_delivery_at().await.unwrap(), Some(later));
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
        next_attempt_at: None,
        settled_at: Some(settled_at),
        ..wanted
    };
    assert_eq!(settled, wanted);
    assert_eq!(fixture.store.next_delivery_at().await.unwrap(), None);
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
    fixture.store.postpone_delivery(&id, "late", NOW, NOW).await.unwrap();
    assert_eq!(fixture.store.delivery(&id).await.unwrap(), before);
    assert_eq!(before.unwrap().reason.as_deref(), Some("gave up"));
    assert_eq!(fixture.take_events(), []);
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
    let due = fixture.store.due_deliveries(NOW.plus_ms(9), 2).await.unwrap();
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
    assert_eq!(fixture.store.due_deliveries(morning, 5).await.unwrap(), []);
    assert_eq!(fixture.store.next_delivery_at().await.unwrap(), None);

    fixture.store.close().await;
    let store = Store::open(&fixture.path(), listener(&fixture.events)).await.unwrap();
    let held = store.held_deliveries().await.unwrap();
    assert_eq!((held[0].id.clone(), held[0].held_until), (id.clone(), Some(morning)));
    assert_eq!(held[0].quiet_hours, quiet_hours);
    store.release_delivery(&id, morning).await.unwrap();
    let due = store.due_deliveries(morning, 5).await.unwrap();
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

    let query = crate::RunQuery { digest: Some(digest.id), ..crate::RunQuery::default() };
    let page = store.runs(&query).await.unwrap();
    assert_eq!((page.total, page.runs[0].id.clone()), (1, run));
}
