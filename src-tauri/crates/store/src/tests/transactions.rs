//! Transactions beside readers, dropped transactions, failures and durability.

use rouse_core::Outcome;
use rouse_core::delivery::DeliveryState;

use super::*;
use crate::sql::Durability;
use crate::{Interruption, JobQuery, NewStep, RunEnd, StepKind};

#[tokio::test]
async fn reader_does_not_wait_for_a_writer() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let mut tx = fixture.store.begin("hold", Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("UPDATE jobs SET name = 'changed', enabled = 0")).await.unwrap();

    let page = fixture.store.jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(page.jobs[0].name, "Job a");
    let two = tokio::join!(fixture.store.job_counts(), fixture.store.next_due_at());
    assert_eq!(two.0.unwrap().enabled, 1);
    tx.commit().await.unwrap();
    assert_eq!(fixture.store.jobs(&JobQuery::default()).await.unwrap().jobs, []);
}

#[tokio::test]
async fn dropped_transaction_leaves_nothing() {
    let fixture = Fixture::new().await;
    let mut tx = fixture.store.begin("drop", Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("INSERT INTO settings VALUES ('a', '1')")).await.unwrap();
    tx.emit(EventKind::Config, json!({}));
    drop(tx);
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("a").await.unwrap(), None);
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
    assert_eq!(fixture.take_events(), []);
}

#[tokio::test]
async fn dropped_caller_still_reports_events() {
    let folder = tempfile::tempdir().unwrap();
    let received = Arc::default();
    let store = Store::open(&folder.path().join("rouse.db"), listener(&received)).await.unwrap();
    let mut tx = store.begin("tell", Durability::Full, NOW).await.unwrap();
    tx.emit(EventKind::Config, json!({ "n": 1 }));
    tokio::select! {
        biased;
        done = tx.commit() => panic!("the commit was not interrupted: {done:?}"),
        () = std::future::ready(()) => {}
    }
    // The next writer waits until the events are reported.
    store.put_setting("a", &json!(1), None, NOW).await.unwrap();
    assert_eq!(received.lock().unwrap().len(), 1);
    assert_eq!(store.last_seq().await.unwrap(), 1);
}

#[tokio::test]
async fn full_disk_is_reported_and_survived() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.take_events();
    pragma(&fixture.store, "PRAGMA max_page_count = 1").await;
    let big = Value::String("x".repeat(1 << 20));
    for _ in 0..3 {
        let error = fixture.store.put_setting("big", &big, None, NOW).await.unwrap_err();
        assert!(error.is_full(), "{error:?}");
        assert_eq!(error.to_string(), "cannot save a setting");
    }
    assert_eq!(fixture.store.setting("big").await.unwrap(), None);
    fixture.insert_job("still fits", None).await;

    pragma(&fixture.store, "PRAGMA max_page_count = 1000000").await;
    fixture.store.put_setting("big", &big, None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("big").await.unwrap(), Some(big));
    assert_eq!(fixture.store.last_seq().await.unwrap(), 2, "no number was lost");
}

#[tokio::test]
async fn broken_connection_is_replaced() {
    let fixture = Fixture::new().await;
    pragma(&fixture.store, "BEGIN").await;
    assert!(fixture.store.put_setting("a", &json!(1), None, NOW).await.is_err());
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
}

#[tokio::test]
async fn commit_has_the_requested_durability() {
    let fixture = Fixture::new().await;
    // Repeated, because prepared statements must not hide their effects.
    for (durability, promised) in [
        (Durability::Full, FULL),
        (Durability::Normal, NORMAL),
        (Durability::Full, FULL),
        (Durability::Normal, NORMAL),
        (Durability::Normal, NORMAL),
        (Durability::Full, FULL),
    ] {
        let mut tx = fixture.store.begin("put", durability, NOW).await.unwrap();
        tx.execute(sqlx::query("DELETE FROM settings WHERE key = 'a'")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(committed_durability(&fixture.store).await, promised, "{durability:?}");
    }
}

#[tokio::test]
async fn verbs_commit_with_their_documented_durability() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    fixture.insert_job("a", Some(NOW)).await;
    assert_eq!(committed_durability(store).await, FULL, "insert_job");
    let (first, second) = (slot_run("a", NOW), slot_run("a", NOW.plus_ms(-1)));
    let ids = [first.id.clone(), second.id.clone()];
    store.claim(&[claim("a", NOW, None, vec![first, second])], NOW).await.unwrap();
    assert_eq!(committed_durability(store).await, FULL, "claim");
    store.start_runs(&ids, NOW).await.unwrap();
    assert_eq!(committed_durability(store).await, NORMAL, "start_runs");
    let step = |repeatable| NewStep {
        gate: None,
        call_id: None,
        run_id: ids[0].clone(),
        kind: StepKind::ToolCall,
        name: "tool".to_owned(),
        repeatable,
        input: Value::Null,
    };
    store.begin_step(&step(false), NOW).await.unwrap();
    assert_eq!(committed_durability(store).await, FULL, "begin_step, unrepeatable");
    store.begin_step(&step(true), NOW).await.unwrap();
    assert_eq!(committed_durability(store).await, NORMAL, "begin_step, repeatable");

    let finish = RunEnd {
        deliveries: vec![delivery("d")],
        ..RunEnd::of(ids[0].clone(), Outcome::succeeded("Done."), NOW)
    };
    store.finish_run(&finish).await.unwrap().unwrap();
    assert_eq!(committed_durability(store).await, FULL, "finish_run");
    let sent = DeliveryState::Delivered;
    store.settle_delivery(&DeliveryId::new("d"), sent, None, NOW).await.unwrap();
    assert_eq!(committed_durability(store).await, NORMAL, "settle_delivery");
    let cut_off = Interruption {
        run_id: ids[1].clone(),
        reason: "Rouse stopped".to_owned(),
        deliveries: Vec::new(),
        reminders: Vec::new(),
        rerun: None,
        fired: Vec::new(),
        now: NOW,
    };
    store.interrupt_run(&cut_off).await.unwrap().unwrap();
    assert_eq!(committed_durability(store).await, FULL, "interrupt_run");
}

#[tokio::test]
async fn foreign_keys_are_enforced() {
    let fixture = Fixture::new().await;
    let mut tx = fixture.store.begin("try", Durability::Normal, NOW).await.unwrap();
    let orphan = "INSERT INTO messages (session, at, message) VALUES ('missing', 1, '{}')";
    assert!(tx.execute(sqlx::query(orphan)).await.is_err());
}

const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// The durability of the newest commit. SQLite reads the pragma when it compiles the statement, so the statement is
/// compiled each time.
async fn committed_durability(store: &Store) -> i64 {
    let mut writer = store.writers.acquire().await;
    let asked = sqlx::query_scalar("PRAGMA synchronous").persistent(false);
    asked.fetch_one(writer.connection()).await.unwrap()
}

/// Executes a statement on the writing connection outside of a transaction.
async fn pragma(store: &Store, sql: &'static str) {
    let tx = store.begin("reach the writer", Durability::Normal, NOW).await.unwrap();
    tx.roll_back().await.unwrap();
    let mut writer = store.writers.acquire().await;
    sqlx::raw_sql(sql).execute(writer.connection()).await.unwrap();
}
