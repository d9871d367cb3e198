use rouse_core::delivery::{Delivery, DeliveryState};

use super::*;

fn told(id: &str, state: &str) -> (EventKind, Value) {
    (EventKind::Delivery, json!({ "deliveryId": id, "state": state }))
}

#[tokio::test]
async fn a_delivery_is_due_until_it_is_settled() {
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
        fixture.told(),
        [told("d1", "pending"), told("d1", "pending"), told("d1", "delivered")]
    );
}

#[tokio::test]
async fn a_settled_delivery_never_moves_again() {
    let fixture = Fixture::new().await;
    let id = DeliveryId::new("d1");
    fixture.store.enqueue_delivery(None, &delivery("d1"), NOW).await.unwrap();
    fixture.store.settle_delivery(&id, DeliveryState::Failed, Some("gave up"), NOW).await.unwrap();
    let before = fixture.store.delivery(&id).await.unwrap();
    fixture.told();
    fixture.store.settle_delivery(&id, DeliveryState::Delivered, None, NOW).await.unwrap();
    fixture.store.postpone_delivery(&id, "late", NOW, NOW).await.unwrap();
    assert_eq!(fixture.store.delivery(&id).await.unwrap(), before);
    assert_eq!(before.unwrap().reason.as_deref(), Some("gave up"));
    assert_eq!(fixture.told(), []);
}

#[tokio::test]
async fn due_deliveries_come_earliest_first_and_belong_to_their_run() {
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
