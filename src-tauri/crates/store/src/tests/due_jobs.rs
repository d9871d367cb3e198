//! Due jobs in batches, with their load.

use rouse_core::job::ScheduleSpec;

use super::*;
use crate::tables::due_jobs::DUE;

#[tokio::test]
async fn due_batches_contain_every_job_once() {
    let fixture = Fixture::new().await;
    // Many jobs at the same instant, so that batches end in the middle of the instant.
    for n in 0..7 {
        fixture.insert_job(&format!("same-{n}"), Some(NOW.plus_ms(-1))).await;
    }
    fixture.insert_job("first", Some(NOW.plus_ms(-9))).await;
    fixture.insert_job("last", Some(NOW)).await;
    fixture.insert_job("later", Some(NOW.plus_ms(1))).await;
    let found: Vec<String> =
        fixture.due().await.into_iter().map(|due| due.job.id.to_string()).collect();
    let same = (0..7).map(|n| format!("same-{n}"));
    let wanted = std::iter::once("first".to_owned()).chain(same).chain(["last".to_owned()]);
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

#[tokio::test]
async fn dropped_due_batches_leave_no_state() {
    let fixture = Fixture::new().await;
    for n in 0..20 {
        fixture.insert_job(&n.to_string(), Some(NOW)).await;
    }
    let mut batches = fixture.store.due_jobs(NOW, 3);
    assert_eq!(batches.next().await.unwrap().unwrap().len(), 3);
    drop(batches);
    assert_eq!(fixture.due().await.len(), 20);
}

#[tokio::test]
async fn unreadable_due_job_is_disabled_and_skipped() {
    let fixture = Fixture::new().await;
    for n in 0..9 {
        fixture.insert_job(&n.to_string(), Some(NOW)).await;
    }
    fixture.garble("UPDATE jobs SET definition = '[7]' WHERE id = $1", "0").await;
    fixture
        .garble("UPDATE jobs SET name = CAST(x'ff' AS TEXT), definition = '{}' WHERE id = $1", "1")
        .await;
    fixture.garble("UPDATE jobs SET last_error = CAST(x'ff' AS TEXT) WHERE id = $1", "5").await;
    fixture.take_events();
    let found: Vec<String> =
        fixture.due().await.into_iter().map(|due| due.job.id.to_string()).collect();
    assert_eq!(found, ["2", "3", "4", "6", "7", "8"]);
    let events = fixture.take_events();
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events.iter().all(|(_, data)| data["action"] == "updated"), "{events:?}");
    assert_eq!(events[2].1["jobId"], "5");
    let left = fixture.due().await.len();
    assert_eq!((left, fixture.take_events().len()), (6, 0), "the jobs are no longer due");
    assert_eq!(fixture.store.next_due_at().await.unwrap(), Some(NOW));
}

#[tokio::test]
async fn due_batch_is_read_in_index_order() {
    let fixture = Fixture::new().await;
    let plan = format!("EXPLAIN QUERY PLAN {DUE}");
    let rows = sqlx::query(sqlx::AssertSqlSafe(plan)).fetch_all(&fixture.store.readers).await;
    let details = rows.unwrap().into_iter().map(|row| sqlx::Row::get::<String, _>(&row, "detail"));
    let details: Vec<String> = details.collect();
    assert!(details.iter().any(|line| line.contains("jobs_due (next_run_at>? AND next_run_at<?)")));
    assert!(details.iter().all(|line| !line.contains("B-TREE")), "{details:?}");
}

/// A manual run that was interrupted is rerun without a slot.
#[tokio::test]
async fn one_shot_load_excludes_manual_runs() {
    let fixture = Fixture::new().await;
    let mut once = job("once");
    once.schedule.spec = ScheduleSpec::At { at: NOW, tz: None };
    once.state.next_run_at = Some(NOW);
    fixture.store.insert_job(&once, NOW).await.unwrap();
    let begun = |id: &str, run: Run| Run {
        id: RunId::new(id),
        job_id: Some(JobId::new("once")),
        state: RunState::Running,
        started_at: Some(NOW.plus_ms(-5)),
        ..run
    };
    let made_up = |id: &str, of: &str| Run {
        trigger: RunTrigger::CatchUp,
        retry_of: Some(RunId::new(of)),
        ..begun(id, manual_run())
    };
    fixture.store.insert_run(&begun("hand", manual_run()), NOW).await.unwrap();
    fixture.store.insert_run(&made_up("for-hand", "hand"), NOW).await.unwrap();
    let busy = async || {
        let due = fixture.due().await;
        (due[0].queued, due[0].active, due[0].last_run_at)
    };
    assert_eq!(busy().await, (0, 0, None));
    let earlier = slot_run("once", NOW.plus_ms(-9));
    fixture.store.insert_run(&begun("slot", earlier), NOW).await.unwrap();
    fixture.store.insert_run(&made_up("for-slot", "slot"), NOW).await.unwrap();
    assert_eq!(busy().await, (0, 2, Some(NOW.plus_ms(-5))));
}
