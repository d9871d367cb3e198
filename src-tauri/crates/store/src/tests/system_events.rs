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
    let pending = again.pending_system_events().await.unwrap();
    assert_eq!(pending.iter().map(|event| event.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(pending[0].text, "Tea is ready");
    assert_eq!((pending[1].source.as_str(), pending[1].queued_at), ("wake", NOW.plus_ms(1)));
}

#[tokio::test]
async fn a_reminder_is_the_persons_word_and_what_an_agent_reports_is_not() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    // Both were reminders when they began to wait; the job was made an agent's before the second began.
    for (slot, model) in [(NOW, None), (NOW.plus_ms(1), Some("scripted".to_owned()))] {
        let run =
            Run { payload: json!({ "kind": "systemEvent", "text": "Tea" }), ..slot_run("a", slot) };
        fixture.store.insert_run(&run, slot).await.unwrap();
        let outcome = Outcome { model, ..Outcome::succeeded("Tea") };
        let finish = Finish {
            system_event: Some("Cron a: Tea".to_owned()),
            ..Finish::of(run.id.clone(), outcome, slot)
        };
        fixture.store.finish_run(&finish).await.unwrap().unwrap();
    }
    let pending = fixture.store.pending_system_events().await.unwrap();
    assert_eq!(pending.iter().map(|line| line.from_outside).collect::<Vec<_>>(), [false, true]);
}
