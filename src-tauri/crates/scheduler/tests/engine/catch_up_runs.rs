//! Catch-up runs of interrupted runs.

use rouse_core::{RunState, UnixMs};
use rouse_scheduler::ManualRunMode;
use serde_json::json;

use crate::stage::{HOUR, MINUTE, START, Stage, every, once};

#[tokio::test]
async fn catch_up_of_a_manual_run_keeps_the_next_slot() {
    let stage = Stage::new().await;
    let slot = START.plus_ms(2 * HOUR);
    let job = stage.add(once(slot, json!({ "deleteAfterRun": true }))).await;
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let by_hand = stage.begun.next().await.run;
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    let id = again.run.id.clone();
    assert_eq!(again.run.retry_of.as_ref(), Some(&by_hand.id));
    again.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(slot));
    stage.clock.set(slot);
    let on_time = stage.begun.next().await;
    let id = on_time.run.id.clone();
    assert_eq!(on_time.run.slot_at, Some(slot));
    on_time.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "deleted after its run");
}

#[tokio::test]
async fn catch_up_run_deletes_a_delete_after_run_job() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({ "deleteAfterRun": true }))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    stage.begun.next().await;
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    let id = again.run.id.clone();
    again.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None);
}

#[tokio::test]
async fn catch_up_run_knows_its_slot_and_lateness() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let slot = START.plus_ms(3 * HOUR);
    stage.clock.set(slot.plus_ms(MINUTE));
    let cut_off = stage.begun.next().await.run;
    assert_eq!((cut_off.slot_at, cut_off.slot_count), (Some(slot), 3));
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    let id = again.run.id.clone();
    let slots_and_lateness =
        |run: &rouse_core::Run| (run.slot_at, run.slot_count, run.late_by_ms());
    assert_eq!(slots_and_lateness(&again.run), (None, 3, Some(2 * MINUTE)));
    again.succeed();
    assert_eq!(slots_and_lateness(&stage.ended(&id).await), (None, 3, Some(2 * MINUTE)));
    let listed = stage.runs_of(&job.id).await;
    assert_eq!(slots_and_lateness(&listed[1]), (None, 3, Some(2 * MINUTE)));
}

#[tokio::test]
async fn catch_up_run_respects_the_lateness_limit() {
    let stage = Stage::with_permits(1).await;
    let hasty =
        json!({ "policies": { "misfire": { "mode": "runOnce", "maxLatenessSeconds": 600 } } });
    let job = stage.add(every(HOUR, hasty)).await;
    let other = stage.add_hook("other").await;
    stage.clock.advance(HOUR.unsigned_abs());
    stage.begun.next().await;
    stage.fire(&other).await;
    let stage = stage.killed_for(MINUTE).await;
    let first = stage.begun.next().await;
    assert_eq!(first.run.job_id.as_ref(), Some(&other.id), "the older run starts first");
    stage.pass(10 * MINUTE).await;
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    stage.ended(&stage.runs_of(&job.id).await[1].id).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted, RunState::Missed]);
    let reason = stage.runs_of(&job.id).await[1].reason.clone();
    assert!(reason.is_some_and(|reason| reason.starts_with("Later than the")));
    let started: Vec<Option<UnixMs>> =
        stage.runs_of(&job.id).await.iter().map(|run| run.started_at).collect();
    assert_eq!(started, [Some(START.plus_ms(HOUR)), None]);
}
