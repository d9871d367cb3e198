//! Retries, consecutive failures, and comparison with the previous result.

use rouse_core::decide::retry_after_ms;
use rouse_core::{Outcome, RunState};
use rouse_scheduler::{ManualRunMode, SchedulerConfig};
use serde_json::json;

use crate::pending_approvals::{approve, end_with_approvals};
use crate::stage::{MINUTE, SECOND, ScriptedRun, Stage, every};

fn transient(error: &str) -> Outcome {
    let mut outcome = Outcome { is_transient: true, ..Outcome::failed(error) };
    outcome.usage.input_tokens = 10;
    outcome
}

async fn first_attempt(more: serde_json::Value) -> (Stage, rouse_core::Job, ScriptedRun) {
    let stage = Stage::new().await;
    let job = stage.add(every(10 * MINUTE, more)).await;
    stage.clock.advance(600_000);
    let begun = stage.begun.next().await;
    (stage, job, begun)
}

#[tokio::test]
async fn transient_error_is_retried_with_a_growing_backoff() {
    let runtime = json!({ "runtime": { "maxAttempts": 3, "retryBackoffMs": 500 } });
    let (stage, job, first) = first_attempt(runtime).await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
    for (least, attempt) in [(500, 2), (1_000, 3)] {
        let runtime = job.runtime.as_ref();
        let backoff = retry_after_ms(runtime, attempt - 1, &id).expect("an attempt is left");
        let backoff = i64::try_from(backoff).expect("a short one");
        assert!((least..least + least / 4).contains(&backoff), "{backoff}");
        stage.settle().await;
        stage.pass(backoff - 1).await;
        assert!(stage.begun.take_all().is_empty(), "not before the end of the backoff");
        assert_eq!(stage.load().await, (0, 0), "the run is not active");
        stage.clock.advance(1);
        let again = stage.begun.next().await;
        assert_eq!((&again.run.id, again.run.attempt), (&id, attempt));
        assert_eq!(stage.run(&id).await.attempt, attempt);
        again.end(transient("no network"));
    }
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt, run.usage.input_tokens), (RunState::Failed, 3, 30));
    assert_eq!(
        stage.stored(&job).await.state.consecutive_failures,
        1,
        "three attempts are a single failure"
    );
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn backoff_frees_the_permit_and_retry_takes_the_next() {
    let stage = Stage::with_permits(1).await;
    let runtime =
        json!({ "id": "fails", "runtime": { "maxAttempts": 3, "retryBackoffMs": 60_000 } });
    stage.add(every(60 * MINUTE, runtime)).await;
    let works = stage.add_hook("works").await;
    stage.clock.advance(60 * 60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
    // Fired while the first attempt may still hold the permit.
    stage.fire(&works).await;
    let other = stage.begun.next().await;
    assert_eq!(other.run.job_id.as_ref(), Some(&works.id));
    // The backoff is 60 to 75 s.
    stage.pass(2 * MINUTE).await;
    assert!(stage.begun.take_all().is_empty(), "the only permit is taken");
    assert_eq!(stage.load().await, (1, 0));
    other.succeed();
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 2));
    again.end(transient("no network"));
    stage.fire(&works).await;
    stage.begun.next().await.succeed();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("taken");
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn status_counts_runs_in_backoff_apart() {
    let stage = Stage::with_permits(1).await;
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 60_000 } });
    let fails = stage.add(every(60 * MINUTE, runtime)).await;
    let works = json!({ "id": "works", "schedule": { "kind": "manual" } });
    let works = stage.add(every(MINUTE, works)).await;
    let first = stage.handle.run_now(&fails.id, ManualRunMode::Force).await.expect("taken");
    stage.begun.next().await.end(transient("no network"));
    stage.between_attempts(&first.expect("a run")).await;
    stage.handle.run_now(&works.id, ManualRunMode::Force).await.expect("taken");
    let other = stage.begun.next().await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts, status.queued), (1, 1, 0));
    // The backoff is over, and no permit is free.
    stage.pass(2 * MINUTE).await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts), (1, 1));
    other.succeed();
    stage.begun.next().await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!((status.running, status.between_attempts), (1, 0));
}

#[tokio::test]
async fn run_ended_by_the_next_slot_does_not_block_the_slot() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    for _ in 0..60 {
        stage.begun.next().await.succeed();
        // Slot and request may arrive while the engine writes the start.
        stage.pass(MINUTE).await;
        assert!(!stage.states_of(&job).await.contains(&RunState::Skipped), "no slot is left out");
    }
}

#[tokio::test]
async fn wait_for_a_permit_does_not_use_the_time_limit() {
    let stage = Stage::with_permits(1).await;
    let runtime = json!({ "id": "fails", "runtime": { "maxAttempts": 3, "retryBackoffMs": 60_000 },
        "policies": { "timeoutSeconds": 120 } });
    let fails = stage.add(every(60 * MINUTE, runtime)).await;
    let long = json!({ "id": "long", "policies": { "timeoutSeconds": 3_600 },
        "schedule": { "kind": "webhook" } });
    let long = stage.add(every(90 * MINUTE, long)).await;
    stage.clock.advance(60 * 60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    assert_eq!(first.run.job_id.as_ref(), Some(&fails.id));
    first.end(transient("no network"));
    stage.between_attempts(&id).await;
    stage.fire(&long).await;
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
    assert_eq!(stage.ended(&id).await.error.as_deref(), Some("Timed out after 2 min"));
}

#[tokio::test]
async fn retry_may_succeed() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 0 } })).await;
    let id = first.run.id.clone();
    first.end(transient("overloaded"));
    let second = stage.begun.next().await;
    assert_eq!(second.run.attempt, 2);
    second.succeed();
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.error), (RunState::Succeeded, None));
}

#[tokio::test]
async fn retry_after_delays_the_retry() {
    let runtime = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 500 } });
    let (stage, _, first) = first_attempt(runtime).await;
    let id = first.run.id.clone();
    first.end(Outcome { retry_after_ms: Some(90_000), ..transient("come back later") });
    stage.settle().await;
    stage.pass(89_999).await;
    assert!(stage.begun.take_all().is_empty(), "not before the end of the backoff");
    stage.clock.advance(1);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 2));
    again.end(Outcome::failed("done"));
    stage.ended(&id).await;
}

#[tokio::test]
async fn permanent_error_is_not_retried() {
    let (stage, _, first) = first_attempt(json!({ "runtime": { "maxAttempts": 5 } })).await;
    let id = first.run.id.clone();
    first.end(Outcome::failed("wrong key"));
    assert_eq!(stage.ended(&id).await.attempt, 1);
}

#[tokio::test]
async fn job_without_runtime_has_one_attempt() {
    let (stage, _, first) = first_attempt(json!({})).await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
    assert_eq!((stage.ended(&id).await.state, stage.load().await), (RunState::Failed, (0, 0)));
}

#[tokio::test]
async fn each_attempt_has_the_whole_time_limit() {
    let more = json!({
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 30_000 },
        "policies": { "timeoutSeconds": 20 },
    });
    let (stage, _, mut attempt) = first_attempt(more).await;
    let id = attempt.run.id.clone();
    for backoff in [38 * SECOND, 75 * SECOND] {
        stage.pass(19 * SECOND).await;
        assert!(!attempt.cancel.is_cancelled());
        attempt.end(transient("no network"));
        stage.between_attempts(&id).await;
        stage.clock.advance(backoff.unsigned_abs());
        attempt = stage.begun.next().await;
    }
    assert_eq!((&attempt.run.id, attempt.run.attempt), (&id, 3));
    stage.pass(20 * SECOND - 1).await;
    assert!(!attempt.cancel.is_cancelled());
    stage.pass(1).await;
    assert!(attempt.cancel.is_cancelled(), "the job's own limit has an end");
    attempt.end(Outcome::of(RunState::Cancelled));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt), (RunState::TimedOut, 3));
    assert_eq!(run.error.as_deref(), Some("Timed out after 20 s"));
}

#[tokio::test]
async fn time_before_an_approval_counts_toward_the_limit() {
    for is_stopped in [false, true] {
        let more = json!({
            "runtime": { "maxAttempts": 2, "retryBackoffMs": 1_000 },
            "policies": { "timeoutSeconds": 5 },
        });
        let (mut stage, _, mut attempt) = first_attempt(more).await;
        let id = attempt.run.id.clone();
        for approval in ["a", "b"] {
            stage.pass(2 * SECOND).await;
            end_with_approvals(&stage, attempt, &[approval]);
            stage.parked(&id).await;
            stage.pass(MINUTE).await;
            if is_stopped {
                stage = stage.killed_for(MINUTE).await;
            }
            approve(&stage, approval).await;
            attempt = stage.begun.next().await;
            assert_eq!((&attempt.run.id, attempt.run.attempt), (&id, 1));
        }
        stage.pass(SECOND - 1).await;
        assert!(!attempt.cancel.is_cancelled(), "no wait counts");
        attempt.end(transient("no network"));
        stage.between_attempts(&id).await;
        stage.clock.advance(2_000);
        attempt = stage.begun.next().await;
        stage.pass(5 * SECOND - 1).await;
        assert!(!attempt.cancel.is_cancelled(), "another attempt has the whole limit");
        end_with_approvals(&stage, attempt, &["c"]);
        stage.parked(&id).await;
        approve(&stage, "c").await;
        attempt = stage.begun.next().await;
        stage.pass(1).await;
        assert!(attempt.cancel.is_cancelled(), "and no more than that");
        attempt.end(Outcome::of(RunState::Cancelled));
        let run = stage.ended(&id).await;
        assert_eq!((run.state, run.attempt), (RunState::TimedOut, 2));
        assert_eq!(run.error.as_deref(), Some("Timed out after 5 s"));
    }
}

#[tokio::test]
async fn backoff_shows_next_attempt_and_error() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 30_000 } })).await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
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

/// The reason for a missing retry.
#[derive(Debug, Clone, Copy)]
enum FiringStop {
    Pause,
    KillSwitch,
    JobOff,
}

impl FiringStop {
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
            Self::Pause => "Everything was paused, so it was not retried",
            Self::KillSwitch => "Firing is switched off, so it was not retried",
            Self::JobOff => "The job was switched off, so it was not retried",
        }
    }
}

const ALL_FIRING_STOPS: [FiringStop; 3] =
    [FiringStop::Pause, FiringStop::KillSwitch, FiringStop::JobOff];

fn three_attempts() -> serde_json::Value {
    json!({ "runtime": { "maxAttempts": 3, "retryBackoffMs": 30_000 } })
}

#[tokio::test]
async fn stop_of_firing_fails_a_run_in_backoff() {
    for stops in ALL_FIRING_STOPS {
        let (stage, job, first) = first_attempt(three_attempts()).await;
        let id = first.run.id.clone();
        first.end(transient("no network"));
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
async fn failure_while_firing_is_off_is_not_retried() {
    for stops in ALL_FIRING_STOPS {
        let (stage, job, first) = first_attempt(three_attempts()).await;
        let id = first.run.id.clone();
        stops.act(&stage, &job).await;
        assert!(!first.cancel.is_cancelled(), "active runs continue");
        first.end(transient("no network"));
        let run = stage.ended(&id).await;
        assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
        assert_eq!(run.reason.as_deref(), Some(stops.reason()));
    }
}

#[tokio::test]
async fn manual_run_is_retried_while_firing_is_off() {
    for stops in ALL_FIRING_STOPS {
        let stage = Stage::new().await;
        let job = stage.add(every(600 * MINUTE, three_attempts())).await;
        let id = stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
        let first = stage.begun.next().await;
        stops.act(&stage, &job).await;
        first.end(transient("no network"));
        let id = id.expect("begun");
        stage.between_attempts(&id).await;
        stage.clock.advance(40_000);
        let second = stage.begun.next().await;
        assert_eq!((&second.run.id, second.run.attempt), (&id, 2), "{stops:?}");
    }
}

#[tokio::test]
async fn job_paused_by_another_run_is_not_retried() {
    let stage = Stage::new().await;
    let more = json!({
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 600_000 },
        "policies": { "overlap": "parallel", "pauseAfterFailures": 1 },
    });
    stage.add(every(MINUTE, more)).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
    stage.between_attempts(&id).await;
    stage.clock.advance(60_000);
    stage.begun.next().await.end(Outcome::failed("wrong key"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
    assert_eq!(run.reason.as_deref(), Some("Paused after a failure, so it was not retried"));
}

#[tokio::test]
async fn run_in_backoff_is_cancelled_at_once() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 5, "retryBackoffMs": 30_000 } })).await;
    let id = first.run.id.clone();
    first.end(transient("no network"));
    stage.settle().await;
    assert!(stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.usage.input_tokens), (RunState::Cancelled, 10));
}

#[tokio::test]
async fn cancelled_run_is_not_retried() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 5, "retryBackoffMs": 0 } })).await;
    let id = first.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer");
    first.end(transient("the connection was closed"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.attempt), (RunState::Cancelled, 1));
}

#[tokio::test]
async fn consecutive_failures_pause_the_job() {
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
    let deliveries = stage.store.deliveries_of(&last.id).await.expect("read");
    assert_eq!(deliveries[0].body, "Paused after 2 failures in a row: no network");
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);

    let on =
        stage.handle.update_job(&job.id, json!({ "enabled": true }), None).await.expect("saved");
    assert_eq!(on.state.consecutive_failures, 0, "the backoff starts afresh");
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.end(Outcome::failed("no network"));
    stage.ended(&id).await;
    stage.settle().await;
    assert!(stage.stored(&job).await.enabled);
}

#[tokio::test]
async fn success_resets_consecutive_failures() {
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
async fn notify_when_changed_announces_changes_only() {
    let stage = Stage::new().await;
    let payload = json!({ "kind": "toolCall", "tool": "http", "notifyWhen": "changed" });
    stage.add(every(MINUTE, json!({ "payload": payload }))).await;
    let mut counts = Vec::new();
    for result in [1, 1, 2] {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(Outcome { result: Some(json!(result)), ..Outcome::succeeded("Looked.") });
        stage.ended(&id).await;
        counts.push(stage.store.deliveries_of(&id).await.expect("read").len());
    }
    assert_eq!(counts, [1, 0, 1]);
}

#[tokio::test]
async fn clock_jump_does_not_shorten_a_backoff() {
    let (stage, _, first) =
        first_attempt(json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 30_000 } })).await;
    let now = first.run.started_at.expect("begun");
    first.end(transient("no network"));
    stage.settle().await;
    stage.clock.set(now.plus_ms(MINUTE));
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty());
    // The backoff is 30 s and less than a quarter more.
    stage.clock.advance(40 * SECOND.unsigned_abs());
    assert_eq!(stage.begun.next().await.run.attempt, 2);
}

/// A missing model is no failure: the run is retried like after a transient error, announced once, and announced again
/// after the recovery.
#[tokio::test]
async fn run_without_model_is_retried_and_announced_once() {
    let absent = || Outcome { is_transient: true, ..Outcome::skipped("mine is not running") };
    let runtime = json!({
        "payload": { "kind": "agentTurn", "message": "Brief me" },
        "runtime": { "maxAttempts": 2, "retryBackoffMs": 500 },
        "policies": { "pauseAfterFailures": 1 },
    });
    let (stage, job, first) = first_attempt(runtime).await;
    let mut notices = Vec::new();
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
        notices.extend(stage.store.deliveries_of(&id).await.expect("read"));
        stage.pass(10 * MINUTE).await;
        begun = stage.begun.next().await;
    }
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    notices.extend(stage.store.deliveries_of(&id).await.expect("read"));
    let words: Vec<&str> = notices.iter().map(|delivery| delivery.body.as_str()).collect();
    assert_eq!(words.len(), 2, "{words:?}");
    assert_eq!(words[0], "Skipped: mine is not running");
    assert!(words[1].starts_with("The model answers again after 2 runs"), "{words:?}");
    let state = stage.stored(&job).await.state;
    assert_eq!(state.consecutive_failures, 0, "the job is not paused");
}

/// The missing model is named, for every end of the retries.
#[tokio::test]
async fn abandoned_run_without_model_gives_both_reasons() {
    let (stage, job, first) = first_attempt(three_attempts()).await;
    let id = first.run.id.clone();
    first.end(Outcome { is_transient: true, ..Outcome::skipped("mine is not running.") });
    stage.between_attempts(&id).await;
    FiringStop::Pause.act(&stage, &job).await;
    let run = stage.ended(&id).await;
    let both = "mine is not running. Everything was paused, so it was not retried";
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Skipped, Some(both)));
}
