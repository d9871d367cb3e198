use super::*;

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
