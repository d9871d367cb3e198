//! Parked runs: approved, denied, expired, cancelled.

use rouse_core::approval::{ApprovalDecision, ApprovalState, DecisionSurface};
use rouse_core::{ApprovalId, Outcome, Run, RunState};
use rouse_scheduler::{ManualRunMode, SchedulerConfig};
use rouse_store::DecisionResult;
use serde_json::json;

use super::pending_approvals::{approval, approve, end_with_approvals};
use super::stage::{MINUTE, SECOND, Stage, config};

async fn minutely(stage: &Stage) -> rouse_core::Job {
    let schedule = json!({ "kind": "every", "everyMs": MINUTE });
    let payload = json!({ "kind": "agentTurn", "message": "Tidy up" });
    stage.add(json!({ "name": "Tidy", "schedule": schedule, "payload": payload })).await
}

async fn parked_first_run(stage: &Stage, ids: &[&str]) -> (rouse_core::Job, Run) {
    let job = minutely(stage).await;
    stage.pass(MINUTE).await;
    let run = end_with_approvals(stage, stage.begun.next().await, ids);
    stage.parked(&run.id).await;
    (job, run)
}

#[tokio::test]
async fn newer_slot_replaces_active_run_not_parked_run() {
    let stage = Stage::new().await;
    let schedule = json!({ "kind": "every", "everyMs": MINUTE });
    let (payload, policies) =
        (json!({ "kind": "agentTurn", "message": "Tidy up" }), json!({ "overlap": "cancelOther" }));
    let document =
        json!({ "name": "Tidy", "schedule": schedule, "payload": payload, "policies": policies });
    let job = stage.add(document).await;
    stage.pass(MINUTE).await;
    let parked = end_with_approvals(&stage, stage.begun.next().await, &["a"]);
    stage.parked(&parked.id).await;
    stage.pass(MINUTE).await;
    let second = stage.begun.next().await;
    stage.pass(MINUTE).await;
    second.cancel.cancelled().await;
    second.end(Outcome::of(RunState::Cancelled));
    let third = stage.begun.next().await;
    assert_eq!(
        stage.states_of(&job).await,
        [RunState::AwaitingApproval, RunState::Cancelled, RunState::Running]
    );
    third.succeed();
}

/// A decided run waits in the lane behind an active run; a started run is replaced only while active.
#[tokio::test]
async fn newer_slot_keeps_a_decided_run_in_its_lane() {
    let stage = Stage::new().await;
    let (job, parked) = parked_first_run(&stage, &["a"]).await;
    let policies = json!({ "policies": { "overlap": "cancelOther" } });
    stage.handle.update_job(&job.id, policies, None).await.unwrap();
    stage.pass(MINUTE).await;
    let second = stage.begun.next().await;
    approve(&stage, "a").await;
    stage.settle().await;
    assert_eq!(stage.run(&parked.id).await.state, RunState::Queued);
    stage.pass(MINUTE).await;
    second.cancel.cancelled().await;
    second.end(Outcome::of(RunState::Cancelled));
    let resumed = stage.begun.next().await;
    assert_eq!(resumed.run.id, parked.id, "the run resumes before the newer slot");
    resumed.succeed();
    let third = stage.begun.next().await;
    assert_eq!(
        stage.states_of(&job).await,
        [RunState::Succeeded, RunState::Cancelled, RunState::Running]
    );
    third.succeed();
}

/// Deleting a job cancels all runs, including a decided run in the lane.
#[tokio::test]
async fn decided_run_in_its_lane_is_cancelled_with_its_job() {
    let stage = Stage::new().await;
    let (job, parked) = parked_first_run(&stage, &["a"]).await;
    stage.pass(MINUTE).await;
    let _at_work = stage.begun.next().await;
    approve(&stage, "a").await;
    stage.settle().await;
    stage.handle.remove_job(&job.id, None).await.unwrap();
    assert_eq!(stage.ended(&parked.id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn parked_run_frees_its_lane_and_continues() {
    let stage = Stage::new().await;
    let (_, run) = parked_first_run(&stage, &["a", "b"]).await;
    let deliveries = stage.store.deliveries_of(&run.id).await.unwrap();
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].body, "Needs 2 approvals.");

    // The parked run does not block the next slot.
    stage.pass(MINUTE).await;
    let other = stage.begun.next().await;
    assert_ne!(other.run.id, run.id);
    other.succeed();
    stage.settle().await;

    let first = approve(&stage, "a").await;
    assert!(matches!(first, DecisionResult::Counts { resumed, .. } if resumed.is_empty()));
    let no = ApprovalDecision::Deny { reason: Some("Not that.".to_owned()) };
    stage.handle.decide(&ApprovalId::new("b"), no, DecisionSurface::Page).await.unwrap();
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&run.id, 1));
    assert_eq!(again.run.started_at, run.started_at, "the start is kept");
    again.succeed();
    let ended = stage.ended(&run.id).await;
    assert_eq!((ended.state, ended.started_at), (RunState::Succeeded, run.started_at));
}

/// The slot was on time at the start; the wait for a person is no lateness.
#[tokio::test]
async fn decided_run_is_never_too_late() {
    let stage = Stage::new().await;
    let (job, run) = parked_first_run(&stage, &["a"]).await;
    let hasty = json!({ "policies": { "misfire": { "mode": "skip", "maxLatenessSeconds": 1 } } });
    stage.handle.update_job(&job.id, hasty, None).await.unwrap();
    stage.pass(10 * SECOND).await;
    stage.handle.update_job(&job.id, json!({ "enabled": false }), None).await.unwrap();
    stage.pass(2 * MINUTE).await;
    approve(&stage, "a").await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

/// With a single permit, a parked run with a permit would block everything.
#[tokio::test]
async fn parked_run_frees_the_only_permit() {
    let stage = Stage::with_permits(1).await;
    let (asking, run) = parked_first_run(&stage, &["a"]).await;
    stage.handle.update_job(&asking.id, json!({ "enabled": false }), None).await.unwrap();
    let other = stage.add_hook("other").await;
    stage.fire(&other).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.job_id.as_ref(), Some(&other.id), "while the first is parked");
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);

    // Decided while the permit is taken, the run queues like any other.
    approve(&stage, "a").await;
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "the only permit is taken");
    assert_eq!(stage.run(&run.id).await.state, RunState::Queued);
    let other_run = begun.run.id.clone();
    begun.succeed();
    stage.ended(&other_run).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn first_of_two_decisions_counts() {
    let stage = Stage::new().await;
    let (_, run) = parked_first_run(&stage, &["a"]).await;
    let (id, no) = (ApprovalId::new("a"), ApprovalDecision::Deny { reason: None });
    let (first, other) = tokio::join!(
        stage.handle.decide(&id, ApprovalDecision::Once, DecisionSurface::Page),
        stage.handle.decide(&id, no, DecisionSurface::Page)
    );
    let counts = [first.unwrap(), other.unwrap()]
        .iter()
        .filter(|d| matches!(d, DecisionResult::Counts { .. }))
        .count();
    assert_eq!(counts, 1);
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "resumed once");
}

#[tokio::test]
async fn expired_approval_resumes_the_run() {
    let stage = Stage::new().await;
    let (job, run) = parked_first_run(&stage, &["a"]).await;
    stage.handle.update_job(&job.id, json!({ "enabled": false }), None).await.unwrap();
    stage.pass(30 * MINUTE - SECOND).await;
    assert!(stage.begun.take_all().is_empty());
    stage.pass(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    let approvals = stage.store.approvals_of_run(&run.id).await.unwrap();
    assert!(matches!(approvals[0].state, ApprovalState::Expired { .. }));
    let late = approve(&stage, "a").await;
    assert!(matches!(late, DecisionResult::TooLate(_)));
}

#[tokio::test]
async fn approval_survives_a_restart() {
    let stage = Stage::new().await;
    let (_, run) = parked_first_run(&stage, &["a"]).await;
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);
    approve(&stage, "a").await;
    assert_eq!(stage.begun.next().await.run.id, run.id);
}

#[tokio::test]
async fn decision_survives_a_restart() {
    let stage = Stage::new().await;
    let (_, run) = parked_first_run(&stage, &["a"]).await;
    approve(&stage, "a").await;
    drop(stage.begun.next().await);
    // Interrupted after the resume, the run resumes again; the journal knows whether the approved call was made.
    let stage = stage.killed_for(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn parked_run_is_cancelled_alone_and_with_its_job() {
    let stage = Stage::new().await;
    let (job, run) = parked_first_run(&stage, &["a"]).await;
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap());
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    let approvals = stage.store.approvals_of_run(&run.id).await.unwrap();
    assert!(matches!(approvals[0].state, ApprovalState::Withdrawn { .. }));

    stage.handle.run_now(&job.id, ManualRunMode::Force).await.unwrap();
    let run = end_with_approvals(&stage, stage.begun.next().await, &["b"]);
    stage.parked(&run.id).await;
    stage.handle.remove_job(&job.id, None).await.unwrap();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    assert!(stage.store.pending_approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn run_cancelled_before_its_approvals_is_not_parked() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.unwrap();
    end_with_approvals(&stage, begun, &["a"]);
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
    assert!(stage.store.approvals_of_run(&id).await.unwrap().is_empty());
}

#[tokio::test]
async fn usage_before_and_after_approval_is_summed() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    let run = begun.run.clone();
    let usage = |tokens| rouse_core::run::Usage { input_tokens: tokens, ..Default::default() };
    let approvals = vec![approval(&run, "a", stage.now())];
    begun.end(Outcome { approvals, usage: usage(10), ..Outcome::of(RunState::AwaitingApproval) });
    stage.parked(&run.id).await;
    approve(&stage, "a").await;
    stage.begun.next().await.end(Outcome { usage: usage(5), ..Outcome::succeeded("Done.") });
    assert_eq!(stage.ended(&run.id).await.usage.input_tokens, 15);
}

#[tokio::test]
async fn run_cancelled_with_new_approvals_requests_none() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    // The engine meets the end of the attempt and the cancellation at the same time.
    let run = end_with_approvals(&stage, stage.begun.next().await, &["a"]);
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap());
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    stage.settle().await;
    assert!(stage.store.pending_approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn decided_run_can_be_cancelled() {
    let stage = Stage::with_permits(1).await;
    let (_, run) = parked_first_run(&stage, &["a"]).await;
    stage.pass(MINUTE).await;
    let other = stage.begun.next().await;
    assert!(
        matches!(approve(&stage, "a").await, DecisionResult::Counts { resumed, .. } if !resumed.is_empty())
    );
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap(), "the run is queued");
    other.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty());

    let job = run.job_id.clone().expect("a job");
    stage.handle.run_now(&job, ManualRunMode::Force).await.unwrap();
    let run = end_with_approvals(&stage, stage.begun.next().await, &["b"]);
    stage.parked(&run.id).await;
    approve(&stage, "b").await;
    let again = stage.begun.next().await;
    assert!(
        stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap(),
        "the run is active again"
    );
    again.succeed();
    stage.ended(&run.id).await;
    let late = stage
        .handle
        .decide(&ApprovalId::new("b"), ApprovalDecision::Once, DecisionSurface::Page)
        .await;
    assert!(matches!(late.unwrap(), DecisionResult::TooLate(_)), "an answer counts once");
}

#[tokio::test]
async fn decided_run_continues_while_nothing_fires() {
    for switch in ["pause", "kill switch"] {
        let stage = Stage::new().await;
        let (_, run) = parked_first_run(&stage, &["a"]).await;
        match switch {
            "pause" => stage.handle.pause(None).await.unwrap(),
            _ => {
                let off = SchedulerConfig { firing: false, off_reason: "Off".into(), ..config() };
                stage.handle.set_config(off).await.unwrap();
            }
        }
        approve(&stage, "a").await;
        let again = stage.begun.next().await;
        assert_eq!(again.run.id, run.id, "{switch}");
        again.succeed();
        assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded, "{switch}");
    }
}
