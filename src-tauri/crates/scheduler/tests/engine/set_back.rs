//! The wall clock is set back while nobody looks.

use rouse_core::time::Clock as _;
use serde_json::json;

use crate::stage::{HOUR, START, Stage, every};

const DAY: i64 = 24 * HOUR;

#[tokio::test]
async fn a_clock_that_was_far_ahead_and_is_right_again_at_the_next_start_holds_up_no_job() {
    let stage = Stage::new().await;
    let job = stage.add(every(DAY, json!({}))).await;
    stage.clock.set(START.plus_ms(400 * DAY));
    stage.begun.next().await.succeed();
    stage.settle().await;
    let planned = stage.stored(&job).await.state.next_run_at;
    assert_eq!(planned, Some(START.plus_ms(401 * DAY)));

    let clock = stage.clock.clone();
    let stage = stage.killed_and(0, async |_| clock.set(START.plus_ms(2 * HOUR))).await;
    stage.settle().await;
    assert_eq!(stage.clock.now(), START.plus_ms(2 * HOUR));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(DAY)));
    stage.pass(DAY).await;
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(DAY)));
}

#[tokio::test]
async fn a_job_made_while_the_clock_was_ahead_begins_when_the_clock_is_right_again() {
    let stage = Stage::new().await;
    stage.clock.set(START.plus_ms(400 * DAY));
    let job = stage.add(every(HOUR, json!({}))).await;
    let chosen = START.plus_ms(500 * DAY);
    let schedule = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": chosen.0 });
    let later = stage.add(every(HOUR, json!({ "id": "later", "schedule": schedule }))).await;

    let clock = stage.clock.clone();
    let stage = stage.killed_and(0, async |_| clock.set(START.plus_ms(DAY))).await;
    stage.settle().await;
    let first = START.plus_ms(DAY + HOUR);
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(first));
    assert_eq!(stage.stored(&later).await.state.next_run_at, Some(chosen), "a person chose it");
    stage.pass(HOUR).await;
    let run = stage.begun.next().await;
    assert_eq!(run.run.slot_at, Some(first));
    run.succeed();
    stage.settle().await;
    let second = Some(first.plus_ms(HOUR));
    assert_eq!(stage.stored(&job).await.state.next_run_at, second, "it goes on");
}
