//! Attempts, failures in a row, and what is compared with the time before.

use rouse_core::decide::retry_after_ms;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::{RunMode, SchedulerConfig};
use serde_json::json;

use crate::asking::{asks, yes};
use crate::stage::{Begun, MINUTE, SECOND, Stage, every};

fn may_pass(error: &str) -> Outcome {
    let mut outcome = Outcome { may_pass: true, ..Outcome::failed(error) };
    outcome.usage.input_tokens = 10;
    outcome
}

async fn first_attempt(more: serde_json::Value) -> (Stage, rouse_core::Job, Begun) {
    let stage = Stage::new().await;
    let job = stage.add(every(10 * MINUTE, more)).await;
    stage.clock.advance(600_000);
    let begun = stage.begun.next().await;
    (stage, job, begun)
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_later_and_longer() {
    let runtime = json!({ "runtime": { "maxAttempts": 3, "retryBackoffMs": 500 } });
    let (stage, job, first) = first_attempt(runtime).await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    for (least, attempt) in [(500, 2), (1_000, 3)] {
        let runtime = job.runtime.as_ref();
        let backoff = retry_after_ms(runtime, attempt - 1, &id).expect("an attempt is left");
        let backoff = i64::try_from(backoff).expect("a short one");
        assert!((least..least + least / 4).contains(&backoff), "{backoff}");
        stage.settle().await;
        stage.pass(backoff - 1).await;
        assert!(stage.begun.take_all().is_empty(), "not before its time");
        assert_eq!(stage.load().await, (0, 0), "it is not at work");
        stage.clock.advance(1);
        let again = stage.begun.next().await;
        assert_eq!((&again.run.id, again.run.attempt), (&id, attempt));
        assert_eq!(stage.run(&id).await.attempt, attempt);
        again.end(may_pass("no network"));
    }
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt, run.usage.input_tokens), (RunState::Failed, 3, 30));
    assert_eq!(
        stage.stored(&job).await.state.consecutive_failures,
        1,
        "three attempts are one failure"
    );
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn between_two_attempts_others_have_the_place_and_the_next_one_gets_the_first_that_is_free() {
    let stage = Stage::of_places(1).await;
    let runtime =
        json!({ "id": "fails", "runtime": { "maxAttempts": 3, "retryBackoffMs": 60_000 } });
    stage.add(every(60 * MINUTE, runtime)).await;
    let works = json!({ "id": "works", "schedule": { "kind": "manual" } });
    let works = stage.add(every(MINUTE, works)).await;
    stage.clock.advance(60 * 60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    // Asked for while the first attempt may still have the place, begun when it has given it back.
    stage.handle.run_now(&works.id, RunMode::Force).await.expect("asked");
    let other = stage.begun.next().await;
    assert_eq!(other.run.job_id.as_ref(), Some(&works.id));
    // The backoff is one to one and a quarter minutes.
    stage.pass(2 * MINUTE).await;
    assert!(stage.begun.take_all().is_empty(), "there is one place, and it is taken");
    assert_eq!(stage.load().await, (1, 0));
    other.succeed();
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 2));
    again.end(may_pass("no network"));
    stage.handle.run_now(&works.id, RunMode::Force).await.expect("asked");
    stage.begun.next().await.succeed();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("asked");
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn a_run_between_two_attempts_is_told_apart_from_those_at_work() {
    let stage = Stage::of_places(1).await;
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 60_000 } });
    let fails = stage.add(every(60 * MINUTE, runtime)).await;
    let works = json!({ "id": "works", "schedule": { "kind": "manual" } });
    let works = stage.add(every(MINUTE, works)).await;
    let first = stage.handle.run_now(&fails.id, RunMode::Force).await.expect("asked");
    stage.begun.next().await.end(may_pass("no network"));
    stage.between_attempts(&first.expect("a run")).await;
    stage.handle.run_now(&works.id, RunMode::Force).await.expect("asked");
    let other = stage.begun.next().await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts, status.queued), (1, 1, 0));
    // Its wait is over, and it has no place: there is none.
    stage.pass(2 * MINUTE).await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts), (1, 1));
    other.succeed();
    stage.begun.next().await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts), (1, 0));
}

#[tokio::test]
async fn a_run_that_has_ended_by_the_next_slot_does_not_hold_it_up() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    for _ in 0..60 {
        stage.begun.next().await.succeed();
        // The slot and somebody's request come while the engine may still be writing the beginning.
        stage.pass(MINUTE).await;
        assert!(!stage.states_of(&job).await.contains(&RunState::Skipped), "no slot is left out");
    }
}

#[tokio::test]
async fn who_waits_for_a_place_for_the_next_attempt_loses_none_of_its_time() {
    let stage = Stage::of_places(1).await;
    let runtime = json!({ "id": "fails", "runtime": { "maxAttempts": 3, "retryBackoffMs": 60_000 },
        "policies": { "timeoutSeconds": 120 } });
    let fails = stage.add(every(60 * MINUTE, runtime)).await;
    let long = json!({ "id": "long", "policies": { "timeoutSeconds": 3_600 } });
    let long = stage.add(every(90 * MINUTE, long)).await;
    stage.clock.advance(60 * 60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    assert_eq!(first.run.job_id.as_ref(), Some(&fails.id));
    first.end(may_pass("no network"));
    stage.between_attempts(&id).await;
    stage.handle.run_now(&long.id, RunMode::Force).await.expect("asked");
    let other = stage.begun.next().await;
    stage.pass(20 * MINUTE).await;
    assert_eq!(stage.run(&id).await.state, RunState::Running, "it waits");
    other.succeed();
    let second = stage.begun.next().await;
    assert_eq!((&second.run.id, second.run.attempt), (&id, 2));
    stage.pass(2 * MINUTE - 1).await;
    assert!(!second.cancel.is_cancelled());
    stage.pass(1).await;
    assert!(second.cancel.is_cancelled());
    second.end(Outcome::of(RunState::Cancelled));
    assert_eq!(stage.ended(&id).await.error.as_deref(), Some("Ran out of time after 2 min"));
}

#[tokio::test]
async fn a_later_attempt_may_succeed() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 0 } })).await;
    let id = first.run.id.clone();
    first.end(may_pass("overloaded"));
    let second = stage.begun.next().await;
    assert_eq!(second.run.attempt, 2);
    second.succeed();
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.error), (RunState::Succeeded, None));
}

#[tokio::test]
async fn who_has_said_when_is_not_asked_before() {
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 500 } });
    let (stage, _, first) = first_attempt(runtime).await;
    let id = first.run.id.clone();
    first.end(Outcome { retry_after_ms: Some(90_000), ..may_pass("come back later") });
    stage.settle().await;
    stage.pass(89_999).await;
    assert!(stage.begun.take_all().is_empty(), "not before its time");
    stage.clock.advance(1);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 2));
    again.end(Outcome::failed("done"));
    stage.ended(&id).await;
}

#[tokio::test]
async fn a_failure_that_stays_is_not_tried_again() {
    let (stage, _, first) = first_attempt(json!({ "runtime": { "maxAttempts": 5 } })).await;
    let id = first.run.id.clone();
    first.end(Outcome::failed("wrong key"));
    assert_eq!(stage.ended(&id).await.attempt, 1);
}

#[tokio::test]
async fn without_a_word_there_is_one_attempt() {
    let (stage, _, first) = first_attempt(json!({})).await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    assert_eq!((stage.ended(&id).await.state, stage.load().await), (RunState::Failed, (0, 0)));
}

#[tokio::test]
async fn each_attempt_has_the_whole_time_limit_and_the_wait_before_it_has_none() {
    let more = json!({
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 30_000 },
        "policies": { "timeoutSeconds": 20 },
    });
    let (stage, _, mut attempt) = first_attempt(more).await;
    let id = attempt.run.id.clone();
    for backoff in [38 * SECOND, 75 * SECOND] {
        stage.pass(19 * SECOND).await;
        assert!(!attempt.cancel.is_cancelled());
        attempt.end(may_pass("no network"));
        stage.between_attempts(&id).await;
        stage.clock.advance(backoff.unsigned_abs());
        attempt = stage.begun.next().await;
    }
    assert_eq!((&attempt.run.id, attempt.run.attempt), (&id, 3));
    stage.pass(20 * SECOND - 1).await;
    assert!(!attempt.cancel.is_cancelled());
    stage.pass(1).await;
    assert!(attempt.cancel.is_cancelled(), "its own limit has an end");
    attempt.end(Outcome::of(RunState::Cancelled));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt), (RunState::TimedOut, 3));
    assert_eq!(run.error.as_deref(), Some("Ran out of time after 20 s"));
}

#[tokio::test]
async fn what_an_attempt_was_at_work_before_a_question_counts_after_the_answer() {
    for is_stopped in [false, true] {
        let more = json!({
            "runtime": { "maxAttempts": 2, "retryBackoffMs": 1_000 },
            "policies": { "timeoutSeconds": 5 },
        });
        let (mut stage, _, mut attempt) = first_attempt(more).await;
        let id = attempt.run.id.clone();
        for question in ["a", "b"] {
            stage.pass(2 * SECOND).await;
            asks(&stage, attempt, &[question]);
            stage.parked(&id).await;
            stage.pass(MINUTE).await;
            if is_stopped {
                stage = stage.killed_for(MINUTE).await;
            }
            yes(&stage, question).await;
            attempt = stage.begun.next().await;
            assert_eq!((&attempt.run.id, attempt.run.attempt), (&id, 1));
        }
        stage.pass(SECOND - 1).await;
        assert!(!attempt.cancel.is_cancelled(), "no wait counts");
        attempt.end(may_pass("no network"));
        stage.between_attempts(&id).await;
        stage.clock.advance(2_000);
        attempt = stage.begun.next().await;
        stage.pass(5 * SECOND - 1).await;
        assert!(!attempt.cancel.is_cancelled(), "another attempt has the whole limit");
        asks(&stage, attempt, &["c"]);
        stage.parked(&id).await;
        yes(&stage, "c").await;
        attempt = stage.begun.next().await;
        stage.pass(1).await;
        assert!(attempt.cancel.is_cancelled(), "and no more than that");
        attempt.end(Outcome::of(RunState::Cancelled));
        let run = stage.ended(&id).await;
        assert_eq!((run.state, run.attempt), (RunState::TimedOut, 2));
        assert_eq!(run.error.as_deref(), Some("Ran out of time after 5 s"));
    }
}

#[tokio::test]
async fn a_run_that_waits_for_its_next_attempt_says_until_when_and_why() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 30_000 } })).await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    let waits = stage.between_attempts(&id).await;
    assert_eq!((waits.state, waits.error.as_deref()), (RunState::Running, Some("no network")));
    let left = waits.next_attempt_at.expect("an instant").since(stage.now());
    assert!((30 * SECOND..38 * SECOND).contains(&left), "{left}");
    stage.pass(left - 1).await;
    assert!(stage.begun.take_all().is_empty());
    stage.clock.advance(1);
    stage.begun.next().await.succeed();
    let run = stage.ended(&id).await;
    assert_eq!((run.next_attempt_at, run.error), (None, None));
}

/// What keeps further attempts from beginning.
#[derive(Debug, Clone, Copy)]
enum Stops {
    Pause,
    KillSwitch,
    JobOff,
}

impl Stops {
    async fn act(self, stage: &Stage, job: &rouse_core::Job) {
        match self {
            Self::Pause => stage.handle.pause(None).await.expect("paused"),
            Self::KillSwitch => {
                let off_reason = "Firing is switched off.".to_owned();
                let off = SchedulerConfig { firing: false, off_reason, ..stage.config.clone() };
                stage.handle.set_config(off).await.expect("set");
            }
            Self::JobOff => {
                let off = json!({ "enabled": false });
                stage.handle.update_job(&job.id, off, None).await.expect("saved");
            }
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Pause => "Everything was paused, so no further attempt was made",
            Self::KillSwitch => "Firing is switched off, so no further attempt was made",
            Self::JobOff => "The job was switched off, so no further attempt was made",
        }
    }
}

const ALL_STOPS: [Stops; 3] = [Stops::Pause, Stops::KillSwitch, Stops::JobOff];

fn tries_thrice() -> serde_json::Value {
    json!({ "runtime": { "maxAttempts": 3, "retryBackoffMs": 30_000 } })
}

#[tokio::test]
async fn a_run_between_two_attempts_ends_as_failed_when_nothing_fires_any_more() {
    for stops in ALL_STOPS {
        let (stage, job, first) = first_attempt(tries_thrice()).await;
        let id = first.run.id.clone();
        first.end(may_pass("no network"));
        stage.between_attempts(&id).await;
        stops.act(&stage, &job).await;
        let run = stage.ended(&id).await;
        assert_eq!((run.state, run.attempt), (RunState::Failed, 1), "{stops:?}");
        assert_eq!(run.error.as_deref(), Some("no network"), "{stops:?}");
        assert_eq!(run.reason.as_deref(), Some(stops.reason()));
        assert_eq!(run.usage.input_tokens, 10, "{stops:?}");
        assert_eq!(stage.store.deliveries_of(&id).await.expect("read").len(), 1, "{stops:?}");
        stage.pass(10 * MINUTE).await;
        assert!(stage.begun.take_all().is_empty(), "{stops:?}");
    }
}

#[tokio::test]
async fn an_attempt_that_fails_when_nothing_fires_any_more_is_the_last() {
    for stops in ALL_STOPS {
        let (stage, job, first) = first_attempt(tries_thrice()).await;
        let id = first.run.id.clone();
        stops.act(&stage, &job).await;
        assert!(!first.cancel.is_cancelled(), "what is at work goes on");
        first.end(may_pass("no network"));
        let run = stage.ended(&id).await;
        assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
        assert_eq!(run.reason.as_deref(), Some(stops.reason()));
    }
}

#[tokio::test]
async fn a_run_by_hand_is_tried_again_whatever_is_off() {
    for stops in ALL_STOPS {
        let stage = Stage::new().await;
        let job = stage.add(every(600 * MINUTE, tries_thrice())).await;
        let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked");
        let first = stage.begun.next().await;
        stops.act(&stage, &job).await;
        first.end(may_pass("no network"));
        let id = id.expect("begun");
        stage.between_attempts(&id).await;
        stage.clock.advance(40_000);
        let second = stage.begun.next().await;
        assert_eq!((&second.run.id, second.run.attempt), (&id, 2), "{stops:?}");
    }
}

#[tokio::test]
async fn a_job_that_another_run_has_switched_off_is_not_tried_again() {
    let stage = Stage::new().await;
    let more = json!({
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 600_000 },
        "policies": { "overlap": "parallel", "pauseAfterFailures": 1 },
    });
    stage.add(every(MINUTE, more)).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    stage.between_attempts(&id).await;
    stage.clock.advance(60_000);
    stage.begun.next().await.end(Outcome::failed("wrong key"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
    assert_eq!(
        run.reason.as_deref(),
        Some("Paused after a failure, so no further attempt was made")
    );
}

#[tokio::test]
async fn a_run_between_two_attempts_is_cancelled_at_once() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 5, "retryBackoffMs": 30_000 } })).await;
    let id = first.run.id.clone();
    first.end(may_pass("no network"));
    stage.settle().await;
    assert!(stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.usage.input_tokens), (RunState::Cancelled, 10));
}

#[tokio::test]
async fn a_cancelled_run_is_not_tried_again() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 5, "retryBackoffMs": 0 } })).await;
    let id = first.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer");
    first.end(may_pass("the connection was closed"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt), (RunState::Cancelled, 1));
}

#[tokio::test]
async fn failures_in_a_row_switch_the_job_off_and_say_so() {
    let stage = Stage::new().await;
    let policies = json!({ "policies": { "pauseAfterFailures": 2, "notify": "never" } });
    let job = stage.add(every(MINUTE, policies)).await;
    for _ in 0..2 {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(Outcome::failed("no network"));
        stage.ended(&id).await;
    }
    stage.settle().await;
    let stored = stage.stored(&job).await;
    assert_eq!((stored.enabled, stored.state.next_run_at), (false, None));
    let last = stage.runs_of(&job.id).await.pop().expect("a run");
    let told = stage.store.deliveries_of(&last.id).await.expect("read");
    assert_eq!(told[0].body, "Paused after 2 failures in a row: no network");
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);

    let on =
        stage.handle.update_job(&job.id, json!({ "enabled": true }), None).await.expect("saved");
    assert_eq!(on.state.consecutive_failures, 0, "it starts afresh");
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.end(Outcome::failed("no network"));
    stage.ended(&id).await;
    stage.settle().await;
    assert!(stage.stored(&job).await.enabled);
}

#[tokio::test]
async fn a_success_ends_the_row_of_failures() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": { "pauseAfterFailures": 2 } }))).await;
    for outcome in [Outcome::failed("x"), Outcome::succeeded("y"), Outcome::failed("z")] {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(outcome);
        stage.ended(&id).await;
    }
    stage.settle().await;
    assert!(stage.stored(&job).await.enabled);
}

#[tokio::test]
async fn only_a_changed_result_is_told() {
    let stage = Stage::new().await;
    let payload = json!({ "kind": "toolCall", "tool": "http", "notifyWhen": "changed" });
    stage.add(every(MINUTE, json!({ "payload": payload }))).await;
    let mut told = Vec::new();
    for result in [1, 1, 2] {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(Outcome { result: Some(json!(result)), ..Outcome::succeeded("Looked.") });
        stage.ended(&id).await;
        told.push(stage.store.deliveries_of(&id).await.expect("read").len());
    }
    assert_eq!(told, [1, 0, 1]);
}

#[tokio::test]
async fn a_backoff_is_not_shortened_by_setting_the_clock() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 30_000 } })).await;
    let now = first.run.started_at.expect("begun");
    first.end(may_pass("no network"));
    stage.settle().await;
    stage.clock.set(now.plus_ms(MINUTE));
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty());
    // Thirty seconds, and less than a quarter more.
    stage.clock.advance(40 * SECOND.unsigned_abs());
    assert_eq!(stage.begun.next().await.run.attempt, 2);
}

/// Nobody is called a failure for it, and nobody waits in vain for what was to be done: it is tried again like a failure that
/// may pass, told once, and told when it is over.
#[tokio::test]
async fn a_run_that_finds_no_model_is_tried_again_and_told_once() {
    let absent = || Outcome { may_pass: true, ..Outcome::skipped("mine is not running") };
    let runtime = json!({
        "payload": { "kind": "agentTurn", "message": "Brief me" },
        "runtime": { "maxAttempts": 2, "retryBackoffMs": 500 },
        "policies": { "pauseAfterFailures": 1 },
    });
    let (stage, job, first) = first_attempt(runtime).await;
    let mut told = Vec::new();
    let mut begun = first;
    for _ in 0..2 {
        let id = begun.run.id.clone();
        begun.end(absent());
        stage.settle().await;
        stage.pass(SECOND).await;
        let again = stage.begun.next().await;
        assert_eq!((&again.run.id, again.run.attempt), (&id, 2));
        again.end(absent());
        let run = stage.ended(&id).await;
        assert_eq!(
            (run.state, run.reason.as_deref()),
            (RunState::Skipped, Some("mine is not running"))
        );
        told.extend(stage.store.deliveries_of(&id).await.expect("read"));
        stage.pass(10 * MINUTE).await;
        begun = stage.begun.next().await;
    }
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    told.extend(stage.store.deliveries_of(&id).await.expect("read"));
    let words: Vec<&str> = told.iter().map(|delivery| delivery.body.as_str()).collect();
    assert_eq!(words.len(), 2, "{words:?}");
    assert_eq!(words[0], "Skipped: mine is not running");
    assert!(words[1].starts_with("Its model answers again after 2 runs"), "{words:?}");
    let state = stage.stored(&job).await.state;
    assert_eq!(state.consecutive_failures, 0, "and its job is not paused for it");
}

/// Why no model was there is said, whatever keeps the further attempts from beginning.
#[tokio::test]
async fn a_run_that_found_no_model_and_is_given_up_says_both() {
    let (stage, job, first) = first_attempt(tries_thrice()).await;
    let id = first.run.id.clone();
    first.end(Outcome { may_pass: true, ..Outcome::skipped("mine is not running.") });
    stage.between_attempts(&id).await;
    Stops::Pause.act(&stage, &job).await;
    let run = stage.ended(&id).await;
    let both = "mine is not running. Everything was paused, so no further attempt was made";
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Skipped, Some(both)));
}
