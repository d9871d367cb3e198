use super::*;
use crate::StoreError;
use crate::events::KEPT;
use crate::write::Durability;

/// Commits `count` events in one write.
async fn tell(store: &Store, count: i64) {
    let mut write = store.write("tell", Durability::Normal, NOW).await.unwrap();
    for n in 0..count {
        write.event(EventKind::Config, json!({ "n": n }));
    }
    write.commit().await.unwrap();
}

#[tokio::test]
async fn events_are_numbered_from_one_and_resumable() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.last_seq().await.unwrap(), 0);
    assert_eq!(fixture.store.events_after(0, 10).await.unwrap(), []);
    tell(&fixture.store, 3).await;
    tell(&fixture.store, 2).await;
    let all = fixture.store.events_after(0, 10).await.unwrap();
    assert_eq!(all, *fixture.told.lock().unwrap());
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(all[2].data, json!({ "n": 2 }));
    assert_eq!(fixture.store.events_after(3, 1).await.unwrap(), all[3..4]);
    assert_eq!(fixture.store.events_after(5, 10).await.unwrap(), []);
    assert_eq!(fixture.store.last_seq().await.unwrap(), 5);
}

#[tokio::test]
async fn who_asks_for_pruned_or_unknown_events_is_told_of_the_gap() {
    let fixture = Fixture::new().await;
    tell(&fixture.store, 100).await;
    tell(&fixture.store, KEPT + 200).await;
    let newest = KEPT + 300;
    let gap = fixture.store.events_after(0, 10).await.unwrap_err();
    let StoreError::Gap { after: 0, oldest, newest: found } = gap else { panic!("{gap:?}") };
    assert_eq!(found, newest);
    assert_eq!(oldest, newest - KEPT + 1, "the newest {KEPT} are kept");
    assert_eq!(fixture.store.events_after(oldest - 1, 1).await.unwrap()[0].seq, oldest);
    assert!(matches!(fixture.store.events_after(oldest - 2, 1).await, Err(StoreError::Gap { .. })));
    assert!(matches!(fixture.store.events_after(newest + 1, 1).await, Err(StoreError::Gap { .. })));
    assert!(matches!(fixture.store.events_after(-1, 1).await, Err(StoreError::Gap { .. })));
}

#[tokio::test]
async fn many_short_lives_keep_no_more_than_one_long_one() {
    let fixture = Fixture::new().await;
    tell(&fixture.store, KEPT).await;
    let mut store = fixture.store.clone();
    for _ in 0..3 {
        store.close().await;
        store = Store::open(&fixture.path(), listener(&Arc::default())).await.unwrap();
        tell(&store, 80).await;
    }
    let gap = store.events_after(0, 1).await.unwrap_err();
    let StoreError::Gap { oldest, newest, .. } = gap else { panic!("{gap:?}") };
    assert_eq!(newest - oldest + 1, KEPT);
}

#[tokio::test]
async fn numbers_go_on_after_a_restart_and_after_an_undone_write() {
    let fixture = Fixture::new().await;
    tell(&fixture.store, 2).await;
    let mut write = fixture.store.write("undo", Durability::Normal, NOW).await.unwrap();
    write.event(EventKind::Config, json!({}));
    write.undo().await.unwrap();
    tell(&fixture.store, 1).await;
    fixture.store.close().await;
    let told = Arc::default();
    let again = Store::open(&fixture.path(), listener(&told)).await.unwrap();
    tell(&again, 1).await;
    assert_eq!(told.lock().unwrap()[0].seq, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_tell_in_the_order_of_the_numbers() {
    let fixture = Fixture::new().await;
    let writers = (0..8).map(|_| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            for n in 0..40 {
                tell(&store, 1 + n % 3).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let told = fixture.told.lock().unwrap().clone();
    let numbers: Vec<i64> = told.iter().map(|event| event.seq).collect();
    let wanted: Vec<i64> = (1..=i64::try_from(numbers.len()).unwrap()).collect();
    assert_eq!(numbers, wanted);
    assert_eq!(fixture.store.events_after(0, 10_000).await.unwrap(), told);
}
