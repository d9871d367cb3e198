//! The first start after a restored backup: no slot fires a second time.

use rouse_core::RunState;
use rouse_scheduler::ManualRunMode;
use rouse_store::{RestoreMark, mark_restored};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, START, Stage, every, once};

/// Restores the backup of the first minute, five and a half hours later.
async fn restored(stage: Stage) -> Stage {
    let restored = RestoreMark { backup_at: START, restored_at: START.plus_ms(5 * HOUR) };
    let ms = 5 * HOUR + 30 * MINUTE;
    stage
        .killed_and(ms, async |path| {
            mark_restored(path, restored).await.expect("marked");
        })
        .await
}

#[tokio::test]
async fn slots_since_backup_are_one_missed_row() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let stage = restored(stage).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state, runs[0].slot_count), (1, RunState::Missed, 5));
    let reason = runs[0].reason.as_deref().expect("a reason");
    assert!(reason.starts_with("Restored: the database is the backup of 5 Jan 2026"), "{reason}");
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
    assert_eq!(stage.store.restore_mark().await.expect("read"), None);
    let stage = stage.killed_for(30 * MINUTE).await;
    assert!(stage.begun.next().await.run.slot_at.is_some(), "later slots fire as usual");
}

#[tokio::test]
async fn one_shot_since_backup_is_kept_and_announced() {
    let stage = Stage::new().await;
    let shot = json!({ "deleteAfterRun": true });
    let job = stage.add(once(START.plus_ms(HOUR), shot)).await;
    let stage = restored(stage).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Missed));
    let deliveries = stage.store.deliveries_of(&runs[0].id).await.expect("read");
    assert!(deliveries[0].body.contains("to run it now"), "{:?}", deliveries[0].body);
    assert_eq!(stage.stored(&job).await.state.next_run_at, None);
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("the person may run the job");
    assert_eq!(stage.begun.next().await.run.job_id, Some(job.id));
}

#[tokio::test]
async fn active_run_in_backup_is_interrupted() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("started");
    let run = stage.begun.next().await.run.id;
    let stage = restored(stage).await;
    stage.settle().await;
    assert_eq!(stage.run(&run).await.state, RunState::Interrupted);
    assert!(stage.runs_of(&job.id).await.iter().all(|run| run.state.is_final()));
}
