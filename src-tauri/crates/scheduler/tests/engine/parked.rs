//! Runs that ask a person: parked, answered, expired, ended.

use rouse_core::approval::{Answer, AnsweredFrom, ApprovalState};
use rouse_core::{ApprovalId, Outcome, Run, RunState};
use rouse_scheduler::{RunMode, SchedulerConfig};
use rouse_store::Decided;
use serde_json::json;

use super::asking::{asks, question, yes};
use super::stage::{MINUTE, SECOND, Stage, config};

async fn minutely(stage: &Stage) -> rouse_core::Job {
    let schedule = json!({ "kind": "every", "everyMs": MINUTE });
    let payload = json!({ "kind": "agentTurn", "message": "Tidy up" });
    stage.add(json!({ "name": "Tidy", "schedule": schedule, "payload": payload })).await
}

async fn first_asks(stage: &Stage, questions: &[&str]) -> (rouse_core::Job, Run) {
    let job = minutely(stage).await;
    stage.pass(MINUTE).await;
    let run = asks(stage, stage.begun.next().await, questions);
    stage.parked(&run.id).await;
    (job, run)
}

#[tokio::test]
async fn a_newer_slot_takes_the_place_of_the_run_at_work_and_not_of_the_one_that_asked() {
    let stage = Stage::new().await;
    let schedule = json!({ "kind": "every", "everyMs": MINUTE });
    let (payload, policies) =
        (json!({ "kind": "agentTurn", "message": "Tidy up" }), json!({ "overlap": "cancelOther" }));
    let document =
        json!({ "name": "Tidy", "schedule": schedule, "payload": payload, "policies": policies });
    let job = stage.add(document).await;
    stage.pass(MINUTE).await;
    let asked = asks(&stage, stage.begun.next().await, &["a"]);
    stage.parked(&asked.id).await;
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

/// It has its answer and waits for its lane, behind one that is at work; what has begun is replaced only at work.
#[tokio::test]
async fn a_newer_slot_leaves_a_run_that_was_answered_in_its_lane() {
    let stage = Stage::new().await;
    let (job, asked) = first_asks(&stage, &["a"]).await;
    let policies = json!({ "policies": { "overlap": "cancelOther" } });
    stage.handle.update_job(&job.id, policies, None).await.unwrap();
    stage.pass(MINUTE).await;
    let second = stage.begun.next().await;
    yes(&stage, "a").await;
    stage.settle().await;
    assert_eq!(stage.run(&asked.id).await.state, RunState::Queued);
    stage.pass(MINUTE).await;
    second.cancel.cancelled().await;
    second.end(Outcome::of(RunState::Cancelled));
    let goes_on = stage.begun.next().await;
    assert_eq!(goes_on.run.id, asked.id, "it goes on with its answer, before the newer slot");
    goes_on.succeed();
    let third = stage.begun.next().await;
    assert_eq!(
        stage.states_of(&job).await,
        [RunState::Succeeded, RunState::Cancelled, RunState::Running]
    );
    third.succeed();
}

/// Removing the job ends all of its runs, also one that was answered and waits for its lane.
#[tokio::test]
async fn a_run_that_was_answered_and_waits_for_its_lane_goes_with_its_job() {
    let stage = Stage::new().await;
    let (job, asked) = first_asks(&stage, &["a"]).await;
    stage.pass(MINUTE).await;
    let _at_work = stage.begun.next().await;
    yes(&stage, "a").await;
    stage.settle().await;
    stage.handle.remove_job(&job.id, None).await.unwrap();
    assert_eq!(stage.ended(&asked.id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn a_run_that_asks_frees_its_lane_and_goes_on_with_the_answer() {
    let stage = Stage::new().await;
    let (_, run) = first_asks(&stage, &["a", "b"]).await;
    let told = stage.store.deliveries_of(&run.id).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].body, "Needs 2 answers before it goes on.");

    // The next slot is not held up by it.
    stage.pass(MINUTE).await;
    let other = stage.begun.next().await;
    assert_ne!(other.run.id, run.id);
    other.succeed();
    stage.settle().await;

    let first = yes(&stage, "a").await;
    assert!(matches!(first, Decided::Counts { goes_on, .. } if goes_on.is_empty()));
    let no = Answer::Deny { reason: Some("Not that.".to_owned()) };
    stage.handle.decide(&ApprovalId::new("b"), no, AnsweredFrom::Page).await.unwrap();
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&run.id, 1));
    assert_eq!(again.run.started_at, run.started_at, "it began when it began");
    again.succeed();
    let ended = stage.ended(&run.id).await;
    assert_eq!((ended.state, ended.started_at), (RunState::Succeeded, run.started_at));
}

/// Its slot was in time when it began; how long a person thinks about it is nobody's lateness.
#[tokio::test]
async fn a_run_that_goes_on_with_the_answer_is_never_too_late() {
    let stage = Stage::new().await;
    let (job, run) = first_asks(&stage, &["a"]).await;
    let hasty = json!({ "policies": { "misfire": { "mode": "skip", "maxLatenessSeconds": 1 } } });
    stage.handle.update_job(&job.id, hasty, None).await.unwrap();
    stage.pass(10 * SECOND).await;
    stage.handle.update_job(&job.id, json!({ "enabled": false }), None).await.unwrap();
    stage.pass(2 * MINUTE).await;
    yes(&stage, "a").await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

/// With one place for all lanes, a parked run that kept it would stop everything until somebody answers.
#[tokio::test]
async fn a_parked_run_leaves_the_only_place_to_other_jobs() {
    let stage = Stage::of_places(1).await;
    let (asking, run) = first_asks(&stage, &["a"]).await;
    stage.handle.update_job(&asking.id, json!({ "enabled": false }), None).await.unwrap();
    let manual = json!({ "kind": "manual" });
    let payload = json!({ "kind": "toolCall", "tool": "echo" });
    let other = json!({ "name": "Other", "schedule": manual, "payload": payload });
    let other = stage.add(other).await;
    stage.handle.run_now(&other.id, RunMode::Force).await.unwrap();
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.job_id.as_ref(), Some(&other.id), "while the first is parked");
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);

    // The answer comes while the place is taken: the run waits its turn like any other.
    yes(&stage, "a").await;
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "there is one place");
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
async fn only_the_first_of_two_answers_counts() {
    let stage = Stage::new().await;
    let (_, run) = first_asks(&stage, &["a"]).await;
    let (id, no) = (ApprovalId::new("a"), Answer::Deny { reason: None });
    let (one, other) = tokio::join!(
        stage.handle.decide(&id, Answer::Once, AnsweredFrom::Page),
        stage.handle.decide(&id, no, AnsweredFrom::Page)
    );
    let counts = [one.unwrap(), other.unwrap()]
        .iter()
        .filter(|d| matches!(d, Decided::Counts { .. }))
        .count();
    assert_eq!(counts, 1);
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "it goes on once");
}

#[tokio::test]
async fn a_question_that_nobody_answers_lets_the_run_go_on_to_report() {
    let stage = Stage::new().await;
    let (job, run) = first_asks(&stage, &["a"]).await;
    stage.handle.update_job(&job.id, json!({ "enabled": false }), None).await.unwrap();
    stage.pass(30 * MINUTE - SECOND).await;
    assert!(stage.begun.take_all().is_empty());
    stage.pass(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    let asked = stage.store.approvals_of(&run.id).await.unwrap();
    assert!(matches!(asked[0].state, ApprovalState::Expired { .. }));
    let late = yes(&stage, "a").await;
    assert!(matches!(late, Decided::TooLate(_)));
}

#[tokio::test]
async fn a_restart_keeps_the_question_and_the_answer_after_it_counts() {
    let stage = Stage::new().await;
    let (_, run) = first_asks(&stage, &["a"]).await;
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);
    yes(&stage, "a").await;
    assert_eq!(stage.begun.next().await.run.id, run.id);
}

#[tokio::test]
async fn an_answer_survives_the_end_of_the_process_before_its_run_goes_on() {
    let stage = Stage::new().await;
    let (_, run) = first_asks(&stage, &["a"]).await;
    yes(&stage, "a").await;
    drop(stage.begun.next().await);
    // It was cut off while it went on, and goes on once more: whether what the answer allowed was done says its journal.
    let stage = stage.killed_for(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.id, run.id);
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn a_parked_run_can_be_cancelled_and_goes_with_its_job() {
    let stage = Stage::new().await;
    let (job, run) = first_asks(&stage, &["a"]).await;
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap());
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    let asked = stage.store.approvals_of(&run.id).await.unwrap();
    assert!(matches!(asked[0].state, ApprovalState::Withdrawn { .. }));

    stage.handle.run_now(&job.id, RunMode::Force).await.unwrap();
    let run = asks(&stage, stage.begun.next().await, &["b"]);
    stage.parked(&run.id).await;
    stage.handle.remove_job(&job.id, None).await.unwrap();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    assert!(stage.store.pending_approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_it_asks_is_cancelled() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.unwrap();
    asks(&stage, begun, &["a"]);
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
    assert!(stage.store.approvals_of(&id).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_run_costs_before_and_after_the_answer_is_added_up() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    let begun = stage.begun.next().await;
    let run = begun.run.clone();
    let usage = |tokens| rouse_core::run::Usage { input_tokens: tokens, ..Default::default() };
    let asks = vec![question(&run, "a", stage.now())];
    begun.end(Outcome { asks, usage: usage(10), ..Outcome::of(RunState::AwaitingApproval) });
    stage.parked(&run.id).await;
    yes(&stage, "a").await;
    stage.begun.next().await.end(Outcome { usage: usage(5), ..Outcome::succeeded("Done.") });
    assert_eq!(stage.ended(&run.id).await.usage.input_tokens, 15);
}

#[tokio::test]
async fn a_run_that_has_just_asked_is_cancelled_and_nobody_is_asked() {
    let stage = Stage::new().await;
    minutely(&stage).await;
    stage.pass(MINUTE).await;
    // The engine finds its end and the wish to cancel it at the same time.
    let run = asks(&stage, stage.begun.next().await, &["a"]);
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap());
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    stage.settle().await;
    assert!(stage.store.pending_approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_goes_on_with_its_answer_is_cancelled() {
    let stage = Stage::of_places(1).await;
    let (_, run) = first_asks(&stage, &["a"]).await;
    stage.pass(MINUTE).await;
    let other = stage.begun.next().await;
    assert!(
        matches!(yes(&stage, "a").await, Decided::Counts { goes_on, .. } if !goes_on.is_empty())
    );
    assert!(
        stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap(),
        "it waits for its place"
    );
    other.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty());

    let job = run.job_id.clone().expect("a job");
    stage.handle.run_now(&job, RunMode::Force).await.unwrap();
    let run = asks(&stage, stage.begun.next().await, &["b"]);
    stage.parked(&run.id).await;
    yes(&stage, "b").await;
    let again = stage.begun.next().await;
    assert!(stage.handle.cancel(&run.id, "Cancelled by you").await.unwrap(), "it is at work again");
    again.succeed();
    stage.ended(&run.id).await;
    let late = stage.handle.decide(&ApprovalId::new("b"), Answer::Once, AnsweredFrom::Page).await;
    assert!(matches!(late.unwrap(), Decided::TooLate(_)), "an answer counts once");
}

#[tokio::test]
async fn neither_a_pause_nor_the_kill_switch_holds_up_a_run_that_was_answered() {
    for switch in ["pause", "kill switch"] {
        let stage = Stage::new().await;
        let (_, run) = first_asks(&stage, &["a"]).await;
        match switch {
            "pause" => stage.handle.pause(None).await.unwrap(),
            _ => {
                let off = SchedulerConfig { firing: false, off_reason: "Off".into(), ..config() };
                stage.handle.set_config(off).await.unwrap();
            }
        }
        yes(&stage, "a").await;
        let again = stage.begun.next().await;
        assert_eq!(again.run.id, run.id, "{switch}");
        again.succeed();
        assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded, "{switch}");
    }
}
