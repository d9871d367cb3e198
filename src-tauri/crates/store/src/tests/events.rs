//! Event numbers, pruning, order.

use super::*;
use crate::StoreError;
use crate::sql::Durability;
use crate::sql::MAX_EVENTS;

/// Commits `count` events in a single transaction.
async fn commit_events(store: &Store, count: i64) {
    let mut tx = store.begin("commit events", Durability::Normal, NOW).await.unwrap();
    for n in 0..count {
        tx.emit(EventKind::Config, json!({ "n": n }));
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn events_are_numbered_from_one_and_resumable() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.last_seq().await.unwrap(), 0);
    assert_eq!(fixture.store.events_after(0, 10).await.unwrap(), []);
    commit_events(&fixture.store, 3).await;
    commit_events(&fixture.store, 2).await;
    let all = fixture.store.events_after(0, 10).await.unwrap();
    assert_eq!(all, *fixture.events.lock().unwrap());
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(all[2].data, json!({ "n": 2 }));
    assert_eq!(fixture.store.events_after(3, 1).await.unwrap(), all[3..4]);
    assert_eq!(fixture.store.events_after(5, 10).await.unwrap(), []);
    assert_eq!(fixture.store.last_seq().await.unwrap(), 5);
}

#[tokio::test]
async fn pruned_or_unknown_events_return_a_gap() {
    let fixture = Fixture::new().await;
    commit_events(&fixture.store, 100).await;
    commit_events(&fixture.store, MAX_EVENTS + 200).await;
    let newest = MAX_EVENTS + 300;
    let gap = fixture.store.events_after(0, 10).await.unwrap_err();
    let StoreError::Gap { after: 0, oldest, newest: found } = gap else { panic!("{gap:?}") };
    assert_eq!(found, newest);
    assert_eq!(oldest, newest - MAX_EVENTS + 1, "the newest {MAX_EVENTS} are kept");
    assert_eq!(fixture.store.events_after(oldest - 1, 1).await.unwrap()[0].seq, oldest);
    assert!(matches!(fixture.store.events_after(oldest - 2, 1).await, Err(StoreError::Gap { .. })));
    assert!(matches!(fixture.store.events_after(newest + 1, 1).await, Err(StoreError::Gap { .. })));
    assert!(matches!(fixture.store.events_after(-1, 1).await, Err(StoreError::Gap { .. })));
}

#[tokio::test]
async fn pruning_continues_across_restarts() {
    let fixture = Fixture::new().await;
    commit_events(&fixture.store, MAX_EVENTS).await;
    let mut store = fixture.store.clone();
    for _ in 0..3 {
        store.close().await;
        store = Store::open(&fixture.path(), listener(&Arc::default())).await.unwrap();
        commit_events(&store, 80).await;
    }
    let gap = store.events_after(0, 1).await.unwrap_err();
    let StoreError::Gap { oldest, newest, .. } = gap else { panic!("{gap:?}") };
    assert_eq!(newest - oldest + 1, MAX_EVENTS);
}

#[tokio::test]
async fn event_numbers_continue_after_restart_and_rollback() {
    let fixture = Fixture::new().await;
    commit_events(&fixture.store, 2).await;
    let mut tx = fixture.store.begin("undo", Durability::Normal, NOW).await.unwrap();
    tx.emit(EventKind::Config, json!({}));
    tx.roll_back().await.unwrap();
    commit_events(&fixture.store, 1).await;
    fixture.store.close().await;
    let received = Arc::default();
    let again = Store::open(&fixture.path(), listener(&received)).await.unwrap();
    commit_events(&again, 1).await;
    assert_eq!(received.lock().unwrap()[0].seq, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_report_events_in_order() {
    let fixture = Fixture::new().await;
    let writers = (0..8).map(|_| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            for n in 0..40 {
                commit_events(&store, 1 + n % 3).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let events = fixture.events.lock().unwrap().clone();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    let wanted: Vec<i64> = (1..=i64::try_from(numbers.len()).unwrap()).collect();
    assert_eq!(numbers, wanted);
    assert_eq!(fixture.store.events_after(0, 10_000).await.unwrap(), events);
}
