//! An unreadable value affects nothing else.

use rouse_core::SessionKey;
use rouse_core::message::Message;

use super::*;
use crate::{JobQuery, RunQuery, StepKind, StoreError, StoredSetting};

#[tokio::test]
async fn unreadable_run_is_skipped_across_pages() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let run = Run { created_at: NOW.plus_ms(n), ..manual_run() };
        fixture.store.insert_run(&run, NOW).await.unwrap();
        ids.push(run.id);
    }
    fixture.garble("UPDATE runs SET trigger = 'banana' WHERE id = $1", ids[3].as_str()).await;
    fixture.garble("UPDATE runs SET payload = '{' WHERE id = $1", ids[1].as_str()).await;
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
async fn job_with_unreadable_run_stays_usable() {
    let fixture = Fixture::new().await;
    let run = fixture.queued("a").await;
    fixture.insert_job("b", Some(NOW)).await;
    fixture
        .garble("UPDATE jobs SET last_state = 'banana', next_run_at = 1 WHERE id = $1", "a")
        .await;
    fixture.garble("UPDATE runs SET trigger = 'banana' WHERE id = $1", run.as_str()).await;
    let page = fixture.store.jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(page.jobs.len(), 2);
    assert_eq!(fixture.job("a").await.state.last.state, None);
    assert_eq!(fixture.due().await.len(), 2);
    assert_eq!(fixture.store.planned_jobs().await.unwrap().len(), 2);
    assert!(fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn resume_data_is_read_completely_or_fails() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let run = fixture.queued("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let message = Message::User { text: "Look.".to_owned() };
    store.append_messages(&session, Some(&run), &[message], NOW).await.unwrap();
    let call = super::steps::step(&run, StepKind::ToolCall, false);
    store.begin_step(&call, NOW).await.unwrap();
    assert_eq!(store.messages_of_run(&session, &run).await.unwrap().len(), 1);
    assert_eq!(store.complete_journal(&run).await.unwrap().len(), 1);
    fixture.garble("UPDATE messages SET message = '{' WHERE run_id = $1", run.as_str()).await;
    fixture.garble("UPDATE run_steps SET input = '{' WHERE run_id = $1", run.as_str()).await;
    assert!(matches!(store.messages_of_run(&session, &run).await, Err(StoreError::Read { .. })));
    assert!(matches!(store.complete_journal(&run).await, Err(StoreError::Read { .. })));
    assert_eq!(store.steps(&run).await.unwrap().len(), 0, "a display shows the readable steps");
}

#[tokio::test]
async fn unreadable_setting_reads_as_none() {
    let fixture = Fixture::new().await;
    fixture.store.put_setting("pause", &json!({}), None, NOW).await.unwrap();
    fixture.garble("UPDATE settings SET value = '{' WHERE key = $1", "pause").await;
    assert_eq!(fixture.store.setting("pause").await.unwrap(), None);
    assert_eq!(fixture.store.stored_setting("pause").await.unwrap(), StoredSetting::Unreadable);
    assert_eq!(fixture.store.stored_setting("other").await.unwrap(), StoredSetting::Absent);
}

#[test]
fn unreadable_row_is_reported_once() {
    assert!(crate::sql::is_first_report("a row of this test"));
    assert!(!crate::sql::is_first_report("a row of this test"));
}
