//! What one value that nobody can read does to the rest: nothing.

use rouse_core::SessionKey;
use rouse_core::message::Message;

use super::*;
use crate::{JobQuery, RunQuery, Setting, StepKind, StoreError};

#[tokio::test]
async fn a_run_that_cannot_be_read_is_left_out_and_the_pages_go_on() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let run = Run { created_at: NOW.plus_ms(n), ..manual_run() };
        fixture.store.insert_run(&run, NOW).await.unwrap();
        ids.push(run.id);
    }
    fixture.garble("UPDATE runs SET trigger = 'banana' WHERE id = ?1", ids[3].as_str()).await;
    fixture.garble("UPDATE runs SET payload = '{' WHERE id = ?1", ids[1].as_str()).await;
    let (mut found, mut query) = (Vec::new(), RunQuery { limit: 1, ..RunQuery::default() });
    loop {
        let page = fixture.store.runs(&query).await.unwrap();
        found.extend(page.runs.into_iter().map(|run| run.id));
        query.before = page.next;
        if query.before.is_none() {
            break;
        }
    }
    assert_eq!(found, [ids[4].clone(), ids[2].clone(), ids[0].clone()]);
    let queued = fixture.store.queued_runs().await.unwrap();
    let queued: Vec<_> = queued.into_iter().map(|run| run.id).collect();
    assert_eq!(queued, [ids[0].clone(), ids[2].clone(), ids[4].clone()]);
}

#[tokio::test]
async fn a_job_goes_on_and_goes_away_whatever_is_said_of_its_runs() {
    let fixture = Fixture::new().await;
    let run = fixture.queued("a").await;
    fixture.insert_job("b", Some(NOW)).await;
    fixture
        .garble("UPDATE jobs SET last_state = 'banana', next_run_at = 1 WHERE id = ?1", "a")
        .await;
    fixture.garble("UPDATE runs SET trigger = 'banana' WHERE id = ?1", run.as_str()).await;
    let page = fixture.store.jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(page.jobs.len(), 2);
    assert_eq!(fixture.job("a").await.state.last_state, None);
    assert_eq!(fixture.due().await.len(), 2);
    assert_eq!(fixture.store.planned_jobs().await.unwrap().len(), 2);
    assert!(fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn what_a_run_goes_on_by_is_read_whole_or_not_at_all() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let run = fixture.queued("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let message = Message::User { text: "Look.".to_owned() };
    store.append_messages(&session, Some(&run), &[message], NOW).await.unwrap();
    let call = super::steps::step(&run, StepKind::ToolCall, false);
    store.begin_step(&call, NOW).await.unwrap();
    assert_eq!(store.messages_of(&session, &run).await.unwrap().len(), 1);
    assert_eq!(store.whole_journal(&run).await.unwrap().len(), 1);
    fixture.garble("UPDATE messages SET message = '{' WHERE run_id = ?1", run.as_str()).await;
    fixture.garble("UPDATE run_steps SET input = '{' WHERE run_id = ?1", run.as_str()).await;
    assert!(matches!(store.messages_of(&session, &run).await, Err(StoreError::Read { .. })));
    assert!(matches!(store.whole_journal(&run).await, Err(StoreError::Read { .. })));
    assert_eq!(store.steps(&run).await.unwrap().len(), 0, "whoever only looks sees the others");
}

#[tokio::test]
async fn a_setting_that_cannot_be_read_is_none() {
    let fixture = Fixture::new().await;
    fixture.store.put_setting("pause", &json!({}), None, NOW).await.unwrap();
    fixture.garble("UPDATE settings SET value = '{' WHERE key = ?1", "pause").await;
    assert_eq!(fixture.store.setting("pause").await.unwrap(), None);
    assert_eq!(fixture.store.stored_setting("pause").await.unwrap(), Setting::Unreadable);
    assert_eq!(fixture.store.stored_setting("other").await.unwrap(), Setting::Absent);
}

#[test]
fn a_broken_row_is_told_once() {
    assert!(crate::row::is_news("a row of this test"));
    assert!(!crate::row::is_news("a row of this test"));
}
