//! Runs that wait for the end of other runs, and the two concurrency limits.

use rouse_core::{Job, RunId, RunState};
use rouse_scheduler::{ManualRunMode, SchedulerError};
use serde_json::json;

use crate::manual_runs::start_manual;
use crate::stage::{HOUR, MINUTE, ScriptedRun, Stage, every};

async fn jobs<const N: usize>(stage: &Stage, ids: [&str; N]) -> [Job; N] {
    let mut jobs = Vec::new();
    for id in ids {
        jobs.push(stage.add(every(HOUR, json!({ "id": id }))).await);
    }
    jobs.try_into().expect("as many jobs as ids")
}

/// Starts a manual run of `job` that the run `by` waits for.
async fn awaited(stage: &Stage, job: &Job, by: &ScriptedRun) -> Result<RunId, SchedulerError> {
    let run = stage.handle.run_awaited(&job.id, ManualRunMode::Force, &by.run.id).await;
    run.map(|run| run.expect("a run"))
}

fn assert_deadlock<T: std::fmt::Debug>(result: Result<T, SchedulerError>) {
    assert!(matches!(result, Err(SchedulerError::Deadlock { .. })), "{result:?}");
}

#[tokio::test]
async fn manual_and_scheduled_runs_have_limits_apart() {
    let stage = Stage::with_permits(1).await;
    for id in ["a", "b"] {
        stage.add(every(MINUTE, json!({ "id": id }))).await;
    }
    let [first, second] = jobs(&stage, ["first", "second"]).await;
    stage.clock.advance(60_000);
    let scheduled = stage.begun.next().await;
    let manual = start_manual(&stage, &first).await;
    let queued = stage.handle.run_now(&second.id, ManualRunMode::Force).await.expect("taken");
    assert_eq!(stage.load().await, (2, 2), "a run of each is active, a run of each is queued");
    manual.succeed();
    let next = stage.begun.next().await;
    assert_eq!(Some(&next.run.id), queued.as_ref());
    scheduled.succeed();
    assert!(stage.begun.next().await.run.slot_at.is_some());
}

#[tokio::test]
async fn awaited_manual_run_starts_within_the_limit() {
    let stage = Stage::with_permits(2).await;
    let [outer, inner, third] = jobs(&stage, ["outer", "inner", "third"]).await;
    let outer = start_manual(&stage, &outer).await;
    let inner_id = awaited(&stage, &inner, &outer).await.expect("a run");
    let inner = stage.begun.next().await;
    assert_eq!((&inner.run.id, stage.load().await), (&inner_id, (2, 0)));
    assert_deadlock(awaited(&stage, &third, &inner).await);
    assert!(stage.runs_of(&third.id).await.is_empty(), "a refused run leaves no row");
    inner.succeed();
    stage.ended(&inner_id).await;
    awaited(&stage, &third, &outer).await.expect("the permit is free again");
}

#[tokio::test]
async fn awaited_manual_run_beyond_the_limit_is_refused() {
    let stage = Stage::with_permits(1).await;
    let [outer, inner] = jobs(&stage, ["outer", "inner"]).await;
    let outer = start_manual(&stage, &outer).await;
    assert_deadlock(awaited(&stage, &inner, &outer).await);
    assert!(stage.runs_of(&inner.id).await.is_empty(), "a refused run leaves no row");
}

#[tokio::test]
async fn awaited_manual_run_queues_for_a_permit_that_will_be_free() {
    let stage = Stage::with_permits(2).await;
    let [outer, other, inner] = jobs(&stage, ["outer", "other", "inner"]).await;
    let outer = start_manual(&stage, &outer).await;
    let other = start_manual(&stage, &other).await;
    let inner_id = awaited(&stage, &inner, &outer).await.expect("a run");
    assert_eq!(stage.load().await, (2, 1));
    let [late] = jobs(&stage, ["late"]).await;
    assert_deadlock(awaited(&stage, &late, &other).await);
    other.succeed();
    assert_eq!(stage.begun.next().await.run.id, inner_id);
}

#[tokio::test]
async fn scheduled_run_awaits_a_manual_run() {
    let stage = Stage::with_permits(1).await;
    let outer = stage.add(every(MINUTE, json!({ "id": "outer" }))).await;
    let [inner] = jobs(&stage, ["inner"]).await;
    stage.clock.advance(60_000);
    let outer_run = stage.begun.next().await;
    assert_eq!(outer_run.run.job_id.as_ref(), Some(&outer.id));
    let inner_id = awaited(&stage, &inner, &outer_run).await.expect("a run");
    assert_eq!(stage.begun.next().await.run.id, inner_id);
}

#[tokio::test]
async fn queued_trial_that_needs_the_callers_permit_is_not_awaited() {
    let stage = Stage::with_permits(1).await;
    let [outer] = jobs(&stage, ["outer"]).await;
    let outer = start_manual(&stage, &outer).await;
    let trial = stage.handle.try_tool("echo", json!({})).await.expect("taken");
    assert_deadlock(stage.handle.await_run(&trial, &outer.run.id).await);
    assert_deadlock(stage.handle.await_run(&outer.run.id, &outer.run.id).await);
    let outer_id = outer.run.id.clone();
    outer.succeed();
    stage.ended(&outer_id).await;
    stage.handle.await_run(&outer_id, &trial).await.expect("an ended run is awaited at once");
}

#[tokio::test]
async fn parked_run_that_needs_the_callers_permit_is_not_awaited() {
    let stage = Stage::with_permits(1).await;
    let [outer, inner] = jobs(&stage, ["outer", "inner"]).await;
    let parked = start_manual(&stage, &inner).await;
    let parked = crate::pending_approvals::end_with_approvals(&stage, parked, &["a"]);
    stage.parked(&parked.id).await;
    let outer = start_manual(&stage, &outer).await;
    assert_deadlock(stage.handle.await_run(&parked.id, &outer.run.id).await);
    assert_eq!(stage.run(&parked.id).await.state, RunState::AwaitingApproval);
}

#[tokio::test]
async fn run_that_needs_the_callers_lane_is_not_awaited() {
    let stage = Stage::new().await;
    let [outer_job, inner_job] = jobs(&stage, ["outer", "inner"]).await;
    let outer = start_manual(&stage, &outer_job).await;
    assert_deadlock(awaited(&stage, &outer_job, &outer).await);
    assert_eq!(stage.runs_of(&outer_job.id).await.len(), 1, "a refused run leaves no row");
    awaited(&stage, &inner_job, &outer).await.expect("a run");
    let inner = stage.begun.next().await;
    assert_deadlock(awaited(&stage, &outer_job, &inner).await);
    let patch = json!({ "policies": { "overlap": "parallel", "maxConcurrent": 2 } });
    stage.handle.update_job(&outer_job.id, patch, None).await.expect("saved");
    let beside = awaited(&stage, &outer_job, &inner).await.expect("a run");
    assert_eq!(stage.begun.next().await.run.id, beside, "the lane has room for two");
}

#[tokio::test]
async fn runs_queued_behind_each_others_callers_are_not_awaited() {
    let stage = Stage::new().await;
    let [one_job, other_job] = jobs(&stage, ["one", "other"]).await;
    let first = start_manual(&stage, &one_job).await;
    let other = start_manual(&stage, &other_job).await;
    let behind = awaited(&stage, &other_job, &first).await.expect("a run behind the other");
    assert_deadlock(awaited(&stage, &one_job, &other).await);
    assert_eq!(stage.runs_of(&one_job.id).await.len(), 1, "a refused run leaves no row");
    other.succeed();
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, behind);
    begun.succeed();
    first.succeed();
}
