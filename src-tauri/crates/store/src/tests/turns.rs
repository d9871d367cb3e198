//! Writers taking turns, readers beside them, and turns that end badly.

use rouse_core::Outcome;
use rouse_core::delivery::DeliveryState;

use super::*;
use crate::write::Durability;
use crate::{Finish, Interruption, JobQuery, NewStep, StepKind};

#[tokio::test]
async fn a_list_does_not_wait_for_a_write() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let mut write = fixture.store.write("hold", Durability::Full, NOW).await.unwrap();
    write.run(sqlx::query("UPDATE jobs SET name = 'changed', enabled = 0")).await.unwrap();

    let page = fixture.store.jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(page.jobs[0].name, "Job a");
    let two = tokio::join!(fixture.store.job_counts(), fixture.store.next_due_at());
    assert_eq!(two.0.unwrap().enabled, 1);
    write.commit().await.unwrap();
    assert_eq!(fixture.store.jobs(&JobQuery::default()).await.unwrap().jobs, []);
}

#[tokio::test]
async fn a_dropped_write_leaves_nothing_and_blocks_nobody() {
    let fixture = Fixture::new().await;
    let mut write = fixture.store.write("drop", Durability::Full, NOW).await.unwrap();
    write.run(sqlx::query("INSERT INTO settings VALUES ('a', '1')")).await.unwrap();
    write.event(EventKind::Config, json!({}));
    drop(write);
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("a").await.unwrap(), None);
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
    assert_eq!(fixture.told(), []);
}

#[tokio::test]
async fn a_caller_that_hangs_up_does_not_cut_the_telling_off() {
    let folder = tempfile::tempdir().unwrap();
    let told = Arc::default();
    let store = Store::open(&folder.path().join("rouse.db"), listener(&told)).await.unwrap();
    let mut write = store.write("tell", Durability::Full, NOW).await.unwrap();
    write.event(EventKind::Config, json!({ "n": 1 }));
    tokio::select! {
        biased;
        done = write.commit() => panic!("nothing was left to cut off: {done:?}"),
        () = std::future::ready(()) => {}
    }
    // The next writer gets its turn when the one before has told.
    store.put_setting("a", &json!(1), None, NOW).await.unwrap();
    assert_eq!(told.lock().unwrap().len(), 1);
    assert_eq!(store.last_seq().await.unwrap(), 1);
}

#[tokio::test]
async fn a_full_disk_is_named_and_survived() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.told();
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
async fn a_connection_that_is_out_of_step_is_replaced() {
    let fixture = Fixture::new().await;
    pragma(&fixture.store, "BEGIN").await;
    assert!(fixture.store.put_setting("a", &json!(1), None, NOW).await.is_err());
    fixture.store.put_setting("b", &json!(2), None, NOW).await.unwrap();
    assert_eq!(fixture.store.setting("b").await.unwrap(), Some(json!(2)));
}

#[tokio::test]
async fn a_commit_survives_what_its_verb_promises() {
    let fixture = Fixture::new().await;
    // The same statements again: what is kept from the first time must not stand in for what they do.
    for (durability, promised) in [
        (Durability::Full, FULL),
        (Durability::Normal, NORMAL),
        (Durability::Full, FULL),
        (Durability::Normal, NORMAL),
        (Durability::Normal, NORMAL),
        (Durability::Full, FULL),
    ] {
        let mut write = fixture.store.write("put", durability, NOW).await.unwrap();
        write.run(sqlx::query("DELETE FROM settings WHERE key = 'a'")).await.unwrap();
        write.commit().await.unwrap();
        assert_eq!(level(&fixture.store).await, promised, "{durability:?}");
    }
}

#[tokio::test]
async fn claims_and_what_a_person_was_told_survive_power_loss() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    fixture.insert_job("a", Some(NOW)).await;
    assert_eq!(level(store).await, FULL, "insert_job");
    let (first, second) = (slot_run("a", NOW), slot_run("a", NOW.plus_ms(-1)));
    let ids = [first.id.clone(), second.id.clone()];
    store.claim(&[claim("a", NOW, None, vec![first, second])], NOW).await.unwrap();
    assert_eq!(level(store).await, FULL, "claim");
    store.start_runs(&ids, NOW).await.unwrap();
    assert_eq!(level(store).await, NORMAL, "start_runs");
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
    assert_eq!(level(store).await, FULL, "begin_step of one that must not be repeated");
    store.begin_step(&step(true), NOW).await.unwrap();
    assert_eq!(level(store).await, NORMAL, "begin_step of one that may be");

    let finish = Finish {
        deliveries: vec![delivery("d")],
        ..Finish::of(ids[0].clone(), Outcome::succeeded("Done."), NOW)
    };
    store.finish_run(&finish).await.unwrap().unwrap();
    assert_eq!(level(store).await, FULL, "finish_run");
    let sent = DeliveryState::Delivered;
    store.settle_delivery(&DeliveryId::new("d"), sent, None, NOW).await.unwrap();
    assert_eq!(level(store).await, NORMAL, "settle_delivery");
    let cut_off = Interruption {
        run_id: ids[1].clone(),
        reason: "Rouse stopped".to_owned(),
        deliveries: Vec::new(),
        reminders: Vec::new(),
        run_again: None,
        fired: Vec::new(),
        now: NOW,
    };
    store.mark_interrupted(&cut_off).await.unwrap().unwrap();
    assert_eq!(level(store).await, FULL, "mark_interrupted");
}

#[tokio::test]
async fn foreign_keys_are_held() {
    let fixture = Fixture::new().await;
    let mut write = fixture.store.write("try", Durability::Normal, NOW).await.unwrap();
    let orphan = "INSERT INTO messages (session, at, message) VALUES ('nobody', 1, '{}')";
    assert!(write.run(sqlx::query(orphan)).await.is_err());
}

const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// What the newest commit survives. SQLite answers this when it compiles the statement, so it is compiled each time.
async fn level(store: &Store) -> i64 {
    let mut writer = store.turns.take().await;
    let asked = sqlx::query_scalar("PRAGMA synchronous").persistent(false);
    asked.fetch_one(writer.connection()).await.unwrap()
}

/// Runs a statement on the writing connection, outside of any transaction.
async fn pragma(store: &Store, sql: &'static str) {
    let write = store.write("reach the writer", Durability::Normal, NOW).await.unwrap();
    write.undo().await.unwrap();
    let mut writer = store.turns.take().await;
    sqlx::raw_sql(sql).execute(writer.connection()).await.unwrap();
}
