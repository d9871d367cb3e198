//! Runs that make up for one that was cut off.

use rouse_core::{RunState, UnixMs};
use rouse_scheduler::RunMode;
use serde_json::json;

use crate::stage::{HOUR, MINUTE, START, Stage, every, once};

#[tokio::test]
async fn what_makes_up_for_a_run_by_hand_leaves_the_slot_that_is_to_come() {
    let stage = Stage::new().await;
    let slot = START.plus_ms(2 * HOUR);
    let job = stage.add(once(slot, json!({ "deleteAfterRun": true }))).await;
    stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
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
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "that was its run");
}

#[tokio::test]
async fn what_makes_up_for_a_slot_is_the_only_run_of_a_job_for_one() {
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
async fn what_makes_up_for_a_slot_says_for_which_and_how_late_it_is() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let slot = START.plus_ms(3 * HOUR);
    stage.clock.set(slot.plus_ms(MINUTE));
    let cut_off = stage.begun.next().await.run;
    assert_eq!((cut_off.slot_at, cut_off.stands_for), (Some(slot), 3));
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    let id = again.run.id.clone();
    let made_up = |run: &rouse_core::Run| (run.slot_at, run.stands_for, run.late_by_ms());
    assert_eq!(made_up(&again.run), (None, 3, Some(2 * MINUTE)));
    again.succeed();
    assert_eq!(made_up(&stage.ended(&id).await), (None, 3, Some(2 * MINUTE)));
    let listed = stage.runs_of(&job.id).await;
    assert_eq!(made_up(&listed[1]), (None, 3, Some(2 * MINUTE)));
}

#[tokio::test]
async fn what_makes_up_for_a_slot_starts_no_later_than_its_job_allows() {
    let stage = Stage::of_places(1).await;
    let hasty =
        json!({ "policies": { "misfire": { "mode": "runOnce", "maxLatenessSeconds": 600 } } });
    let job = stage.add(every(HOUR, hasty)).await;
    let other = stage.add(every(24 * HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    stage.begun.next().await;
    stage.handle.run_now(&other.id, RunMode::Force).await.expect("asked").expect("a run");
    let stage = stage.killed_for(MINUTE).await;
    let by_hand = stage.begun.next().await;
    assert_eq!(by_hand.run.job_id.as_ref(), Some(&other.id), "it goes first");
    stage.pass(10 * MINUTE).await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.ended(&stage.runs_of(&job.id).await[1].id).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted, RunState::Missed]);
    let reason = stage.runs_of(&job.id).await[1].reason.clone();
    assert!(reason.is_some_and(|reason| reason.starts_with("Later than the")));
    let started: Vec<Option<UnixMs>> =
        stage.runs_of(&job.id).await.iter().map(|run| run.started_at).collect();
    assert_eq!(started, [Some(START.plus_ms(HOUR)), None]);
}
