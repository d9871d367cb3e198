use super::*;

#[tokio::test]
async fn what_is_prepared_is_a_fact_with_its_commit_and_told_then() {
    let fixture = Fixture::new().await;
    for id in ["a", "b"] {
        fixture.insert_job(id, Some(NOW)).await;
    }
    fixture.told();
    let seq = fixture.store.last_seq().await.unwrap();
    let runs = ["a", "b"].map(|id| slot_run(id, NOW));
    let next = Some(NOW.plus_ms(60_000));
    let mut prepared = fixture.store.prepare(NOW).await.unwrap().expect("nobody writes");
    assert!(fixture.store.prepare(NOW).await.unwrap().is_none(), "the turn is taken");
    for (id, run) in ["a", "b"].into_iter().zip(&runs) {
        assert!(prepared.add(&[claim(id, NOW, next, vec![run.clone()])]).await.unwrap());
    }
    assert_eq!(fixture.due().await.len(), 2, "nobody sees it");
    assert_eq!(fixture.told(), []);
    prepared.commit().await.unwrap();
    assert_eq!(fixture.due().await, []);
    for run in &runs {
        assert_eq!(fixture.run(&run.id).await, *run);
    }
    let stored = fixture.store.events_after(seq, 10).await.unwrap();
    let numbers: Vec<i64> = stored.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [seq + 1, seq + 2]);
    assert_eq!(*fixture.told.lock().unwrap(), stored);
}

#[tokio::test]
async fn what_is_given_up_in_any_way_leaves_everything_as_it_was() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let seq = fixture.store.last_seq().await.unwrap();
    for is_dropped in [false, true] {
        let mut prepared = fixture.store.prepare(NOW).await.unwrap().expect("nobody writes");
        let claims = [claim("a", NOW, None, vec![slot_run("a", NOW)])];
        assert!(prepared.add(&claims).await.unwrap());
        if is_dropped {
            drop(prepared);
        } else {
            prepared.undo().await.unwrap();
        }
        assert_eq!(fixture.due().await.len(), 1);
    }
    fixture.store.put_setting("any", &json!(1), None, NOW).await.unwrap();
    let told = fixture.store.events_after(seq, 10).await.unwrap();
    assert!(told.iter().all(|event| event.kind != EventKind::Run), "{told:?}");
    assert_eq!(fixture.store.claim(&[claim("a", NOW, None, vec![])], NOW).await.unwrap().runs, []);
    assert_eq!(fixture.due().await, []);
}

#[tokio::test]
async fn claims_that_are_not_as_they_were_planned_are_told_apart() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    fixture.insert_job("moved", Some(NOW.plus_ms(5))).await;
    let mut prepared = fixture.store.prepare(NOW).await.unwrap().expect("nobody writes");
    let claims = ["a", "moved"].map(|id| claim(id, NOW, None, vec![slot_run(id, NOW)]));
    assert!(!prepared.add(&claims).await.unwrap());
    prepared.undo().await.unwrap();
    assert_eq!(fixture.due().await.len(), 1);
}

#[tokio::test]
async fn who_wants_to_write_is_seen_for_as_long_as_it_waits() {
    let fixture = Fixture::new().await;
    let prepared = fixture.store.prepare(NOW).await.unwrap().expect("nobody writes");
    assert!(!prepared.is_wanted());
    let store = fixture.store.clone();
    let writer = tokio::spawn(async move { store.put_setting("any", &json!(1), None, NOW).await });
    prepared.wanted().await;
    assert!(prepared.is_wanted());
    writer.abort();
    assert!(writer.await.unwrap_err().is_cancelled());
    assert!(!prepared.is_wanted(), "it went away");
    prepared.undo().await.unwrap();
}
