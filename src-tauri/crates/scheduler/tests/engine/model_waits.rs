//! Pauses within an attempt: for an unavailable model, and for a tool's rate limit.

use std::time::Duration;

use rouse_core::decide::model_backoff;
use rouse_core::run::WaitsFor;
use rouse_core::{Outcome, RunState};
use serde_json::json;

use crate::stage::{MINUTE, SECOND, ScriptedRun, Stage, every, message};

fn overloaded() -> Outcome {
    Outcome {
        is_transient: true,
        waits_for: Some(WaitsFor::Model),
        ..Outcome::failed("The model is overloaded.")
    }
}

fn over_limit(wait_ms: u64) -> Outcome {
    Outcome {
        waits_for: Some(WaitsFor::RateLimit),
        retry_after_ms: Some(wait_ms),
        ..Outcome::failed("http is over its rate limit.")
    }
}

async fn begun(more: serde_json::Value) -> (Stage, ScriptedRun) {
    let stage = Stage::with_permits(1).await;
    stage.add(every(10 * MINUTE, more)).await;
    stage.clock.advance(600_000);
    let begun = stage.begun.next().await;
    (stage, begun)
}

fn advance(stage: &Stage, ms: i64) {
    stage.clock.advance(u64::try_from(ms).expect("forwards"));
}

fn first_pause(begun: &ScriptedRun) -> i64 {
    let patience = Duration::from_secs(900);
    let pause = model_backoff(Duration::ZERO, patience, None, &begun.run.id).expect("patience");
    i64::try_from(pause.as_millis()).expect("short")
}

#[tokio::test]
async fn wait_for_a_model_uses_no_attempt_and_no_permit() {
    let (stage, first) = begun(json!({})).await;
    let (id, pause) = (first.run.id.clone(), first_pause(&first));
    first.end(overloaded());
    let waiting = stage.between_attempts(&id).await;
    assert_eq!((waiting.waits_for, waiting.attempt), (Some(WaitsFor::Model), 1));
    assert_eq!(stage.load().await, (0, 0), "the permit is released");
    stage.pass(pause - 1).await;
    assert!(stage.begun.take_all().is_empty(), "not before the end of the wait");
    stage.clock.advance(1);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 1));
    assert_eq!(stage.run(&id).await.waits_for, None);
    again.end(Outcome::succeeded("Done."));
    assert_eq!(stage.ended(&id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn used_up_patience_fails_with_the_time_waited() {
    let (stage, mut begun) = begun(json!({})).await;
    let id = begun.run.id.clone();
    let mut waits = 0;
    let run = loop {
        begun.end(overloaded());
        let run = stage.waits_or_over(&id).await;
        let Some(at) = run.next_attempt_at else { break run };
        waits += 1;
        advance(&stage, at.since(stage.now()));
        begun = stage.begun.next().await;
    };
    assert_eq!((run.state, run.attempt), (RunState::Failed, 1));
    assert!((8..16).contains(&waits), "{waits} pauses");
    assert!(run.model_wait_ms >= 900 * SECOND, "{} ms", run.model_wait_ms);
    let error = run.error.unwrap_or_default();
    assert!(error.starts_with("The model is overloaded. Rouse waited 1"), "{error}");
}

#[tokio::test]
async fn wait_for_a_model_survives_a_restart() {
    let (stage, first) = begun(json!({})).await;
    let (id, pause) = (first.run.id.clone(), first_pause(&first));
    first.end(overloaded());
    stage.between_attempts(&id).await;
    let stage = stage.killed_for(pause / 2).await;
    let waiting = stage.run(&id).await;
    assert_eq!(waiting.waits_for, Some(WaitsFor::Model));
    advance(&stage, pause);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 1));
}

#[tokio::test]
async fn wait_for_a_model_does_not_use_the_time_limit() {
    let (stage, first) = begun(json!({ "policies": { "timeoutSeconds": 10 } })).await;
    let (id, pause) = (first.run.id.clone(), first_pause(&first));
    stage.pass(4 * SECOND).await;
    first.end(overloaded());
    stage.between_attempts(&id).await;
    advance(&stage, pause);
    let _again = stage.begun.next().await;
    stage.pass(6 * SECOND - 1).await;
    assert_eq!(stage.run(&id).await.state, RunState::Running);
    stage.pass(1).await;
    advance(&stage, 2 * SECOND);
    assert_eq!(stage.ended(&id).await.state, RunState::TimedOut);
}

#[tokio::test]
async fn rate_limit_waits_within_the_time_limit() {
    let (stage, first) = begun(json!({ "policies": { "timeoutSeconds": 60 } })).await;
    let id = first.run.id.clone();
    first.end(over_limit(20_000));
    assert_eq!(stage.between_attempts(&id).await.waits_for, Some(WaitsFor::RateLimit));
    advance(&stage, 20 * SECOND);
    let again = stage.begun.next().await;
    again.end(over_limit(41_000));
    let run = stage.ended(&id).await;
    assert_eq!(run.state, RunState::Failed, "20 s of the 60 s are gone");
}

#[tokio::test]
async fn chat_waits_a_minute_for_its_model() {
    let stage = Stage::new().await;
    let id = stage.handle.chat(message("Hello")).await.expect("taken");
    let mut begun = stage.begun.next().await;
    let run = loop {
        begun.end(overloaded());
        let run = stage.waits_or_over(&id).await;
        let Some(at) = run.next_attempt_at else { break run };
        assert_eq!(run.waits_for, Some(WaitsFor::Model));
        advance(&stage, at.since(stage.now()));
        begun = stage.begun.next().await;
    };
    assert_eq!(run.state, RunState::Failed);
    assert!((60 * SECOND..80 * SECOND).contains(&run.model_wait_ms), "{} ms", run.model_wait_ms);
}

#[tokio::test]
async fn chat_continues_when_its_model_is_back() {
    let stage = Stage::new().await;
    let id = stage.handle.chat(message("Hello")).await.expect("taken");
    let begun = stage.begun.next().await;
    begun.end(overloaded());
    stage.between_attempts(&id).await;
    let stage = stage.killed_for(SECOND).await;
    advance(&stage, 10 * SECOND);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&id, 1));
    again.end(Outcome::succeeded("Hello."));
    assert_eq!(stage.ended(&id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn resumed_run_queues_behind_waiting_runs() {
    let (stage, first) = begun(json!({})).await;
    let (id, pause) = (first.run.id.clone(), first_pause(&first));
    first.end(overloaded());
    stage.between_attempts(&id).await;
    let (working, queued) = (stage.add_hook("working").await, stage.add_hook("queued").await);
    stage.fire(&working).await;
    let working = stage.begun.next().await;
    stage.fire(&queued).await;
    stage.pass(pause).await;
    working.succeed();
    let next = stage.begun.next().await;
    assert_eq!(next.run.job_id.as_ref(), Some(&queued.id), "the job that waits longest");
    next.succeed();
    assert_eq!(stage.begun.next().await.run.id, id);
}

#[tokio::test]
async fn chat_waits_for_a_rate_limit() {
    let stage = Stage::new().await;
    let id = stage.handle.chat(message("Hello")).await.expect("taken");
    stage.begun.next().await.end(over_limit(20_000));
    assert_eq!(stage.between_attempts(&id).await.waits_for, Some(WaitsFor::RateLimit));
    advance(&stage, 20 * SECOND);
    assert_eq!(stage.begun.next().await.run.id, id);
}
