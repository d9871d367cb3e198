//! Batches, and transactions after a dropped call.

use std::task::{Context, Waker};

use super::*;
use crate::sql::Batch;
use crate::sql::Durability;

#[tokio::test]
async fn batch_statements_have_their_own_values_and_results() {
    let fixture = Fixture::new().await;
    let mut tx = fixture.store.begin("batch", Durability::Normal, NOW).await.unwrap();
    let mut batch = Batch::default();
    batch.add("CREATE TEMP TABLE pairs (a, b)", |values| values);
    batch.add("INSERT INTO pairs VALUES (?, ?), (?, ?)", |values| {
        values.bind("one").bind(1).bind("two").bind(2)
    });
    batch.add("UPDATE pairs SET a = $2 WHERE b = $1 OR a = $2", |values| {
        values.bind(2).bind("zwei")
    });
    batch.add("SELECT a FROM pairs WHERE b <= $1 ORDER BY b", |values| values.bind(2));
    batch.add("DELETE FROM pairs", |values| values);
    let results = tx.execute_batch(batch).await.unwrap();
    let changed: Vec<u64> = results.iter().map(|result| result.rows_affected).collect();
    assert_eq!((results.len(), changed[1], changed[2], changed[4]), (5, 2, 1, 2));
    let found = tx.decode::<String>(&results[3]).unwrap();
    assert_eq!(found, ["one", "zwei"]);
    tx.roll_back().await.unwrap();
}

#[tokio::test]
async fn failed_batch_leaves_nothing() {
    let fixture = Fixture::new().await;
    let mut tx = fixture.store.begin("batch", Durability::Normal, NOW).await.unwrap();
    let mut batch = Batch::default();
    batch.add("INSERT INTO settings (key, value) VALUES ($1, $2)", |values| {
        values.bind("a").bind("1")
    });
    batch.add("INSERT INTO nowhere VALUES (1)", |values| values);
    assert!(tx.execute_batch(batch).await.is_err());
    drop(tx);
    assert_eq!(fixture.store.setting("a").await.unwrap(), None);
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
}

async fn put(store: &Store, n: i64) {
    let mut tx = store.begin("put", Durability::Normal, NOW).await.unwrap();
    let query = sqlx::query("INSERT INTO settings (key, value) VALUES ($1, $2)");
    tx.execute(query.bind(format!("key {n}")).bind("1")).await.unwrap();
    tx.emit(EventKind::Config, json!({ "n": n }));
    tx.commit().await.unwrap();
}

/// Notifies when a future can make progress.
#[derive(Default)]
struct ProgressWaker(tokio::sync::Notify);

impl std::task::Wake for ProgressWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Polls a write so many times, then drops the write.
async fn poll_and_drop(store: &Store, n: i64, times: i64) {
    let progress = Arc::new(ProgressWaker::default());
    let waker = Waker::from(Arc::clone(&progress));
    let mut write = std::pin::pin!(put(store, n));
    for _ in 0..times {
        if write.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return;
        }
        progress.0.notified().await;
        // A round trip of another connection, during which the first connection completes.
        store.last_seq().await.unwrap();
    }
}

#[tokio::test]
async fn dropped_caller_never_separates_commit_and_report() {
    let fixture = Fixture::new().await;
    for n in 0..50 {
        poll_and_drop(&fixture.store, n, 1 + n % 10).await;
    }
    put(&fixture.store, 50).await;
    let stored = fixture.store.events_after(0, 1_000).await.unwrap();
    assert_eq!(stored, *fixture.events.lock().unwrap());
    let mut written = 0;
    for n in 0..=50 {
        written += usize::from(fixture.store.setting(&format!("key {n}")).await.unwrap().is_some());
    }
    assert_eq!(stored.len(), written);
}
