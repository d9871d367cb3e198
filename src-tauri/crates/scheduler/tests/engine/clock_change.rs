//! Clock jumps.

use rouse_core::{RunState, RunTrigger};
use rouse_scheduler::ManualRunMode;
use serde_json::json;

use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, every};

#[tokio::test]
async fn rollback_fires_no_slot_twice_and_delays_no_job() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    for _ in 0..3 {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    stage.clock.set(START.plus_ms(90 * SECOND));
    stage.settle().await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(2 * MINUTE)));

    // Minutes two and three repeat and have fired. The fourth is new.
    stage.pass(30 * SECOND).await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.runs_of(&job.id).await.len(), 3);
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(4 * MINUTE)));
}

#[tokio::test]
async fn repeated_slot_takes_no_permit() {
    let stage = Stage::with_permits(1).await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    let other = stage.add(every(HOUR, json!({}))).await;
    stage.handle.run_now(&other.id, ManualRunMode::Force).await.expect("taken");
    stage.begun.next().await;
    stage.clock.set(START.plus_ms(59 * SECOND));
    stage.settle().await;
    stage.pass(SECOND).await;
    assert_eq!(stage.load().await, (1, 0));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn clock_years_ahead_does_not_silence_a_job() {
    let stage = Stage::new().await;
    let years = 4 * 365 * 24 * HOUR;
    stage.clock.set(START.plus_ms(years));
    let job = stage
        .add(every(
            HOUR,
            json!({ "schedule": { "kind": "every", "everyMs": HOUR, "anchorMs": START.0 } }),
        ))
        .await;
    assert!(job.state.next_run_at > Some(START.plus_ms(years)));
    stage.clock.set(START.plus_ms(MINUTE));
    stage.settle().await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(59 * 60_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(HOUR)));
}

#[tokio::test]
async fn jump_forward_follows_the_misfire_policy() {
    let stage = Stage::new().await;
    let once = stage.add(every(HOUR, json!({ "id": "once" }))).await;
    let skip = json!({ "id": "skip", "policies": { "misfire": { "mode": "skip" } } });
    let skips = stage.add(every(HOUR, skip)).await;
    stage.clock.set(START.plus_ms(3 * HOUR + 30 * MINUTE));
    let begun = stage.begun.next().await;
    assert_eq!(
        (begun.run.job_id.as_ref(), begun.run.trigger),
        (Some(&once.id), RunTrigger::CatchUp)
    );
    assert_eq!(begun.run.slot_count, 3);
    assert_eq!(stage.states_of(&skips).await, [RunState::Missed]);
    assert_eq!(stage.stored(&skips).await.state.next_run_at, Some(START.plus_ms(4 * HOUR)));
}

#[tokio::test]
async fn reported_clock_change_replans_slots() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
    assert_eq!(
        stage.stored(&job).await.state.next_run_at,
        Some(START.plus_ms(MINUTE)),
        "nothing to do"
    );
}
