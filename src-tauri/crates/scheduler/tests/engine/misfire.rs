//! Slots that passed while nothing could fire: after a restart, and while the machine slept.

use rouse_core::{RunState, RunTrigger};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, START, Stage, every, once};

#[tokio::test]
async fn by_default_one_late_run_stands_for_all() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let stage = stage.killed_for(5 * HOUR + MINUTE * 30).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.stands_for), (RunTrigger::CatchUp, 5));
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(5 * HOUR)));
    assert_eq!(begun.run.late_by_ms(), Some(30 * MINUTE));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn a_one_shot_that_passed_is_made_up_for() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(MINUTE), json!({}))).await;
    let stage = stage.killed_for(HOUR).await;
    let begun = stage.begun.next().await;
    assert_eq!(
        (begun.run.trigger, begun.run.slot_at),
        (RunTrigger::CatchUp, Some(START.plus_ms(MINUTE)))
    );
    assert_eq!(stage.stored(&job).await.state.next_run_at, None);
}

#[tokio::test]
async fn with_skip_they_are_on_record_as_missed() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(every(HOUR, skip)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state, runs[0].stands_for), (1, RunState::Missed, 5));
    assert_eq!(runs[0].reason.as_deref(), Some("Passed while nothing could fire"));
    assert!(runs[0].finished_at.is_some());
    let stored = stage.stored(&job).await;
    assert_eq!(stored.state.last_state, Some(RunState::Missed));
    assert_eq!(stored.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
}

#[tokio::test]
async fn with_run_all_each_gets_its_run_one_after_the_other() {
    let stage = Stage::new().await;
    let all = json!({ "policies": { "misfire": { "mode": "runAll", "limit": 3 } } });
    let job = stage.add(every(HOUR, all)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    for hour in 3..=5 {
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.slot_at, Some(START.plus_ms(hour * HOUR)));
        assert_eq!(stage.load().await.0, 1, "one at a time");
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    let states = stage.states_of(&job).await;
    assert_eq!(
        states,
        [RunState::Missed, RunState::Succeeded, RunState::Succeeded, RunState::Succeeded]
    );
}

#[tokio::test]
async fn later_than_allowed_is_missed() {
    let stage = Stage::new().await;
    let lateness = json!({ "policies": { "misfire": { "maxLatenessSeconds": 600 } } });
    let job = stage.add(every(HOUR, lateness)).await;
    let stage = stage.killed_for(HOUR + 11 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(
        (runs[0].state, runs[0].reason.as_deref()),
        (RunState::Missed, Some("Later than the 10 min allowed"))
    );
}

#[tokio::test]
async fn a_start_some_seconds_late_is_on_time() {
    let stage = Stage::new().await;
    stage.add(every(HOUR, json!({ "policies": { "misfire": { "mode": "skip" } } }))).await;
    let stage = stage.killed_for(HOUR + 13_000).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.late_by_ms()), (RunTrigger::Schedule, Some(13_000)));
}

#[tokio::test]
async fn a_machine_that_slept_over_slots_makes_up_for_them_once() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(100 * MINUTE + 1).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.stands_for, begun.run.trigger), (100, RunTrigger::CatchUp));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(101 * MINUTE)));
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_on_record_and_stops() {
    let stage = Stage::new().await;
    let cron =
        json!({ "schedule": { "kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin" } });
    let job = stage.add(every(MINUTE, cron)).await;
    let file = sqlx::SqlitePool::connect(&format!("sqlite:{}", stage.database().display()))
        .await
        .expect("opened");
    sqlx::query("UPDATE jobs SET definition = replace(definition, 'Europe/Berlin', 'Mars/Base')")
        .execute(&file)
        .await
        .expect("changed");
    stage.pass(MINUTE).await;
    let stored = stage.store.job(&job.id).await;
    let runs = stage.runs_of(&job.id).await;
    match stored {
        // The store could read it, and the scheduler could not.
        Ok(Some(stored)) => {
            assert_eq!(stored.state.next_run_at, None);
            assert_eq!(runs.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Skipped]);
        }
        // The store could not read it and has paused the job.
        Ok(None) | Err(_) => assert_eq!(runs, []),
    }
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.handle.problem(), None, "one broken job is not everybody's problem");
}
