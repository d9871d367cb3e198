use rouse_core::{Run, RunState, RunTrigger};
use rouse_scheduler::{RunMode, SchedulerConfig};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, break_with, config, every};

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
    let anchor = START.plus_ms(300).0;
    let schedule = json!({ "kind": "every", "everyMs": MINUTE, "anchorMs": anchor });
    stage.add(every(MINUTE, json!({ "id": "second", "schedule": schedule }))).await;
    stage.settle().await;
    stage.pass(MINUTE + 700).await;
    assert_eq!(stage.handle.problem(), None);
    assert_eq!(stage.load().await, (2, 0));
}

/// Waits until the only slot of `job` is claimed, which nobody may ask the engine while it holds.
async fn claimed(stage: &Stage) {
    stage.events.next_where(|event| event.data["action"] == "started").await;
}

#[tokio::test]
async fn a_slot_is_claimed_before_its_instant_and_its_work_begins_at_it() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let slot = START.plus_ms(MINUTE);
    stage.pass(MINUTE - 11).await;
    assert_eq!(stage.runs_of(&job.id).await, []);
    stage.clock.advance(2);
    claimed(&stage).await;
    let run = stage.runs_of(&job.id).await.remove(0);
    assert_eq!((run.slot_at, run.state), (Some(slot), RunState::Running));
    assert_eq!((run.started_at, run.late_by_ms()), (Some(slot), Some(0)));
    stage.clock.advance(8);
    assert!(stage.begun.take_all().is_empty(), "not a millisecond early");
    stage.clock.advance(1);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.started_at, Some(slot));
    begun.succeed();
}

#[tokio::test]
async fn an_engine_that_dies_between_a_claim_and_its_instant_fires_the_slot_once() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "runtime": { "maxAttempts": 2 } }))).await;
    stage.clock.advance(59_995);
    claimed(&stage).await;
    let stage = stage.killed_for(1).await;
    stage.clock.advance(4);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.trigger, RunTrigger::CatchUp, "it stands for the one that was cut off");
    begun.succeed();
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty());
    let of_the_slot = |run: &Run| run.slot_at == Some(START.plus_ms(MINUTE));
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(runs.iter().filter(|run| of_the_slot(run)).count(), 1);
}

#[tokio::test]
async fn a_clock_that_is_set_within_the_lead_holds_nothing_up_and_doubles_nothing() {
    for to in [-400 * 24 * HOUR, -SECOND, SECOND, 400 * 24 * HOUR] {
        let stage = Stage::new().await;
        let job = stage.add(every(MINUTE, json!({}))).await;
        stage.clock.advance(59_995);
        claimed(&stage).await;
        stage.clock.set(START.plus_ms(MINUTE + to));
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.slot_at, Some(START.plus_ms(MINUTE)), "{to}");
        begun.succeed();
        stage.settle().await;
        stage.clock.set(START.plus_ms(MINUTE - SECOND));
        stage.settle().await;
        stage.pass(SECOND).await;
        let of_the_slot = |run: &Run| run.slot_at == Some(START.plus_ms(MINUTE));
        let runs = stage.runs_of(&job.id).await;
        assert_eq!(runs.iter().filter(|run| of_the_slot(run)).count(), 1, "{to}");
    }
}

#[tokio::test]
async fn a_run_that_ends_just_before_the_next_slot_is_not_in_its_way() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    let first = stage.begun.next().await;
    stage.pass(MINUTE - 5).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Running], "the next is not decided yet");
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    stage.clock.advance(5);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
}

#[tokio::test]
async fn a_crowd_is_claimed_as_much_earlier_as_its_claims_take_and_begins_at_its_instant() {
    let cap = SchedulerConfig { max_concurrent_runs: 50, ..config() };
    let stage = Stage::with(cap, false).await;
    for n in 0..40 {
        stage.add(every(MINUTE, json!({ "id": format!("job-{n}"), "name": format!("{n}") }))).await;
    }
    stage.settle().await;
    stage.pass(MINUTE - 13).await;
    assert_eq!(stage.load().await, (0, 0));
    stage.clock.advance(1);
    for _ in 0..40 {
        claimed(&stage).await;
    }
    stage.clock.advance(11);
    assert!(stage.begun.take_all().is_empty(), "not a millisecond early");
    stage.clock.advance(1);
    for _ in 0..40 {
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.late_by_ms(), Some(0));
        begun.succeed();
    }
}
