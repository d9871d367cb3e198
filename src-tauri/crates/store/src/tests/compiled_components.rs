//! Hashes of compiled components.

use super::*;

async fn record(store: &Store, number: i64, now: UnixMs) {
    let (key, hash) = (format!("key-{number}"), format!("hash-{number}"));
    store.record_compiled_hash(&key, &hash, now).await.unwrap();
}

async fn hash(store: &Store, key: &str) -> Option<String> {
    store.compiled_hash(key).await.unwrap()
}

#[tokio::test]
async fn compiled_hash_returns_the_last_recorded() {
    let fixture = Fixture::new().await;
    assert_eq!(hash(&fixture.store, "key-1").await, None);
    record(&fixture.store, 1, NOW).await;
    record(&fixture.store, 2, NOW).await;
    fixture.store.record_compiled_hash("key-1", "new", NOW.plus_ms(1)).await.unwrap();
    assert_eq!(hash(&fixture.store, "key-1").await.as_deref(), Some("new"));
    assert_eq!(hash(&fixture.store, "key-2").await.as_deref(), Some("hash-2"));
    assert_eq!(fixture.take_events(), [], "a cache emits no events");
}

#[tokio::test]
async fn compiled_hash_survives_a_restart() {
    let fixture = Fixture::new().await;
    record(&fixture.store, 1, NOW).await;
    fixture.store.close().await;
    let store = Store::open(&fixture.path(), listener(&Arc::default())).await.unwrap();
    assert_eq!(hash(&store, "key-1").await.as_deref(), Some("hash-1"));
}

#[tokio::test]
async fn only_newest_compiled_hashes_are_kept() {
    let fixture = Fixture::new().await;
    for number in 0..100 {
        record(&fixture.store, number, NOW.plus_ms(number)).await;
    }
    // A renewed row is no longer the oldest.
    record(&fixture.store, 0, NOW.plus_ms(200)).await;
    record(&fixture.store, 100, NOW.plus_ms(201)).await;
    record(&fixture.store, 101, NOW.plus_ms(202)).await;
    for (number, is_kept) in [(0, true), (1, false), (2, false), (3, true), (101, true)] {
        let found = hash(&fixture.store, &format!("key-{number}")).await;
        assert_eq!(found.is_some(), is_kept, "{number}");
    }
    let query = sqlx::query_scalar("SELECT count(*) FROM compiled_components");
    let count: i64 = query.fetch_one(&fixture.store.readers).await.unwrap();
    assert_eq!(count, 100);
}

#[tokio::test]
async fn clock_rollback_keeps_new_compiled_hashes() {
    let fixture = Fixture::new().await;
    for number in 0..100 {
        record(&fixture.store, number, NOW.plus_ms(1_000_000 + number)).await;
    }
    for number in 200..210 {
        record(&fixture.store, number, NOW.plus_ms(number)).await;
    }
    for number in 200..210 {
        assert!(hash(&fixture.store, &format!("key-{number}")).await.is_some(), "{number}");
    }
}
