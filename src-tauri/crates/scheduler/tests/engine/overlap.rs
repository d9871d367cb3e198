//! Slots that are due while a run of their job is active.

use rouse_core::run::Usage;
use rouse_core::{Job, Outcome, RunId, RunState};
use serde_json::{Value, json};

use crate::stage::{MINUTE, START, ScriptedRun, Stage, every};

/// A minutely job with the first run active when the second slot is due.
async fn overlapping(policies: Value) -> (Stage, Job, ScriptedRun) {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": policies }))).await;
    stage.pass(MINUTE).await;
    let first = stage.begun.next().await;
    stage.pass(MINUTE).await;
    (stage, job, first)
}

#[tokio::test]
async fn overlap_skip_skips_with_reason() {
    let (stage, job, first) = overlapping(json!({})).await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(
        (runs[1].state, runs[1].reason.as_deref()),
        (RunState::Skipped, Some("The previous run was still running"))
    );
    assert_eq!(stage.stored(&job).await.state.last.state, Some(RunState::Skipped));
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    stage.clock.advance(60_000);
    let third = stage.begun.next().await;
    assert_eq!(third.run.slot_at, Some(START.plus_ms(3 * MINUTE)), "the next slot fires again");
}

#[tokio::test]
async fn overlap_queue_queues_the_run() {
    let (stage, _, first) = overlapping(json!({ "overlap": "queue" })).await;
    assert_eq!(stage.load().await, (1, 1));
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (1, 2));
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(second.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
    assert_eq!(stage.load().await, (1, 1));
}

#[tokio::test]
async fn overlap_parallel_runs_up_to_its_limit() {
    let (stage, job, first) =
        overlapping(json!({ "overlap": "parallel", "maxConcurrent": 2 })).await;
    assert_eq!(stage.load().await, (2, 0));
    stage.pass(MINUTE).await;
    assert_eq!(
        stage.states_of(&job).await,
        [RunState::Running, RunState::Running, RunState::Skipped]
    );
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (2, 0));
}

#[tokio::test]
async fn cancel_other_replaces_the_active_run() {
    let (stage, job, first) = overlapping(json!({ "overlap": "cancelOther" })).await;
    first.cancel.cancelled().await;
    assert_eq!(stage.load().await, (1, 1), "the newer run waits for the end of the older run");
    let id = first.run.id.clone();
    first.end(Outcome::of(RunState::Cancelled));
    let old = stage.ended(&id).await;
    assert_eq!(old.reason.as_deref(), Some("Replaced by a newer slot"));
    let second = stage.begun.next().await;
    assert_eq!(second.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
    assert_eq!(stage.states_of(&job).await, [RunState::Cancelled, RunState::Running]);
}

#[tokio::test]
async fn cancel_other_replaces_queued_runs() {
    let (stage, job, _never_ends) = overlapping(json!({ "overlap": "cancelOther" })).await;
    stage.pass(MINUTE).await;
    stage.settle().await;
    let states = stage.states_of(&job).await;
    // Two seconds after the stop, the first run is aborted.
    assert_eq!(states, [RunState::Cancelled, RunState::Cancelled, RunState::Running]);
}

/// A minutely job with `cancelOther`, and the first run in a backoff of ten minutes.
async fn replaced_in_backoff(more: Value, policies: Value) -> (Stage, Job, RunId) {
    let stage = Stage::new().await;
    let mut document = every(MINUTE, more);
    document["runtime"] = json!({ "maxAttempts": 3, "retryBackoffMs": 600_000 });
    document["policies"] = policies;
    document["policies"]["overlap"] = "cancelOther".into();
    let job = stage.add(document).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    let usage = Usage { input_tokens: 10, ..Usage::default() };
    first.end(Outcome { is_transient: true, usage, ..Outcome::failed("no network") });
    stage.between_attempts(&id).await;
    (stage, job, id)
}

#[tokio::test]
async fn cancel_other_fails_a_run_in_backoff() {
    let (stage, job, id) = replaced_in_backoff(json!({}), json!({})).await;
    let schedule = json!({ "kind": "event", "source": "job",
        "filters": { "jobId": job.id.as_str(), "status": "error" } });
    let after = stage.add(every(MINUTE, json!({ "id": "after", "schedule": schedule }))).await;
    stage.clock.advance(60_000);
    stage.ended(&id).await;
    stage.settle().await;
    let begun = stage.begun.take_all();
    let of = |job: &Job| begun.iter().find(|begun| begun.run.job_id.as_ref() == Some(&job.id));
    assert!(of(&job).is_some_and(|newer| newer.run.id != id), "the newer run begins at once");
    assert!(of(&after).is_some(), "a follow-up of the failure");
    let run = stage.run(&id).await;
    let why = "Replaced by a newer slot, so it was not retried";
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Failed, Some(why)));
    assert_eq!((run.error.as_deref(), run.usage.input_tokens), (Some("no network"), 10));
    assert_eq!(stage.stored(&job).await.state.consecutive_failures, 1);
    assert_eq!(stage.store.open_incidents(Some(&job.id)).await.expect("read").len(), 1);
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn run_replaced_in_backoff_can_pause_its_job() {
    let policies = json!({ "pauseAfterFailures": 1 });
    let (stage, job, id) = replaced_in_backoff(json!({}), policies).await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.ended(&id).await.state, RunState::Failed);
    stage.settle().await;
    assert!(!stage.stored(&job).await.enabled);
    assert_eq!(stage.states_of(&job).await, [RunState::Failed, RunState::Skipped]);
    assert!(stage.begun.take_all().is_empty(), "a paused job begins nothing");
}

#[tokio::test]
async fn run_replaced_in_backoff_does_not_delete_its_job() {
    let more = json!({ "deleteAfterRun": true });
    let (stage, job, id) = replaced_in_backoff(more, json!({})).await;
    stage.clock.advance(60_000);
    let newer = stage.begun.next().await;
    assert_eq!(stage.ended(&id).await.state, RunState::Failed);
    assert!(stage.store.job(&job.id).await.expect("read").is_some(), "the newer run is open");
    let id = newer.run.id.clone();
    newer.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "the end of that run decides");
}

#[tokio::test]
async fn run_in_backoff_is_cancelled_with_its_job() {
    let (stage, job, id) = replaced_in_backoff(json!({}), json!({})).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn cooldown_skips_slots() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": { "cooldownSeconds": 120 } }))).await;
    for _ in 0..4 {
        stage.pass(MINUTE).await;
        for begun in stage.begun.take_all() {
            let id = begun.run.id.clone();
            begun.succeed();
            stage.ended(&id).await;
        }
    }
    let states = stage.states_of(&job).await;
    assert_eq!(
        states,
        [RunState::Succeeded, RunState::Skipped, RunState::Succeeded, RunState::Skipped]
    );
    let skipped = &stage.runs_of(&job.id).await[1];
    assert_eq!(skipped.reason.as_deref(), Some("Less than 2 min after the run before"));
}
