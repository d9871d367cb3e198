//! Consecutive slots skipped for the same reason share a row with the count.

use rouse_core::event::EventKind;
use rouse_core::job::Job;
use rouse_core::{RunState, UnixMs};
use rouse_store::RunQuery;
use serde_json::json;

use crate::stage::{MINUTE, START, Stage, every};

/// The rows of a job, the oldest first: state, first and last minute, number of slots.
async fn rows(stage: &Stage, job: &Job) -> Vec<(RunState, i64, i64, u32)> {
    let minute = |at: UnixMs| at.since(START) / MINUTE;
    let runs = stage.runs_of(&job.id).await;
    let row = |run: &rouse_core::Run| {
        let last = run.slot_at?;
        let first = run.first_slot_at.unwrap_or(last);
        Some((run.state, minute(first), minute(last), run.slot_count))
    };
    runs.iter().filter_map(row).collect()
}

async fn minutes(stage: &Stage, count: i64) {
    for _ in 0..count {
        stage.pass(MINUTE).await;
    }
}

/// A minutely job in a pause.
async fn paused() -> (Stage, Job) {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    (stage, job)
}

#[tokio::test]
async fn paused_slots_share_one_row() {
    let (stage, job) = paused().await;
    minutes(&stage, 5).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 5, 5)]);
    let run = &stage.runs_of(&job.id).await[0];
    let of_run = |event: &&rouse_core::event::Event| event.data["runId"] == run.id.as_str();
    let events = stage.store.events_after(0, 1_000).await.expect("read");
    let kinds: Vec<EventKind> = events.iter().filter(of_run).map(|event| event.kind).collect();
    assert_eq!(kinds.len(), 2 + 4, "an event for the row, and for each counted slot since");
    assert_eq!((run.created_at, run.finished_at), (stage.now(), Some(stage.now())));

    stage.handle.resume().await.expect("resumed");
    minutes(&stage, 1).await;
    stage.begun.next().await.succeed();
    minutes(&stage, 1).await;
    stage.begun.next().await.succeed();
    assert_eq!(rows(&stage, &job).await.len(), 3);
}

#[tokio::test]
async fn overlapping_slots_share_one_row() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    minutes(&stage, 4).await;
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    minutes(&stage, 3).await;
    let (running, skipped, succeeded) = (RunState::Running, RunState::Skipped, RunState::Succeeded);
    let wanted = [(succeeded, 1, 1, 1), (skipped, 2, 4, 3), (running, 5, 5, 1), (skipped, 6, 7, 2)];
    assert_eq!(rows(&stage, &job).await, wanted);
}

#[tokio::test]
async fn shared_row_ends_with_revision_or_pause() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    let patch = json!({ "name": "Another" });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
    minutes(&stage, 2).await;
    stage.handle.resume().await.expect("resumed");
    stage.handle.pause(None).await.expect("paused");
    minutes(&stage, 2).await;
    // A new end of a pause is the same pause.
    stage.handle.pause(Some(START.plus_ms(60 * MINUTE))).await.expect("paused");
    minutes(&stage, 1).await;
    let skipped = RunState::Skipped;
    let wanted = [(skipped, 1, 2, 2), (skipped, 3, 4, 2), (skipped, 5, 7, 3)];
    assert_eq!(rows(&stage, &job).await, wanted);
}

#[tokio::test]
async fn manual_run_between_skips_begins_another_row() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    stage.handle.run_now(&job.id, rouse_scheduler::ManualRunMode::Force).await.expect("taken");
    stage.begun.next().await.succeed();
    minutes(&stage, 2).await;
    let wanted = [(RunState::Skipped, 1, 2, 2), (RunState::Skipped, 3, 4, 2)];
    assert_eq!(rows(&stage, &job).await, wanted);
}

#[tokio::test]
async fn shared_row_continues_after_a_restart() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    let stage = stage.killed_for(3 * MINUTE).await;
    stage.settle().await;
    minutes(&stage, 1).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 6, 6)]);

    // No slot of the row repeats.
    stage.clock.set(START.plus_ms(2 * MINUTE + 1));
    stage.settle().await;
    stage.handle.resume().await.expect("resumed");
    minutes(&stage, 4).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 6, 6)]);
    minutes(&stage, 1).await;
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(7 * MINUTE)));
}

#[tokio::test]
async fn skipped_slot_that_fires_a_job_has_its_own_row() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let filters = json!({ "status": "skipped" });
    let schedule = json!({ "kind": "event", "source": "job", "filters": filters });
    let listener =
        stage.add(every(MINUTE, json!({ "id": "listener", "schedule": schedule }))).await;
    minutes(&stage, 4).await;
    assert_eq!(rows(&stage, &job).await.len(), 4, "the run and three that were left out");
    let query = RunQuery { job_id: Some(listener.id), ..RunQuery::default() };
    assert_eq!(stage.store.runs(&query).await.expect("read").total, 3);
}

#[tokio::test]
async fn slots_skipped_by_a_clock_jump_share_a_row_apart() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    let year = 365 * 24 * 60;
    stage.clock.set(START.plus_ms(year * MINUTE));
    stage.settle().await;
    minutes(&stage, 1).await;
    let skipped = RunState::Skipped;
    let slots = u32::try_from(year - 1).expect("few");
    let wanted = [(skipped, 1, 2, 2), (skipped, 3, year + 1, slots)];
    assert_eq!(rows(&stage, &job).await, wanted);

    stage.clock.set(START.plus_ms(2 * MINUTE + 1));
    stage.settle().await;
    stage.handle.resume().await.expect("resumed");
    minutes(&stage, 1).await;
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(3 * MINUTE)));
}
