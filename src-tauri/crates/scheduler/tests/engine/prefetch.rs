use rouse_core::RunState;
use rouse_scheduler::ManualRunMode;
use serde_json::json;

use crate::stage::{MINUTE, START, Stage, every, execute_closed};

async fn change_behind_engine(stage: &Stage) {
    let change = "UPDATE jobs SET definition = replace(definition, 'Look', 'Seen')";
    execute_closed(&stage.database(), change).await;
}

#[tokio::test]
async fn next_slot_is_prefetched() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    // No other process writes the file of a running engine; a change behind the engine's back shows what was
    // prefetched.
    change_behind_engine(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.job_name, "Look");
    begun.succeed();
    stage.settle().await;
}

#[tokio::test]
async fn commit_after_prefetch_is_seen() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    change_behind_engine(&stage).await;
    stage.store.put_setting("any", &json!(1), None, stage.now()).await.expect("written");
    stage.pass(MINUTE).await;
    assert_eq!(stage.begun.next().await.run.job_name, "Seen");
}

#[tokio::test]
async fn run_started_after_prefetch_blocks_the_slot() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
    let by_hand = stage.begun.next().await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Running, RunState::Skipped]);
    by_hand.succeed();
}

#[tokio::test]
async fn late_or_crowded_slots_are_read_when_due() {
    let stage = Stage::new().await;
    for n in 0..40 {
        stage.add(every(MINUTE, json!({ "id": format!("job-{n}"), "name": format!("{n}") }))).await;
    }
    for late in [0, 7] {
        stage.pass(MINUTE + late).await;
        for _ in 0..40 {
            stage.begun.next().await.succeed();
        }
        stage.settle().await;
    }
}

#[tokio::test]
async fn slot_between_prefetch_and_now_fires_too() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({ "id": "first" }))).await;
    let anchor = START.plus_ms(3).0;
    let schedule = json!({ "kind": "every", "everyMs": MINUTE, "anchorMs": anchor });
    stage.add(every(MINUTE, json!({ "id": "second", "schedule": schedule }))).await;
    stage.settle().await;
    stage.pass(MINUTE + 7).await;
    assert_eq!(stage.handle.problem(), None);
    assert_eq!(stage.load().await, (2, 0));
}
