//! The store does not take what must be written.

use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::RunMode;
use serde_json::json;
use sqlx::SqlitePool;

use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, every};

/// A way to make writes fail, and to let them pass again.
async fn file(stage: &Stage) -> SqlitePool {
    SqlitePool::connect(&format!("sqlite:{}", stage.database().display())).await.expect("opened")
}

/// Lets writes pass again.
async fn mend(stage: &Stage, file: &SqlitePool) {
    // A write that failed holds the file until the next one; this is the next one.
    stage.store.put_setting("test", &json!(1), None, START).await.expect("written");
    execute(file, "DROP TRIGGER full").await;
}

async fn execute(file: &SqlitePool, statement: &'static str) {
    sqlx::raw_sql(statement).execute(file).await.expect("executed");
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
    execute(
        &file,
        "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
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

#[tokio::test]
async fn a_run_that_cannot_be_started_waits_in_its_lane() {
    let stage = Stage::new().await;
    let by_hand = stage.add(every(HOUR, json!({}))).await;
    let file = file(&stage).await;
    execute(
        &file,
        "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
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
    execute(
        &file,
        "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
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
    let stage = stage
        .killed_and(MINUTE, async |path| {
            let file = SqlitePool::connect(&format!("sqlite:{}", path.display())).await.expect("opened");
            execute(&file, "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END").await;
            file.close().await;
        })
        .await;
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
