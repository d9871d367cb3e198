//! Attempts and backoff.

use rouse_core::Outcome;

use super::*;
use crate::{Backoff, RunEnd};

fn backoff(run_id: &RunId) -> Backoff {
    let usage = Usage {
        input_tokens: 5,
        cached_input_tokens: 4,
        output_tokens: 3,
        cost_micro_usd: Some(2),
        ..Usage::NONE
    };
    let failure = Outcome {
        is_transient: true,
        summary: Some("It went half-way.".to_owned()),
        error_for_log: Some("It was not reached".to_owned()),
        model: Some("m".to_owned()),
        fallback_reason: Some("n did not answer".to_owned()),
        usage,
        ..Outcome::failed("no network")
    };
    Backoff {
        run_id: run_id.clone(),
        failure,
        wait_ms: 700,
        next_attempt_at: NOW.plus_ms(800),
        waits_for: None,
        worked_ms: 0,
    }
}

#[tokio::test]
async fn backoff_round_trips() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    assert_eq!(fixture.store.backoff(&id).await.unwrap(), None);
    let written = backoff(&id);
    fixture.store.save_backoff(&written, NOW.plus_ms(100)).await.unwrap();
    let event = json!({ "runId": id.as_str(), "state": "running", "jobId": "a" });
    assert_eq!(fixture.take_events(), [(EventKind::Run, event)]);
    let run = fixture.run(&id).await;
    assert_eq!((run.state, run.attempt, run.usage), (RunState::Running, 1, written.failure.usage));
    assert_eq!(run.next_attempt_at, Some(NOW.plus_ms(800)));
    assert_eq!(run.error.as_deref(), Some("no network"));
    let read = fixture.store.backoff(&id).await.unwrap().unwrap();
    // The usage is in the row, and is not added again.
    let failure = Outcome { usage: Usage::default(), ..written.failure.clone() };
    assert_eq!(read, Backoff { failure, ..written });
}

#[tokio::test]
async fn new_attempt_clears_failure_but_keeps_usage() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let written = backoff(&id);
    fixture.store.save_backoff(&written, NOW).await.unwrap();
    fixture.store.begin_attempt(&id, 2, NOW.plus_ms(800)).await.unwrap();
    let run = fixture.run(&id).await;
    assert_eq!((run.attempt, run.next_attempt_at, run.error, run.summary), (2, None, None, None));
    assert_eq!(fixture.store.backoff(&id).await.unwrap(), None);
    let outcome = Outcome { usage: written.failure.usage, ..Outcome::succeeded("Done.") };
    fixture.store.finish_run(&RunEnd::of(id.clone(), outcome, NOW)).await.unwrap();
    let usage = fixture.run(&id).await.usage;
    assert_eq!((usage.input_tokens, usage.cost_micro_usd), (10, Some(4)), "both attempts");
}

#[tokio::test]
async fn ended_run_leaves_backoff() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    fixture.store.save_backoff(&backoff(&id), NOW).await.unwrap();
    let cancelled = Outcome::of(RunState::Cancelled);
    fixture.store.finish_run(&RunEnd::of(id.clone(), cancelled, NOW)).await.unwrap();
    let run = fixture.run(&id).await;
    assert_eq!((run.state, run.next_attempt_at, run.error), (RunState::Cancelled, None, None));
    assert_eq!(run.usage.input_tokens, 5);
    fixture.take_events();
    fixture.store.save_backoff(&backoff(&id), NOW).await.unwrap();
    assert_eq!(fixture.take_events(), [], "the run has ended");
    assert_eq!(fixture.store.backoff(&id).await.unwrap(), None);
}

#[tokio::test]
async fn attempt_is_counted_until_run_ends() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    fixture.store.begin_attempt(&id, 2, NOW).await.unwrap();
    assert_eq!(fixture.run(&id).await.attempt, 2);
    assert_eq!(fixture.take_events().len(), 1);
    let failed = Outcome::failed("x");
    fixture.store.finish_run(&RunEnd::of(id.clone(), failed, NOW.plus_ms(10))).await.unwrap();
    fixture.take_events();
    fixture.store.begin_attempt(&id, 3, NOW).await.unwrap();
    assert_eq!(fixture.run(&id).await.attempt, 2);
    assert_eq!(fixture.take_events(), []);
}
