//! Jobs that are edited while a run of theirs waits: the run does what it was claimed with.

use rouse_core::approval::{Answer, AnsweredFrom};
use rouse_core::job::{Job, Payload, payload_to_json};
use rouse_core::{ApprovalId, Outcome, RunId, RunState};
use serde_json::{Value, json};

use super::asking::asks;
use super::stage::{Begun, MINUTE, SECOND, Stage};

/// A job whose runs are told to tidy up, and its first run at work.
async fn tidies(more: Value) -> (Stage, Job, Begun) {
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

/// Makes a reminder of it.
async fn edit(stage: &Stage, job: &Job) {
    let payload = json!({ "kind": "systemEvent", "text": "Drink water" });
    let patch = json!({ "sessionTarget": "main", "payload": payload });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
}

/// What a run that has begun has to do.
fn task(begun: &Begun) -> Value {
    payload_to_json(&begun.job.as_ref().expect("a job").payload)
}

fn may_pass() -> Outcome {
    Outcome { may_pass: true, ..Outcome::failed("no network") }
}

/// A run that waits half a minute for the second of three attempts.
async fn between_attempts() -> (Stage, Job, RunId) {
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 30_000 });
    let (stage, job, begun) = tidies(json!({ "runtime": runtime })).await;
    let id = begun.run.id.clone();
    begun.end(may_pass());
    stage.between_attempts(&id).await;
    (stage, job, id)
}

async fn patch(stage: &Stage, job: &Job, patch: Value) {
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
}

#[tokio::test]
async fn a_run_that_waits_for_an_attempt_that_its_job_allows_no_more_ends_with_its_failure() {
    let (stage, job, id) = between_attempts().await;
    patch(&stage, &job, json!({ "runtime": { "maxAttempts": 2 } })).await;
    assert_eq!(stage.run(&id).await.state, RunState::Running, "the second is allowed");
    patch(&stage, &job, json!({ "runtime": { "maxAttempts": 1 } })).await;
    stage.settle().await;
    let run = stage.run(&id).await;
    assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
    let why = "Its job allows no more attempts by now, so no further attempt was made";
    assert_eq!((run.attempt, run.reason.as_deref()), (1, Some(why)));
}

#[tokio::test]
async fn a_run_is_tried_again_as_often_and_as_long_as_its_job_says_by_then() {
    let (stage, job, begun) = tidies(json!({})).await;
    let id = begun.run.id.clone();
    let runtime = json!({ "maxAttempts": 2, "retryBackoffMs": 20_000 });
    let policies = json!({ "timeoutSeconds": 5 });
    patch(&stage, &job, json!({ "runtime": runtime, "policies": policies })).await;
    stage.pass(10 * SECOND).await;
    assert!(!begun.cancel.is_cancelled(), "an attempt at work keeps the limit that it began with");
    begun.end(may_pass());
    stage.settle().await;
    assert_eq!(stage.run(&id).await.state, RunState::Running, "it waits for its second attempt");
    stage.clock.advance(25_000);
    let second = stage.begun.next().await;
    assert_eq!((&second.run.id, second.run.attempt), (&id, 2));
    stage.pass(5 * SECOND).await;
    assert!(second.cancel.is_cancelled(), "its limit is that of now");
    second.end(Outcome::of(RunState::Cancelled));
    assert_eq!(stage.ended(&id).await.error.as_deref(), Some("Ran out of time after 5 s"));
}

/// What it was at work is counted by the limit that it had, not by the one that its job has got meanwhile.
#[tokio::test]
async fn a_limit_that_is_changed_makes_nothing_of_what_was_worked_before_a_question() {
    let (stage, job, begun) = tidies(json!({ "policies": { "timeoutSeconds": 60 } })).await;
    stage.pass(2 * SECOND).await;
    patch(&stage, &job, json!({ "policies": { "timeoutSeconds": 5 } })).await;
    let run = asks(&stage, begun, &["a"]);
    stage.parked(&run.id).await;
    assert_eq!(stage.run(&run.id).await.worked_ms, 2 * SECOND);
}

#[tokio::test]
async fn an_answer_lets_the_run_go_on_with_what_it_has_asked_about() {
    for answer in [Answer::Once, Answer::Deny { reason: None }] {
        let (stage, job, begun) = tidies(json!({})).await;
        let run = asks(&stage, begun, &["a"]);
        stage.parked(&run.id).await;
        edit(&stage, &job).await;
        let (id, from) = (ApprovalId::new("a"), AnsweredFrom::Page);
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
async fn a_run_that_waits_for_its_place_does_what_its_slot_was_for() {
    let (stage, job, first) = tidies(json!({ "policies": { "overlap": "queue" } })).await;
    stage.pass(MINUTE).await;
    edit(&stage, &job).await;
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(task(&second), turn(), "it was claimed before");
    stage.pass(MINUTE).await;
    second.succeed();
    let third = stage.begun.next().await;
    assert_eq!(task(&third)["kind"], "systemEvent", "and this one afterwards");
}

#[tokio::test]
async fn a_run_between_two_attempts_goes_on_with_its_work_after_a_stop() {
    let runtime = json!({ "maxAttempts": 3, "retryBackoffMs": 10 * MINUTE });
    let (stage, job, begun) = tidies(json!({ "runtime": runtime })).await;
    let id = begun.run.id.clone();
    begun.end(Outcome { may_pass: true, ..Outcome::failed("no network") });
    stage.between_attempts(&id).await;
    edit(&stage, &job).await;
    let stage = stage.killed_for(20 * MINUTE).await;
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt, task(&again)), (&id, 2, turn()));
}

#[tokio::test]
async fn what_was_cut_off_or_waited_over_a_stop_does_its_own_work() {
    let (stage, job, begun) = tidies(json!({ "policies": { "overlap": "queue" } })).await;
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
async fn a_call_that_was_cut_off_is_made_up_for_by_the_same_call() {
    let call = json!({ "kind": "toolCall", "tool": "echo" });
    let (stage, job, begun) = tidies(json!({ "payload": call })).await;
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
