use rouse_core::RunState;
use rouse_scheduler::RunMode;
use serde_json::json;

use crate::stage::{MINUTE, START, Stage, break_with, every};

async fn change_behind_its_back(stage: &Stage) {
    let change = "UPDATE jobs SET definition = replace(definition, 'Look', 'Seen')";
    break_with(&stage.database(), change).await;
}

#[tokio::test]
async fn the_next_slot_is_read_before_it_comes() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    // Nobody else writes the file of a running engine; that is how a test can tell.
    change_behind_its_back(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.job_name, "Look");
    begun.succeed();
    stage.settle().await;
}

#[tokio::test]
async fn whatever_was_written_since_is_seen() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    change_behind_its_back(&stage).await;
    stage.store.put_setting("any", &json!(1), None, stage.now()).await.expect("written");
    stage.pass(MINUTE).await;
    assert_eq!(stage.begun.next().await.run.job_name, "Seen");
}

#[tokio::test]
async fn a_run_that_began_since_is_in_the_way_of_the_slot() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked");
    let by_hand = stage.begun.next().await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Running, RunState::Skipped]);
    by_hand.succeed();
}

#[tokio::test]
async fn a_slot_that_is_met_late_or_in_a_crowd_is_read_when_it_is_met() {
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
async fn a_slot_between_the_one_that_was_read_ahead_and_now_fires_with_it() {
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
