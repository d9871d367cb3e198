use std::task::{Context, Waker};

use super::*;
use crate::walk::Walk;
use crate::write::Durability;

#[tokio::test]
async fn each_statement_of_a_walk_has_its_own_values_and_answers() {
    let fixture = Fixture::new().await;
    let mut write = fixture.store.write("walk", Durability::Normal, NOW).await.unwrap();
    let mut walk = Walk::default();
    walk.add("CREATE TEMP TABLE pairs (a, b)", |values| values);
    walk.add("INSERT INTO pairs VALUES (?, ?), (?, ?)", |values| {
        values.bind("one").bind(1).bind("two").bind(2)
    });
    walk.add("UPDATE pairs SET a = ?2 WHERE b = ?1 OR a = ?2", |values| {
        values.bind(2).bind("zwei")
    });
    walk.add("SELECT a FROM pairs WHERE b <= ?1 ORDER BY b", |values| values.bind(2));
    walk.add("DELETE FROM pairs", |values| values);
    let done = write.go(walk).await.unwrap();
    let changed: Vec<u64> = done.iter().map(|done| done.result.rows_affected()).collect();
    assert_eq!((done.len(), changed[1], changed[2], changed[4]), (5, 2, 1, 2));
    let found = write.read(&done[3], |row| crate::row::Columns::of(row).get::<String>()).unwrap();
    assert_eq!(found, ["one", "zwei"]);
    write.undo().await.unwrap();
}

#[tokio::test]
async fn a_walk_that_fails_on_its_way_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let mut write = fixture.store.write("walk", Durability::Normal, NOW).await.unwrap();
    let mut walk = Walk::default();
    walk.add("INSERT INTO settings (key, value) VALUES (?1, ?2)", |values| {
        values.bind("a").bind("1")
    });
    walk.add("INSERT INTO nowhere VALUES (1)", |values| values);
    assert!(write.go(walk).await.is_err());
    drop(write);
    assert_eq!(fixture.store.setting("a").await.unwrap(), None);
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
}

async fn put(store: &Store, n: i64) {
    let mut write = store.write("put", Durability::Normal, NOW).await.unwrap();
    let query = sqlx::query("INSERT INTO settings (key, value) VALUES (?1, ?2)");
    write.run(query.bind(format!("key {n}")).bind("1")).await.unwrap();
    write.event(EventKind::Config, json!({ "n": n }));
    write.commit().await.unwrap();
}

/// Rings when what waits could go on.
#[derive(Default)]
struct Bell(tokio::sync::Notify);

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Lets a write go on so many times, and drops it when it could go on once more.
async fn cut_off(store: &Store, n: i64, times: i64) {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut write = std::pin::pin!(put(store, n));
    for _ in 0..times {
        if write.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return;
        }
        bell.0.notified().await;
        // A walk of another connection, in which that of this one comes to its end.
        store.last_seq().await.unwrap();
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_half_way_cannot_cut_commit_and_telling_apart() {
    let fixture = Fixture::new().await;
    for n in 0..50 {
        cut_off(&fixture.store, n, 1 + n % 10).await;
    }
    put(&fixture.store, 50).await;
    let stored = fixture.store.events_after(0, 1_000).await.unwrap();
    assert_eq!(stored, *fixture.told.lock().unwrap());
    let mut written = 0;
    for n in 0..=50 {
        written += usize::from(fixture.store.setting(&format!("key {n}")).await.unwrap().is_some());
    }
    assert_eq!(stored.len(), written);
}
