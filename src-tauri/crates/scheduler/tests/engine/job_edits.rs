//! Edits of jobs during an open run: the run keeps the claimed payload.

use rouse_core::approval::{ApprovalDecision, DecisionSurface};
use rouse_core::job::{Job, Payload, to_json};
use rouse_core::{ApprovalId, Outcome, RunId, RunState};
use serde_json::{Value, json};

use super::pending_approvals::end_with_approvals;
use super::stage::{MINUTE, SECOND, ScriptedRun, Stage};

/// A minutely agent job and the first run, active.
async fn tidy_job(more: Value) -> (Stage, Job, ScriptedRun) {
    let stage = Stage::new().await;
    let mut document = json!({
        "name": "Tidy",
        "schedule": { "kind": "every", "everyMs": MINUTE },
        "payload": turn(),
    });
    let more = more.as_object().expect("fields").clone();
    document.as_object_mut().expect("a job").extend(more);
    let job = stage.add(document).await;
    stage.clock.advance(MINUTE.unsigned_abs());
    let begun = stage.begun.next().await;
    (stage, job, begun)
}

fn turn() -> Value {
    json!({ "kind": "agentTurn", "message": "Tidy up" })
}

/// Turns the job into a reminder.
async fn edit(stage: &Stage, job: &Job) {
    let payload = json!({ "kind": "systemEvent", "text": "Drink water" });
    let patch = json!({ "sessionTarget": "main", "payload": payload });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
}

/// The payload of a started run.
fn task(begun: &ScriptedRun) -> Value {
    to_json(&begun.job.as_ref().expect("a job").payload)
}

fn transient() -> Outcome {
    Outcome { is_transient: true, ..Outcome::failed("no network") }
}

/// A run in a backoff of half a minute, with three attempts.
async fn between_attempts() -> (Stage, Job, RunId) {
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 30_000 });
    let (stage, job, begun) = tidy_job(json!({ "runtime": runtime })).await;
    let id = begun.run.id.clone();
    begun.end(transient());
    stage.between_attempts(&id).await;
    (stage, job, id)
}

async fn patch(stage: &Stage, job: &Job, patch: Value) {
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
}

#[tokio::test]
async fn lower_attempt_limit_fails_a_run_in_backoff() {
    let (stage, job, id) = between_attempts().await;
    patch(&stage, &job, json!({ "runtime": { "maxAttempts": 2 } })).await;
    assert_eq!(stage.run(&id).await.state, RunState::Running, "the second is allowed");
    patch(&stage, &job, json!({ "runtime": { "maxAttempts": 1 } })).await;
    stage.settle().await;
    let run = stage.run(&id).await;
    assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
    let why = "The job allows no more attempts, so it was not retried";
    assert_eq!((run.attempt, run.reason.as_deref()), (1, Some(why)));
}

#[tokio::test]
async fn retry_uses_the_edited_attempts_and_limit() {
    let (stage, job, begun) = tidy_job(json!({})).await;
    let id = begun.run.id.clone();
    let runtime = json!({ "maxAttempts": 2, "retryBackoffMs": 20_000 });
    let policies = json!({ "timeoutSeconds": 5 });
    patch(&stage, &job, json!({ "runtime": runtime, "policies": policies })).await;
    stage.pass(10 * SECOND).await;
    assert!(!begun.cancel.is_cancelled(), "an active attempt keeps its limit");
    begun.end(transient());
    stage.settle().await;
    assert_eq!(
        stage.run(&id).await.state,
        RunState::Running,
        "the run waits for the second attempt"
    );
    stage.clock.advance(25_000);
    let second = stage.begun.next().await;
    assert_eq!((&second.run.id, second.run.attempt), (&id, 2));
    stage.pass(5 * SECOND).await;
    assert!(second.cancel.is_cancelled(), "the limit is the edited limit");
    second.end(Outcome::of(RunState::Cancelled));
    assert_eq!(stage.ended(&id).await.error.as_deref(), Some("Timed out after 5 s"));
}

/// Time worked is measured with the limit of the attempt, not with the edited limit.
#[tokio::test]
async fn edited_limit_keeps_time_worked_before_approval() {
    let (stage, job, begun) = tidy_job(json!({ "policies": { "timeoutSeconds": 60 } })).await;
    stage.pass(2 * SECOND).await;
    patch(&stage, &job, json!({ "policies": { "timeoutSeconds": 5 } })).await;
    let run = end_with_approvals(&stage, begun, &["a"]);
    stage.parked(&run.id).await;
    assert_eq!(stage.run(&run.id).await.worked_ms, 2 * SECOND);
}

#[tokio::test]
async fn decided_run_continues_with_its_claimed_payload() {
    for answer in [ApprovalDecision::Once, ApprovalDecision::Deny { reason: None }] {
        let (stage, job, begun) = tidy_job(json!({})).await;
        let run = end_with_approvals(&stage, begun, &["a"]);
        stage.parked(&run.id).await;
        edit(&stage, &job).await;
        let (id, from) = (ApprovalId::new("a"), DecisionSurface::Page);
        stage.handle.decide(&id, answer, from).await.expect("decided");
        let again = stage.begun.next().await;
        assert_eq!((&again.run.id, task(&again)), (&run.id, turn()));
        again.succeed();
        assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
        let lines = stage.store.pending_system_events(9).await.expect("read");
        let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["Cron Tidy: Done."], "and not the reminder");
        assert!(matches!(stage.stored(&job).await.payload, Payload::SystemEvent { .. }));
    }
}

#[tokio::test]
async fn queued_run_keeps_its_claimed_payload() {
    let (stage, job, first) = tidy_job(json!({ "policies": { "overlap": "queue" } })).await;
    stage.pass(MINUTE).await;
    edit(&stage, &job).await;
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(task(&second), turn(), "claimed before the edit");
    stage.pass(MINUTE).await;
    second.succeed();
    let third = stage.begun.next().await;
    assert_eq!(task(&third)["kind"], "systemEvent", "claimed after the edit");
}

#[tokio::test]
async fn restart_keeps_the_payload_of_a_run_in_backoff() {
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 10 * MINUTE });
    let (stage, job, begun) = tidy_job(json!({ "runtime": runtime })).await;
    let id = begun.run.id.clone();
    begun.end(Outcome { is_transient: true, ..Outcome::failed("no network") });
    stage.between_attempts(&id).await;
    edit(&stage, &job).await;
    let stage = stage.killed_for(20 * MINUTE).await;
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt, task(&again)), (&id, 2, turn()));
}

#[tokio::test]
async fn restart_keeps_the_payload_of_open_runs() {
    let (stage, job, begun) = tidy_job(json!({ "policies": { "overlap": "queue" } })).await;
    let id = begun.run.id.clone();
    stage.pass(MINUTE).await;
    edit(&stage, &job).await;
    let stage = stage.killed_for(0).await;
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, task(&again)), (&id, turn()));
    again.succeed();
    let second = stage.begun.next().await;
    assert_eq!(task(&second), turn());
}

#[tokio::test]
async fn interrupted_tool_call_is_repeated_with_its_payload() {
    let call = json!({ "kind": "toolCall", "tool": "echo" });
    let (stage, job, begun) = tidy_job(json!({ "payload": call })).await;
    let id = begun.run.id.clone();
    edit(&stage, &job).await;
    let stage = stage.killed_for(0).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.retry_of, Some(id));
    assert_eq!(
        (&task(&again)["tool"], &again.run.payload["tool"]),
        (&json!("echo"), &json!("echo"))
    );
}
