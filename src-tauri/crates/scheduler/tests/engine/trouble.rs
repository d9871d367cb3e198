//! The store does not take what must be written.

use std::time::Duration;

use rouse_core::approval::ApprovalState;
use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::{COALESCE, RunMode, SchedulerConfig};
use rouse_store::Decided;
use serde_json::json;
use sqlx::SqlitePool;

use crate::asking::{asks, yes};
use crate::stage::{
    Begun, HOUR, MINUTE, SECOND, START, Stage, break_with, config, every, execute, opened,
};

/// No run takes a change.
const FULL: &str =
    "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END";

/// A way to make writes fail, and to let them pass again.
async fn file(stage: &Stage) -> SqlitePool {
    opened(&stage.database()).await
}

/// Lets writes pass again.
async fn mend(stage: &Stage, file: &SqlitePool) {
    // A write that failed holds the file until the next one; this is the next one.
    stage.store.put_setting("test", &json!(1), None, START).await.expect("written");
    execute(file, "DROP TRIGGER full").await;
}

#[tokio::test]
async fn a_claim_that_fails_is_tried_again_and_fires_once() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let file = file(&stage).await;
    execute(
        &file,
        "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    let sentence = "Runs cannot be saved. The log has the details.";
    assert_eq!(stage.handle.problem().as_deref(), Some(sentence));

    mend(&stage, &file).await;
    stage.pass(SECOND).await;
    assert_eq!(stage.load().await, (0, 0), "it keeps still for two seconds");
    stage.clock.advance(1_000);
    let begun = stage.begun.next().await;
    assert_eq!(
        (begun.run.slot_at, begun.run.late_by_ms()),
        (Some(START.plus_ms(MINUTE)), Some(2 * SECOND))
    );
    stage.settle().await;
    assert_eq!(stage.handle.problem(), None);
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_written_is_kept() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    let file = file(&stage).await;
    execute(&file, FULL).await;
    begun.succeed();
    stage.settle().await;
    stage.settle().await;
    assert!(stage.handle.problem().is_some());
    assert_eq!(stage.run(&id).await.state, RunState::Running);
    mend(&stage, &file).await;
    stage.clock.advance(2_000);
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.summary.as_deref()), (RunState::Succeeded, Some("Done.")));
}

/// What follows one end cannot be read: the lines that the turn of the main session has left.
#[tokio::test]
async fn an_end_that_cannot_be_followed_keeps_no_place_of_the_others_that_are_written_with_it() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 40, ..config() }, true).await;
    for number in 0..30 {
        stage.add(every(MINUTE, json!({ "id": format!("job-{number}") }))).await;
    }
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let mut begun = vec![stage.begun.next().await];
    stage.clock.advance(60_000);
    while begun.len() < 31 {
        begun.push(stage.begun.next().await);
    }
    let file = file(&stage).await;
    execute(&file, FULL).await;
    begun.into_iter().for_each(Begun::succeed);
    stage.settle().await;
    stage.settle().await;
    assert_eq!(stage.load().await, (31, 0), "no end is on the disk");

    mend(&stage, &file).await;
    execute(&file, "ALTER TABLE system_events RENAME TO away").await;
    stage.pass(2 * SECOND).await;
    assert_eq!(stage.load().await, (0, 0));
    assert!(stage.handle.problem().is_some());
}

#[tokio::test]
async fn a_run_that_cannot_be_started_waits_in_its_lane() {
    let stage = Stage::new().await;
    let by_hand = stage.add(every(HOUR, json!({}))).await;
    let file = file(&stage).await;
    execute(&file, FULL).await;
    stage.handle.run_now(&by_hand.id, RunMode::Force).await.expect("asked");
    assert_eq!(stage.load().await, (0, 1));
    assert_eq!(stage.states_of(&by_hand).await, [RunState::Queued]);

    // A slot that comes meanwhile begins with its claim, and leaves what waits alone.
    let job = stage.add(every(SECOND, json!({}))).await;
    stage.pass(2 * SECOND).await;
    assert_eq!(stage.begun.next().await.run.job_id, Some(job.id));
    assert_eq!(stage.load().await, (1, 1));
    mend(&stage, &file).await;
    stage.clock.advance(2_000);
    let begun =
        stage.begun.next_where(|begun| begun.run.job_id.as_ref() == Some(&by_hand.id)).await;
    begun.succeed();
}

#[tokio::test]
async fn an_attempt_that_cannot_be_written_does_not_keep_the_engine_busy() {
    let stage = Stage::new().await;
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 1_000 } });
    stage.add(every(MINUTE, runtime)).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let file = file(&stage).await;
    execute(&file, FULL).await;
    begun.end(Outcome { may_pass: true, ..Outcome::failed("no network") });
    stage.settle().await;
    // An engine whose timer is always due would never come to answer. The pause is a second and less than a quarter.
    stage.pass(SECOND + SECOND / 4).await;
    assert!(stage.handle.problem().is_some());
    mend(&stage, &file).await;
    stage.clock.advance(2_000);
    assert_eq!(stage.begun.next().await.run.attempt, 2);
}

#[tokio::test]
async fn a_full_disk_at_the_start_holds_up_what_was_left_behind_and_nothing_is_lost() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let cut_off = stage.begun.next().await.run;
    let stage = stage.killed_and(MINUTE, async |path| break_with(path, FULL).await).await;
    assert_eq!(stage.load().await, (0, 0));
    assert!(stage.handle.problem().is_some());
    assert!(stage.handle.tick(stage.clock.now()).await.is_err(), "nothing is claimed before");
    assert_eq!(stage.states_of(&job).await, [RunState::Running]);

    mend(&stage, &file(&stage).await).await;
    stage.clock.advance(2_000);
    assert_eq!(stage.begun.next().await.run.retry_of, Some(cut_off.id));
    stage.settle().await;
    assert_eq!(stage.handle.problem(), None);
    assert_eq!(stage.load().await, (1, 0));
    let states = stage.states_of(&job).await;
    assert!(states.contains(&RunState::Skipped), "the slot that came meanwhile: {states:?}");
}

#[tokio::test]
async fn a_request_that_the_store_refuses_changes_nothing() {
    let stage = Stage::new().await;
    let job = stage.job(every(MINUTE, json!({})));
    let file = file(&stage).await;
    execute(
        &file,
        "CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
    assert!(stage.handle.add_job(job).await.is_err());
    assert_eq!(stage.handle.status().await.expect("a status").next, None);
}

/// A run that waits for an answer to the question `a`.
async fn parked(stage: &Stage) -> rouse_core::Run {
    let more = json!({ "policies": { "overlap": "parallel", "maxConcurrent": 2 } });
    let job = stage.add(every(HOUR, more)).await;
    stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked");
    let run = asks(stage, stage.begun.next().await, &["a"]);
    stage.parked(&run.id).await;
    run
}

#[tokio::test]
async fn an_answer_that_is_on_the_disk_counts_also_when_its_job_cannot_be_read_then() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    let file = file(&stage).await;
    execute(&file, "ALTER TABLE jobs RENAME TO away").await;
    assert!(
        matches!(yes(&stage, "a").await, Decided::Counts { goes_on, .. } if !goes_on.is_empty())
    );
    stage.clock.advance(1_000);
    assert!(matches!(yes(&stage, "a").await, Decided::TooLate(_)));
    assert!(stage.begun.take_all().is_empty());
    execute(&file, "ALTER TABLE away RENAME TO jobs").await;
    stage.clock.advance(60_000);
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn a_question_whose_time_is_over_says_so_to_who_comes_too_late() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    stage.add(every(29 * MINUTE, json!({}))).await;
    let file = file(&stage).await;
    execute(
        &file,
        "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
    // The slot cannot be claimed, so the engine keeps still when the time for the answer ends.
    stage.pass(30 * MINUTE - SECOND).await;
    stage.pass(SECOND).await;
    let Decided::TooLate(asked) = yes(&stage, "a").await else { panic!("it counts") };
    assert!(matches!(asked.state, ApprovalState::Expired { .. }), "{:?}", asked.state);
    mend(&stage, &file).await;
    stage.clock.advance(60_000);
    assert!(stage.begun.next().await.run.job_id.is_some());
    assert!(stage.run(&run.id).await.state != RunState::AwaitingApproval);
}

#[tokio::test]
async fn what_is_answered_and_fired_by_hand_before_the_start_is_complete_begins_once() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    let job = run.job_id.clone().expect("a job");
    stage.handle.run_now(&job, RunMode::Force).await.unwrap();
    let cut_off = stage.begun.next().await.run.clone();
    // The start finds a run that was cut off and cannot write that.
    let full = "CREATE TRIGGER full BEFORE UPDATE ON runs WHEN old.state = 'running'
        BEGIN SELECT RAISE(ABORT, 'no room'); END";
    let stage = stage.killed_and(SECOND, async |path| break_with(path, full).await).await;
    let file = file(&stage).await;
    assert!(
        matches!(yes(&stage, "a").await, Decided::Counts { goes_on, .. } if !goes_on.is_empty())
    );
    let by_hand = stage.handle.run_now(&job, RunMode::Force).await.unwrap().expect("a run");
    execute(&file, "DROP TRIGGER full").await;
    stage.clock.advance(60_000);
    let mut begun = Vec::new();
    let mut ids = Vec::new();
    while !(ids.contains(&run.id) && ids.contains(&by_hand)) {
        let next = stage.begun.next().await;
        ids.push(next.run.id.clone());
        if next.run.id == cut_off.id { next.succeed() } else { begun.push(next) }
    }
    stage.settle().await;
    ids.extend(stage.begun.take_all().into_iter().map(|begun| begun.run.id.clone()));
    ids.retain(|id| *id != cut_off.id);
    ids.sort();
    let mut expected = vec![run.id, by_hand];
    expected.sort();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn a_turn_that_is_asked_for_before_the_start_is_complete_comes_after_it() {
    let stage = Stage::with(config(), true).await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    drop(stage.begun.next().await);
    let stage = stage.killed_and(SECOND, async |path| break_with(path, FULL).await).await;
    for text in ["one", "two"] {
        stage.handle.queue_wake(text).await.expect("queued");
        stage.handle.request_heartbeat("wake", COALESCE).await;
        stage.pass(SECOND / 2).await;
    }
    mend(&stage, &file(&stage).await).await;
    stage.clock.advance(60_000);
    for _ in 0..8 {
        let begun = stage.begun.next().await;
        let is_main = begun.run.job_id.is_none();
        begun.succeed();
        if is_main {
            return;
        }
    }
    panic!("the main session has no turn");
}
