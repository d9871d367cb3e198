//! Manual runs and retries by hand.

use rouse_core::{Job, JobId, Outcome, RunId, RunState, RunTrigger};
use rouse_scheduler::{ManualRunMode, SchedulerError};
use rouse_store::StoreError;
use serde_json::{Value, json};

use crate::pending_approvals::{approve, end_with_approvals};
use crate::stage::{HOUR, MINUTE, START, ScriptedRun, Stage, every, once};

#[tokio::test]
async fn manual_run_does_not_move_the_schedule() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.pass(20 * MINUTE).await;
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(
        (&begun.run.id, begun.run.trigger, begun.run.slot_at),
        (&id, RunTrigger::Manual, None)
    );
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(40 * 60_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(HOUR)));
}

#[tokio::test]
async fn manual_run_keeps_the_slot_of_a_one_shot() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(HOUR), json!({ "deleteAfterRun": true }))).await;
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(HOUR.unsigned_abs());
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "deleted after its run");
}

/// A one-shot in an hour with `deleteAfterRun`, and a manual run, started a minute before the slot.
async fn one_shot_with_manual_run(policies: Value) -> (Stage, Job, ScriptedRun) {
    let stage = Stage::new().await;
    let more = json!({ "deleteAfterRun": true, "policies": policies });
    let job = stage.add(once(START.plus_ms(HOUR), more)).await;
    stage.pass(HOUR - MINUTE).await;
    let by_hand = start_manual(&stage, &job).await;
    (stage, job, by_hand)
}

/// The run for the slot succeeds and deletes the job.
async fn run_slot_and_delete(stage: &Stage, job: &Job, begun: ScriptedRun) {
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(HOUR)));
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "deleted after its run");
}

#[tokio::test]
async fn active_manual_run_keeps_a_one_shot_slot_by_overlap() {
    for overlap in ["skip", "queue", "cancelOther"] {
        let (stage, job, by_hand) = one_shot_with_manual_run(json!({ "overlap": overlap })).await;
        let id = by_hand.run.id.clone();
        stage.pass(MINUTE).await;
        assert_eq!(stage.states_of(&job).await, [RunState::Running, RunState::Queued], "{overlap}");
        assert!(!by_hand.cancel.is_cancelled(), "{overlap}");
        by_hand.succeed();
        stage.ended(&id).await;
        stage.settle().await;
        assert!(
            stage.store.job(&job.id).await.expect("read").is_some(),
            "{overlap}: the slot is open"
        );
        run_slot_and_delete(&stage, &job, stage.begun.next().await).await;
    }
}

#[tokio::test]
async fn manual_run_starts_no_cooldown_of_a_one_shot() {
    let (stage, job, by_hand) = one_shot_with_manual_run(json!({ "cooldownSeconds": 300 })).await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.pass(MINUTE).await;
    stage.settle().await;
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded, RunState::Running]);
    run_slot_and_delete(&stage, &job, stage.begun.next().await).await;
}

/// The run for the slot decides as long as it is open, parked as well.
#[tokio::test]
async fn manual_run_does_not_delete_a_one_shot_with_open_slot() {
    let (stage, job, by_hand) = one_shot_with_manual_run(json!({ "overlap": "parallel" })).await;
    stage.pass(MINUTE).await;
    let run = end_with_approvals(&stage, stage.begun.next().await, &["a"]);
    stage.parked(&run.id).await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);
    approve(&stage, "a").await;
    run_slot_and_delete(&stage, &job, stage.begun.next().await).await;
}

/// The slots of a moved one-shot obey overlap and cooldown.
#[tokio::test]
async fn run_for_earlier_slot_of_a_one_shot_counts() {
    let cooldown = json!({ "cooldownSeconds": 300 });
    for (policies, why) in [
        (json!({}), "The previous run was still running"),
        (cooldown, "Less than 5 min after the run before"),
    ] {
        let stage = Stage::new().await;
        let job = stage.add(once(START.plus_ms(MINUTE), json!({ "policies": policies }))).await;
        stage.pass(MINUTE).await;
        let first = stage.begun.next().await;
        let moved = json!({ "schedule": { "atMs": START.plus_ms(2 * MINUTE).0 } });
        stage.handle.update_job(&job.id, moved, None).await.expect("saved");
        if why.starts_with("Less") {
            let id = first.run.id.clone();
            first.succeed();
            stage.ended(&id).await;
        }
        stage.pass(MINUTE).await;
        stage.settle().await;
        let runs = stage.runs_of(&job.id).await;
        assert_eq!((runs[1].state, runs[1].reason.as_deref()), (RunState::Skipped, Some(why)));
    }
}

#[tokio::test]
async fn disabled_or_manual_job_runs_by_hand() {
    let stage = Stage::new().await;
    let manual = json!({ "id": "m", "schedule": { "kind": "manual" } });
    for document in [every(HOUR, json!({ "enabled": false })), every(HOUR, manual)] {
        let job = stage.add(document).await;
        assert_eq!(job.state.next_run_at, None);
        let id = stage
            .handle
            .run_now(&job.id, ManualRunMode::Force)
            .await
            .expect("accepted")
            .expect("a run");
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.id, id);
    }
}

#[tokio::test]
async fn due_mode_runs_a_due_job_only() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    assert_eq!(stage.handle.run_now(&job.id, ManualRunMode::Due).await.expect("taken"), None);
    assert_eq!(stage.runs_of(&job.id).await, []);
}

#[tokio::test]
async fn manual_run_queues_in_its_lane_and_blocks_slots() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let by_hand =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    assert_eq!(stage.load().await, (1, 1));
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(second.run.id, by_hand);
    stage.pass(MINUTE).await;
    assert_eq!(
        stage.states_of(&job).await.last(),
        Some(&RunState::Skipped),
        "a run of the job is active"
    );
}

#[tokio::test]
async fn unknown_job_cannot_run() {
    let stage = Stage::new().await;
    let error = stage
        .handle
        .run_now(&JobId::new("unknown"), ManualRunMode::Force)
        .await
        .expect_err("refused");
    assert!(matches!(error, SchedulerError::Store(StoreError::NotFound { what: "job", .. })));
}

#[tokio::test]
async fn retry_uses_the_current_settings() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    assert!(matches!(stage.handle.retry(&id).await, Err(SchedulerError::NotOver)));
    begun.end(Outcome::failed("a typing error"));
    stage.ended(&id).await;
    let patch = json!({ "payload": { "tool": "time" } });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
    let again = stage.handle.retry(&id).await.expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!((&begun.run.id, begun.run.trigger), (&again, RunTrigger::Manual));
    assert_eq!(
        (begun.run.retry_of.as_ref(), &begun.run.payload["tool"]),
        (Some(&id), &json!("time"))
    );
}

#[tokio::test]
async fn run_of_deleted_job_cannot_be_retried() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    let error = stage.handle.retry(&id).await.expect_err("refused");
    assert_eq!(error.to_string(), "The job Look was deleted, so the run cannot be repeated.");
    let unknown = stage.handle.retry(&RunId::new("unknown")).await.expect_err("refused");
    assert!(matches!(unknown, SchedulerError::Store(StoreError::NotFound { what: "run", .. })));
}

/// Starts `job` by hand from within the run `outer`, and polls for the end.
async fn start_and_poll(stage: &Stage, outer: &mut ScriptedRun, job: &Job) -> (RunId, bool) {
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let is_over = tokio::select! {
        run = stage.ended(&id) => run.state.is_final(),
        () = outer.cancel.cancelled() => false,
    };
    (id, is_over)
}

#[tokio::test]
async fn polling_run_times_out_while_inner_run_queues() {
    let stage = Stage::with_permits(1).await;
    let limit = json!({ "id": "outer", "policies": { "timeoutSeconds": 60 } });
    let outer_job = stage.add(every(HOUR, limit)).await;
    let inner_job = stage.add(every(HOUR, json!({ "id": "inner" }))).await;
    for listed in [&inner_job, &outer_job] {
        let by_hand = stage.handle.run_now(&outer_job.id, ManualRunMode::Force).await;
        let outer_id = by_hand.expect("accepted").expect("a run");
        let mut outer = stage.begun.next().await;
        let waiting = start_and_poll(&stage, &mut outer, listed);
        let time = async {
            stage.settle().await;
            assert_eq!(stage.load().await, (1, 1), "the outer run holds the only permit");
            stage.clock.advance(60_000);
        };
        let ((inner_id, is_over), ()) = tokio::join!(waiting, time);
        assert!(!is_over, "the inner run cannot end before the outer run");
        outer.end(Outcome::failed("Gave up waiting"));
        assert_eq!(stage.ended(&outer_id).await.state, RunState::TimedOut);
        let inner = stage.begun.next().await;
        assert_eq!(inner.run.id, inner_id, "the permit is free, and the inner run starts");
        inner.succeed();
        assert_eq!(stage.ended(&inner_id).await.state, RunState::Succeeded);
    }
}

#[tokio::test]
async fn run_that_starts_another_run_does_not_block_that_run() {
    let stage = Stage::with_permits(1).await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let by_hand = || async {
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run")
    };
    by_hand().await;
    let outer = stage.begun.next().await;
    let inner_id = by_hand().await;
    outer.succeed();
    let inner = stage.begun.next().await;
    assert_eq!(inner.run.id, inner_id);
    inner.succeed();
}

/// Starts a manual run and waits for the start.
pub(crate) async fn start_manual(stage: &Stage, job: &Job) -> ScriptedRun {
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, id);
    begun
}
