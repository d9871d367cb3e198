//! Ends of runs: by a person, by their time limit, by a panic.

use rouse_core::condition::ConditionVerdict;
use rouse_core::text::strip_backticks;
use rouse_core::{Outcome, RunId, RunState};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, SECOND, ScriptedRun, Stage, every};

/// A job with an active first run.
async fn at_work(more: serde_json::Value) -> (Stage, rouse_core::Job, ScriptedRun) {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, more)).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    (stage, job, begun)
}

#[tokio::test]
async fn active_run_ends_as_cancelled_when_it_stops() {
    let (stage, job, begun) = at_work(json!({})).await;
    let id = begun.run.id.clone();
    assert!(stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer"));
    begun.cancel.cancelled().await;
    assert_eq!(stage.run(&id).await.state, RunState::Running, "the run has two seconds to end");
    begun.end(Outcome::failed("I was told to stop"));
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Cancelled, Some("Cancelled by you")));
    assert_eq!((run.error, stage.stored(&job).await.state.consecutive_failures), (None, 0));
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read"), []);
}

#[tokio::test]
async fn run_that_ignores_cancel_is_aborted_in_two_seconds() {
    let (stage, _, mut begun) = at_work(json!({})).await;
    let id = begun.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer");
    stage.pass(1_749).await;
    assert_eq!(stage.load().await.0, 1);
    stage.clock.advance(1);
    assert_eq!(stage.ended(&id).await.state, RunState::Cancelled);
    begun.aborted().await;
    assert_eq!(stage.load().await, (0, 0));
}

#[tokio::test]
async fn complete_run_is_not_called_cancelled() {
    let (stage, _, begun) = at_work(json!({})).await;
    let id = begun.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer");
    begun.succeed();
    assert_eq!(stage.ended(&id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn queued_run_is_cancelled_at_once() {
    let (stage, job, first) = at_work(json!({ "policies": { "overlap": "queue" } })).await;
    stage.pass(MINUTE).await;
    let waiting = stage.runs_of(&job.id).await[1].id.clone();
    assert!(stage.handle.cancel(&waiting, "Cancelled by you").await.expect("an answer"));
    let run = stage.run(&waiting).await;
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Cancelled, Some("Cancelled by you")));
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    assert_eq!(stage.load().await, (0, 0), "the run never starts");
}

#[tokio::test]
async fn ended_run_cannot_be_cancelled() {
    let (stage, _, begun) = at_work(json!({})).await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert!(!stage.handle.cancel(&id, "Too late").await.expect("an answer"));
    assert!(!stage.handle.cancel(&RunId::new("unknown"), "Too late").await.expect("an answer"));
    assert_eq!(stage.run(&id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn time_limit_ends_an_unresponsive_run() {
    let (stage, job, mut begun) = at_work(json!({ "policies": { "timeoutSeconds": 20 } })).await;
    let id = begun.run.id.clone();
    stage.pass(19_999).await;
    assert!(!begun.cancel.is_cancelled());
    stage.pass(1).await;
    assert!(begun.cancel.is_cancelled());
    stage.clock.advance(2_000);
    let run = stage.ended(&id).await;
    assert_eq!(
        (run.state, run.error.as_deref()),
        (RunState::TimedOut, Some("Timed out after 20 s"))
    );
    assert_eq!(run.finished_at.zip(run.started_at).map(|(to, from)| to.since(from)), Some(22_000));
    begun.aborted().await;
    assert_eq!(stage.stored(&job).await.state.consecutive_failures, 1);
    let deliveries = stage.store.deliveries_of(&id).await.expect("read");
    assert_eq!(deliveries[0].body, "Timed out.");
}

#[tokio::test]
async fn run_ended_at_its_limit_keeps_its_usage() {
    let (stage, _, begun) = at_work(json!({ "policies": { "timeoutSeconds": 20 } })).await;
    let id = begun.run.id.clone();
    stage.pass(20 * SECOND).await;
    let mut outcome = Outcome::of(RunState::Cancelled);
    outcome.usage.input_tokens = 900;
    begun.end(outcome);
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.usage.input_tokens), (RunState::TimedOut, 900));
}

#[tokio::test]
async fn time_limit_is_monotonic() {
    let (stage, _, begun) = at_work(json!({ "policies": { "timeoutSeconds": 20 } })).await;
    let now = begun.run.started_at.expect("begun");
    stage.clock.set(now.plus_ms(MINUTE / 2));
    stage.settle().await;
    assert!(!begun.cancel.is_cancelled(), "a step forward is no time");
    stage.clock.set(now.plus_ms(-60 * MINUTE));
    stage.pass(20 * SECOND).await;
    assert!(begun.cancel.is_cancelled(), "a step back does not stop time");
}

#[tokio::test]
async fn panic_fails_its_run_only() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "id": "a" }))).await;
    stage.add(every(MINUTE, json!({ "id": "b" }))).await;
    stage.clock.advance(60_000);
    let crashes = stage.begun.next_where(|begun| begun.run.job_id.as_ref() == Some(&job.id)).await;
    let resumed = stage.begun.next().await;
    let id = crashes.run.id.clone();
    crashes.panic();
    let run = stage.ended(&id).await;
    let error = "The run crashed because of a bug in Rouse. The log has the details.";
    assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some(error)));
    let id = resumed.run.id.clone();
    resumed.succeed();
    assert_eq!(stage.ended(&id).await.state, RunState::Succeeded);
    stage.clock.advance(60_000);
    stage.begun.next_where(|begun| begun.run.job_id.as_ref() == Some(&job.id)).await;
}

#[tokio::test]
async fn outcome_with_open_state_fails_the_run() {
    let (stage, _, begun) = at_work(json!({})).await;
    let id = begun.run.id.clone();
    begun.end(Outcome::of(RunState::Running));
    assert_eq!(stage.ended(&id).await.state, RunState::Failed);
}

#[tokio::test]
async fn broken_condition_is_announced_once() {
    let stage = Stage::new().await;
    let payload =
        json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result.level < 20" } });
    let job = stage.add(every(MINUTE, json!({ "payload": payload }))).await;
    let broken = || ConditionVerdict::Broken("there is no key `level`".to_owned());
    let mut bodies = Vec::new();
    for verdict in
        [broken(), broken(), broken(), ConditionVerdict::NotMet, ConditionVerdict::NotMet, broken()]
    {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") });
        stage.ended(&id).await;
        let sent = stage.store.deliveries_of(&id).await.expect("read");
        bodies.push(sent.into_iter().map(|delivery| delivery.body).collect::<Vec<_>>().join(""));
    }
    let cannot = "The condition could not be checked: there is no key `level`";
    let can = "The condition can be checked again after 3 runs in 3 min.";
    let back = format!(
        "Flapping, 4 times in 5 min; muted until healthy for 6 h: {}",
        strip_backticks(cannot)
    );
    // A notification has no Markdown.
    let bodies = bodies.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(bodies, [&*strip_backticks(cannot), "", "", can, "", &back]);
    let open = stage.store.open_incidents(Some(&job.id)).await.expect("read");
    assert_eq!((open.len(), open[0].count, open[0].cause.as_str()), (1, 4, cannot));
}

#[tokio::test]
async fn simultaneous_ends_of_one_job_count_each_other() {
    let policies = json!({ "overlap": "parallel", "maxConcurrent": 3, "pauseAfterFailures": 3 });
    let (stage, job, first) = at_work(json!({ "policies": policies })).await;
    stage.clock.advance(60_000);
    let second = stage.begun.next().await;
    stage.clock.advance(60_000);
    let third = stage.begun.next().await;
    let ids = [&first, &second, &third].map(|begun| begun.run.id.clone());
    for begun in [first, second, third] {
        begun.end(Outcome::failed("no network"));
    }
    for id in &ids {
        assert_eq!(stage.ended(id).await.state, RunState::Failed);
    }
    stage.settle().await;
    let stored = stage.stored(&job).await;
    assert_eq!((stored.enabled, stored.state.consecutive_failures), (false, 3));
    let open = stage.store.open_incidents(Some(&job.id)).await.expect("read");
    assert_eq!(open.iter().map(|incident| incident.count).collect::<Vec<_>>(), [3]);
}

#[tokio::test]
async fn end_fires_a_job_whose_run_ends_in_the_same_commit() {
    let stage = Stage::new().await;
    let source = stage.add(every(MINUTE, json!({}))).await;
    let after =
        json!({ "kind": "event", "source": "job", "filters": { "jobId": source.id.as_str() } });
    let listener = every(MINUTE, json!({ "id": "after", "schedule": after }));
    let listener = stage.add(listener).await;
    stage.handle.run_now(&listener.id, rouse_scheduler::ManualRunMode::Force).await.expect("taken");
    let by_hand = stage.begun.next().await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    assert_eq!(first.run.job_id, Some(source.id));
    by_hand.succeed();
    first.succeed();
    let fired = stage.begun.next().await;
    assert_eq!(fired.run.job_id, Some(listener.id), "no attempt was active");
}

/// Ends the next run of a minutely job with `outcome`. Returns the notifications.
async fn next_ends(stage: &Stage, outcome: Outcome) -> Vec<String> {
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.end(outcome);
    stage.ended(&id).await;
    stage.settle().await;
    let deliveries = stage.store.deliveries_of(&id).await.expect("read");
    deliveries.into_iter().map(|delivery| delivery.body).collect()
}

#[tokio::test]
async fn flapping_job_is_announced_once() {
    let stage = Stage::new().await;
    stage
        .add(every(
            MINUTE,
            json!({ "payload": { "kind": "toolCall", "tool": "echo", "notifyWhen": "failure" } }),
        ))
        .await;
    let failed = || Outcome::failed("no network");
    let well = || Outcome::succeeded("ok");
    assert_eq!(next_ends(&stage, failed()).await, ["Failed: no network"]);
    assert_eq!(next_ends(&stage, well()).await, ["Works again after a failure."]);
    let back = next_ends(&stage, failed()).await;
    assert!(back.len() == 1 && back[0].starts_with("Flapping, 2 times in 2 min"), "{back:?}");
    for _ in 0..5 {
        assert_eq!(next_ends(&stage, well()).await, [""; 0]);
        assert_eq!(next_ends(&stage, failed()).await, [""; 0]);
    }
    // A restart keeps the incident.
    let stage = stage.killed_for(0).await;
    assert_eq!(next_ends(&stage, well()).await, [""; 0]);
    stage.clock.advance((6 * HOUR).unsigned_abs());
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.end(well());
    stage.ended(&id).await;
    let deliveries = stage.store.deliveries_of(&id).await.expect("read");
    let deliveries: Vec<&str> = deliveries.iter().map(|delivery| delivery.body.as_str()).collect();
    assert_eq!(deliveries, ["Works again after 7 failures in 6 h 13 min."]);
}
