//! Failing reads and writes of the store.

use std::time::Duration;

use rouse_core::approval::ApprovalState;
use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::{COALESCE, ManualRunMode, SchedulerConfig};
use rouse_store::DecisionResult;
use serde_json::json;
use sqlx::SqlitePool;

use crate::pending_approvals::{approve, end_with_approvals};
use crate::stage::{
    HOUR, MINUTE, SECOND, START, ScriptedRun, Stage, config, every, execute, execute_closed, opened,
};

/// Makes every update of a run fail.
const FULL: &str =
    "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END";

/// A connection to make writes fail and succeed again.
async fn file(stage: &Stage) -> SqlitePool {
    opened(&stage.database()).await
}

/// Lets writes succeed again.
async fn allow_writes(stage: &Stage, file: &SqlitePool) {
    // A failed write holds the lock until the next write, which is this write.
    stage.store.put_setting("test", &json!(1), None, START).await.expect("written");
    execute(file, "DROP TRIGGER full").await;
}

#[tokio::test]
async fn failed_claim_is_retried_and_fires_once() {
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

    allow_writes(&stage, &file).await;
    stage.pass(SECOND).await;
    assert_eq!(stage.load().await, (0, 0), "no disk call for two seconds");
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
async fn unwritten_outcome_is_kept() {
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
    allow_writes(&stage, &file).await;
    stage.clock.advance(2_000);
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.summary.as_deref()), (RunState::Succeeded, Some("Done.")));
}

/// The effects of an end cannot be applied: the leftover events of the main turn are unreadable.
#[tokio::test]
async fn failed_follow_up_of_one_end_frees_all_permits() {
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
    begun.into_iter().for_each(ScriptedRun::succeed);
    stage.settle().await;
    stage.settle().await;
    assert_eq!(stage.load().await, (31, 0), "no end is on the disk");

    allow_writes(&stage, &file).await;
    execute(&file, "ALTER TABLE system_events RENAME TO away").await;
    stage.pass(2 * SECOND).await;
    assert_eq!(stage.load().await, (0, 0));
    assert!(stage.handle.problem().is_some());
}

#[tokio::test]
async fn run_that_cannot_start_stays_in_its_lane() {
    let stage = Stage::new().await;
    let by_hand = stage.add(every(HOUR, json!({}))).await;
    let file = file(&stage).await;
    execute(&file, FULL).await;
    stage.handle.run_now(&by_hand.id, ManualRunMode::Force).await.expect("taken");
    assert_eq!(stage.load().await, (0, 1));
    assert_eq!(stage.states_of(&by_hand).await, [RunState::Queued]);

    // A slot that is due meanwhile starts with the claim, and leaves queued runs alone.
    let job = stage.add(every(SECOND, json!({}))).await;
    stage.pass(2 * SECOND).await;
    assert_eq!(stage.begun.next().await.run.job_id, Some(job.id));
    assert_eq!(stage.load().await, (1, 1));
    allow_writes(&stage, &file).await;
    stage.clock.advance(2_000);
    let begun =
        stage.begun.next_where(|begun| begun.run.job_id.as_ref() == Some(&by_hand.id)).await;
    begun.succeed();
}

#[tokio::test]
async fn unwritten_attempt_causes_no_busy_loop() {
    let stage = Stage::new().await;
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 1_000 } });
    stage.add(every(MINUTE, runtime)).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let file = file(&stage).await;
    execute(&file, FULL).await;
    begun.end(Outcome { is_transient: true, ..Outcome::failed("no network") });
    stage.settle().await;
    // An engine with an always due timer would never answer. The backoff is 1 to 1.25 s.
    stage.pass(SECOND + SECOND / 4).await;
    assert!(stage.handle.problem().is_some());
    allow_writes(&stage, &file).await;
    stage.clock.advance(2_000);
    assert_eq!(stage.begun.next().await.run.attempt, 2);
}

#[tokio::test]
async fn full_disk_at_start_loses_no_run() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let cut_off = stage.begun.next().await.run;
    let stage = stage.killed_and(MINUTE, async |path| execute_closed(path, FULL).await).await;
    assert_eq!(stage.load().await, (0, 0));
    assert!(stage.handle.problem().is_some());
    assert!(stage.handle.tick(stage.clock.now()).await.is_err(), "nothing is claimed before");
    assert_eq!(stage.states_of(&job).await, [RunState::Running]);

    allow_writes(&stage, &file(&stage).await).await;
    stage.clock.advance(2_000);
    assert_eq!(stage.begun.next().await.run.retry_of, Some(cut_off.id));
    stage.settle().await;
    assert_eq!(stage.handle.problem(), None);
    assert_eq!(stage.load().await, (1, 0));
    let states = stage.states_of(&job).await;
    assert!(states.contains(&RunState::Skipped), "the slot that came meanwhile: {states:?}");
}

#[tokio::test]
async fn refused_request_changes_nothing() {
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

/// A run parked for the approval `a`.
async fn parked(stage: &Stage) -> rouse_core::Run {
    let more = json!({ "policies": { "overlap": "parallel", "maxConcurrent": 2 } });
    let job = stage.add(every(HOUR, more)).await;
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
    let run = end_with_approvals(stage, stage.begun.next().await, &["a"]);
    stage.parked(&run.id).await;
    run
}

#[tokio::test]
async fn decision_counts_when_its_job_is_unreadable() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    let file = file(&stage).await;
    execute(&file, "ALTER TABLE jobs RENAME TO away").await;
    assert!(
        matches!(approve(&stage, "a").await, DecisionResult::Counts { resumed, .. } if !resumed.is_empty())
    );
    stage.clock.advance(1_000);
    assert!(matches!(approve(&stage, "a").await, DecisionResult::TooLate(_)));
    assert!(stage.begun.take_all().is_empty());
    execute(&file, "ALTER TABLE away RENAME TO jobs").await;
    stage.clock.advance(60_000);
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn late_decision_returns_the_expiry() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    stage.add(every(29 * MINUTE, json!({}))).await;
    let file = file(&stage).await;
    execute(
        &file,
        "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    .await;
    // The slot cannot be claimed, so the engine is in a backoff when the approval expires.
    stage.pass(30 * MINUTE - SECOND).await;
    stage.pass(SECOND).await;
    let DecisionResult::TooLate(asked) = approve(&stage, "a").await else {
        panic!("the decision counts")
    };
    assert!(matches!(asked.state, ApprovalState::Expired { .. }), "{:?}", asked.state);
    allow_writes(&stage, &file).await;
    stage.clock.advance(60_000);
    assert!(stage.begun.next().await.run.job_id.is_some());
    assert!(stage.run(&run.id).await.state != RunState::AwaitingApproval);
}

#[tokio::test]
async fn runs_queued_before_recovery_start_once() {
    let stage = Stage::new().await;
    let run = parked(&stage).await;
    let job = run.job_id.clone().expect("a job");
    stage.handle.run_now(&job, ManualRunMode::Force).await.unwrap();
    let cut_off = stage.begun.next().await.run.clone();
    // Recovery finds an interrupted run and cannot write the end.
    let full = "CREATE TRIGGER full BEFORE UPDATE ON runs WHEN old.state = 'running'
        BEGIN SELECT RAISE(ABORT, 'no room'); END";
    let stage = stage.killed_and(SECOND, async |path| execute_closed(path, full).await).await;
    let file = file(&stage).await;
    assert!(
        matches!(approve(&stage, "a").await, DecisionResult::Counts { resumed, .. } if !resumed.is_empty())
    );
    let by_hand = stage.handle.run_now(&job, ManualRunMode::Force).await.unwrap().expect("a run");
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
async fn turn_requested_before_recovery_starts_afterwards() {
    let stage = Stage::with(config(), true).await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    drop(stage.begun.next().await);
    let stage = stage.killed_and(SECOND, async |path| execute_closed(path, FULL).await).await;
    for text in ["one", "two"] {
        stage.handle.queue_wake(text).await.expect("queued");
        stage.handle.request_heartbeat("wake", COALESCE).await;
        stage.pass(SECOND / 2).await;
    }
    allow_writes(&stage, &file(&stage).await).await;
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
