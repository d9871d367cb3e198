//! Lines queued for the main session.

use rouse_core::Outcome;

use super::*;
use crate::RunEnd;

#[tokio::test]
async fn system_events_keep_order_across_a_restart() {
    let fixture = Fixture::new().await;
    let first = fixture.store.queue_system_event("Tea is ready", "cron:a", &[], NOW).await.unwrap();
    let second =
        fixture.store.queue_system_event("Look up", "wake", &[], NOW.plus_ms(1)).await.unwrap();
    assert_eq!(
        fixture.take_events(),
        [
            (EventKind::Heartbeat, json!({ "queued": 1 })),
            (EventKind::Heartbeat, json!({ "queued": 2 })),
        ]
    );
    fixture.store.close().await;
    let again = Store::open(&fixture.path(), listener(&Arc::default())).await.unwrap();
    let pending = again.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|event| event.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(pending[0].text, "Tea is ready");
    assert_eq!((pending[1].source.as_str(), pending[1].queued_at), ("wake", NOW.plus_ms(1)));
}

#[tokio::test]
async fn only_user_reminders_are_trusted() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    for (slot, is_user_reminder) in [(NOW, true), (NOW.plus_ms(1), false)] {
        let run =
            Run { payload: json!({ "kind": "systemEvent", "text": "Tea" }), ..slot_run("a", slot) };
        fixture.store.insert_run(&run, slot).await.unwrap();
        let finish = RunEnd {
            system_event: Some("Tea".to_owned()),
            is_user_reminder,
            ..RunEnd::of(run.id.clone(), Outcome::succeeded("Tea"), slot)
        };
        fixture.store.finish_run(&finish).await.unwrap().unwrap();
    }
    let reminders = fixture.store.undelivered_reminders(NOW.plus_ms(1)).await.unwrap();
    assert_eq!(reminders.len(), 2, "both need a delivery without a model");
    let pending = fixture.store.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|line| line.is_tainted).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn long_queue_is_limited_but_counted_completely() {
    let fixture = Fixture::new().await;
    for number in 0..5 {
        fixture.store.queue_system_event(&format!("{number}"), "wake", &[], NOW).await.unwrap();
    }
    let oldest = fixture.store.pending_system_events(2).await.unwrap();
    let texts: Vec<&str> = oldest.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["0", "1"]);
    assert_eq!(fixture.store.count_pending_system_events().await.unwrap(), 5);
    let ids: Vec<i64> = oldest.iter().map(|line| line.id).collect();
    fixture.store.drain_system_events(&RunId::new("turn"), &ids, NOW).await.unwrap();
    assert_eq!(fixture.store.count_pending_system_events().await.unwrap(), 3);
}
