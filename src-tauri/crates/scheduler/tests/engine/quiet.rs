//! Slots that are left out one after the other, for one reason, are one row with their number.

use rouse_core::event::EventKind;
use rouse_core::job::Job;
use rouse_core::{RunState, UnixMs};
use rouse_store::RunQuery;
use serde_json::json;

use crate::stage::{MINUTE, START, Stage, every};

/// What the rows of a job stand for, the oldest first: state, first and last minute, number of slots.
async fn rows(stage: &Stage, job: &Job) -> Vec<(RunState, i64, i64, u32)> {
    let minute = |at: UnixMs| at.since(START) / MINUTE;
    let runs = stage.runs_of(&job.id).await;
    let row = |run: &rouse_core::Run| {
        let last = run.slot_at?;
        let first = run.first_slot_at.unwrap_or(last);
        Some((run.state, minute(first), minute(last), run.stands_for))
    };
    runs.iter().filter_map(row).collect()
}

async fn minutes(stage: &Stage, count: i64) {
    for _ in 0..count {
        stage.pass(MINUTE).await;
    }
}

/// A job of every minute while everything is paused.
async fn paused() -> (Stage, Job) {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    (stage, job)
}

#[tokio::test]
async fn a_pause_of_many_slots_is_one_row() {
    let (stage, job) = paused().await;
    minutes(&stage, 5).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 5, 5)]);
    let run = &stage.runs_of(&job.id).await[0];
    let of_run = |event: &&rouse_core::event::Event| event.data["runId"] == run.id.as_str();
    let events = stage.store.events_after(0, 1_000).await.expect("read");
    let told: Vec<EventKind> = events.iter().filter(of_run).map(|event| event.kind).collect();
    assert_eq!(told.len(), 2 + 4, "the row is told, and each slot that it stands for since");
    assert_eq!((run.created_at, run.finished_at), (stage.now(), Some(stage.now())));

    stage.handle.resume().await.expect("resumed");
    minutes(&stage, 1).await;
    stage.begun.next().await.succeed();
    minutes(&stage, 1).await;
    stage.begun.next().await.succeed();
    assert_eq!(rows(&stage, &job).await.len(), 3);
}

#[tokio::test]
async fn what_overlaps_is_counted_until_something_else_comes() {
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
async fn a_row_stands_for_slots_of_one_schedule_and_one_pause() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    let patch = json!({ "name": "Another" });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
    minutes(&stage, 2).await;
    stage.handle.resume().await.expect("resumed");
    stage.handle.pause(None).await.expect("paused");
    minutes(&stage, 2).await;
    // Another end of the same pause is no other pause.
    stage.handle.pause(Some(START.plus_ms(60 * MINUTE))).await.expect("paused");
    minutes(&stage, 1).await;
    let skipped = RunState::Skipped;
    let wanted = [(skipped, 1, 2, 2), (skipped, 3, 4, 2), (skipped, 5, 7, 3)];
    assert_eq!(rows(&stage, &job).await, wanted);
}

#[tokio::test]
async fn a_run_by_hand_in_between_begins_another_row() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    stage.handle.run_now(&job.id, rouse_scheduler::RunMode::Force).await.expect("asked");
    stage.begun.next().await.succeed();
    minutes(&stage, 2).await;
    let wanted = [(RunState::Skipped, 1, 2, 2), (RunState::Skipped, 3, 4, 2)];
    assert_eq!(rows(&stage, &job).await, wanted);
}

#[tokio::test]
async fn slots_are_counted_on_after_a_restart_and_none_twice() {
    let (stage, job) = paused().await;
    minutes(&stage, 2).await;
    let stage = stage.killed_for(3 * MINUTE).await;
    stage.settle().await;
    minutes(&stage, 1).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 6, 6)]);

    // Neither what was counted nor what stands at the end of the row comes again.
    stage.clock.set(START.plus_ms(2 * MINUTE + 1));
    stage.settle().await;
    stage.handle.resume().await.expect("resumed");
    minutes(&stage, 4).await;
    assert_eq!(rows(&stage, &job).await, [(RunState::Skipped, 1, 6, 6)]);
    minutes(&stage, 1).await;
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(7 * MINUTE)));
}

#[tokio::test]
async fn a_slot_whose_row_fires_another_job_has_a_row_of_its_own() {
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
async fn slots_that_a_step_of_the_clock_jumped_over_are_counted_apart_and_come_when_it_is_set_back()
{
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
