use rouse_core::Outcome;

use super::*;
use crate::Finish;

#[tokio::test]
async fn lines_wait_in_order_and_over_a_restart() {
    let fixture = Fixture::new().await;
    let first = fixture.store.queue_system_event("Tea is ready", "cron:a", &[], NOW).await.unwrap();
    let second =
        fixture.store.queue_system_event("Look up", "wake", &[], NOW.plus_ms(1)).await.unwrap();
    assert_eq!(
        fixture.told(),
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
async fn only_a_line_in_the_persons_words_is_theirs() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    for (slot, is_line_by_person) in [(NOW, true), (NOW.plus_ms(1), false)] {
        let run =
            Run { payload: json!({ "kind": "systemEvent", "text": "Tea" }), ..slot_run("a", slot) };
        fixture.store.insert_run(&run, slot).await.unwrap();
        let finish = Finish {
            system_event: Some("Tea".to_owned()),
            is_line_by_person,
            ..Finish::of(run.id.clone(), Outcome::succeeded("Tea"), slot)
        };
        fixture.store.finish_run(&finish).await.unwrap().unwrap();
    }
    let untold = fixture.store.untold_reminders(NOW.plus_ms(1)).await.unwrap();
    assert_eq!(untold.len(), 2, "both are told where there is no model");
    let pending = fixture.store.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|line| line.from_outside).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn a_long_queue_is_read_as_far_as_is_asked_and_counted_whole() {
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
