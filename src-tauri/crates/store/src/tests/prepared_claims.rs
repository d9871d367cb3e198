//! Claims that wait for their instant.

use super::*;

#[tokio::test]
async fn prepared_claim_is_invisible_until_commit() {
    let fixture = Fixture::new().await;
    for id in ["a", "b"] {
        fixture.insert_job(id, Some(NOW)).await;
    }
    fixture.take_events();
    let seq = fixture.store.last_seq().await.unwrap();
    let runs = ["a", "b"].map(|id| slot_run(id, NOW));
    let next = Some(NOW.plus_ms(60_000));
    let mut prepared = fixture.store.prepare_claim(NOW).await.unwrap().expect("the writer is free");
    assert!(fixture.store.prepare_claim(NOW).await.unwrap().is_none(), "the writer is locked");
    for (id, run) in ["a", "b"].into_iter().zip(&runs) {
        assert!(prepared.add(&[claim(id, NOW, next, vec![run.clone()])]).await.unwrap());
    }
    assert_eq!(fixture.due().await.len(), 2, "not visible yet");
    assert_eq!(fixture.take_events(), []);
    prepared.commit().await.unwrap();
    assert_eq!(fixture.due().await, []);
    for run in &runs {
        assert_eq!(fixture.run(&run.id).await, *run);
    }
    let stored = fixture.store.events_after(seq, 10).await.unwrap();
    let numbers: Vec<i64> = stored.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [seq + 1, seq + 2]);
    assert_eq!(*fixture.events.lock().unwrap(), stored);
}

#[tokio::test]
async fn abandoned_prepared_claim_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let seq = fixture.store.last_seq().await.unwrap();
    for is_dropped in [false, true] {
        let mut prepared =
            fixture.store.prepare_claim(NOW).await.unwrap().expect("the writer is free");
        let claims = [claim("a", NOW, None, vec![slot_run("a", NOW)])];
        assert!(prepared.add(&claims).await.unwrap());
        if is_dropped {
            drop(prepared);
        } else {
            prepared.roll_back().await.unwrap();
        }
        assert_eq!(fixture.due().await.len(), 1);
    }
    fixture.store.put_setting("any", &json!(1), None, NOW).await.unwrap();
    let events = fixture.store.events_after(seq, 10).await.unwrap();
    assert!(events.iter().all(|event| event.kind != EventKind::Run), "{events:?}");
    assert_eq!(fixture.store.claim(&[claim("a", NOW, None, vec![])], NOW).await.unwrap().runs, []);
    assert_eq!(fixture.due().await, []);
}

#[tokio::test]
async fn prepared_claim_detects_a_moved_job() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    fixture.insert_job("moved", Some(NOW.plus_ms(5))).await;
    let mut prepared = fixture.store.prepare_claim(NOW).await.unwrap().expect("the writer is free");
    let claims = ["a", "moved"].map(|id| claim(id, NOW, None, vec![slot_run(id, NOW)]));
    assert!(!prepared.add(&claims).await.unwrap());
    prepared.roll_back().await.unwrap();
    assert_eq!(fixture.due().await.len(), 1);
}

#[tokio::test]
async fn waiting_writer_is_visible_while_it_waits() {
    let fixture = Fixture::new().await;
    let prepared = fixture.store.prepare_claim(NOW).await.unwrap().expect("the writer is free");
    assert!(!prepared.has_waiting_writer());
    let store = fixture.store.clone();
    let writer = tokio::spawn(async move { store.put_setting("any", &json!(1), None, NOW).await });
    prepared.wait_for_writer().await;
    assert!(prepared.has_waiting_writer());
    writer.abort();
    assert!(writer.await.unwrap_err().is_cancelled());
    assert!(!prepared.has_waiting_writer(), "the writer was dropped");
    prepared.roll_back().await.unwrap();
}
