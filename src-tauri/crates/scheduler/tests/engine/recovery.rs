//! Recovery of the runs of an earlier process.

use rouse_core::{Outcome, Run, RunState, RunTrigger, UnixMs};
use rouse_scheduler::SchedulerConfig;
use rouse_store::{NewStep, StepKind};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, SECOND, START, ScriptedRun, Stage, every, execute, opened};

#[tokio::test]
async fn interrupted_run_gets_a_catch_up_run() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let cut_off = stage.begun.next().await.run;
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    assert_eq!(
        (again.run.trigger, again.run.retry_of.as_ref()),
        (RunTrigger::CatchUp, Some(&cut_off.id))
    );
    let old = stage.run(&cut_off.id).await;
    assert_eq!(old.state, RunState::Interrupted);
    assert_eq!(old.reason.as_deref(), Some("Rouse stopped during the run"));
    assert_eq!(
        stage.store.deliveries_of(&cut_off.id).await.expect("read"),
        [],
        "the outcome is still to come"
    );
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);

    // A catch-up run is not caught up again, which could repeat for ever.
    let stage = stage.killed_for(MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted; 2]);
    let second = stage.runs_of(&job.id).await.remove(1);
    let deliveries = stage.store.deliveries_of(&second.id).await.expect("read");
    assert_eq!(deliveries[0].body, "Interrupted: Rouse stopped.");
}

#[tokio::test]
async fn repeated_interruption_is_announced_once() {
    let announced = async |stage: &Stage, job: &rouse_core::job::Job| {
        let mut count = 0;
        for run in stage.runs_of(&job.id).await {
            count += stage.store.deliveries_of(&run.id).await.expect("read").len();
        }
        count
    };
    let mut stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({ "policies": { "notify": "failure" } }))).await;
    for _ in 0..3 {
        stage.pass(HOUR).await;
        stage.begun.next().await;
        stage = stage.killed_for(SECOND).await;
        stage.begun.next().await;
        stage = stage.killed_for(SECOND).await;
        stage.settle().await;
        assert_eq!(announced(&stage, &job).await, 1, "the first that nothing makes up for");
    }
    stage.pass(HOUR).await;
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    for (hours, times) in [(1, 2), (2, 2), (7, 3)] {
        stage.pass(hours * HOUR).await;
        stage.begun.next().await;
        stage = stage.killed_for(SECOND).await;
        stage.begun.next().await;
        stage = stage.killed_for(SECOND).await;
        stage.settle().await;
        assert_eq!(announced(&stage, &job).await, times, "healthy for 6 h");
    }
}

#[tokio::test]
async fn run_with_side_effect_is_not_restarted() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let run = stage.begun.next().await.run;
    let step = NewStep {
        gate: None,
        call_id: None,
        run_id: run.id.clone(),
        kind: StepKind::ToolCall,
        name: "send".to_owned(),
        repeatable: false,
        input: json!({}),
    };
    stage.store.begin_step(&step, START).await.expect("journalled");
    let stage = stage.killed_for(MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted]);
    assert_eq!(stage.store.deliveries_of(&run.id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn pause_over_at_start_is_ignored() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let cut_off = stage.begun.next().await.run;
    stage.handle.pause(Some(START.plus_ms(HOUR + MINUTE))).await.expect("paused");
    let stage = stage.killed_for(2 * MINUTE).await;
    assert_eq!(stage.begun.next().await.run.retry_of, Some(cut_off.id));
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);
}

#[tokio::test]
async fn pause_at_start_restarts_no_run() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    stage.begun.next().await;
    stage.handle.pause(None).await.expect("paused");
    let stage = stage.killed_for(2 * MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted]);
}

#[tokio::test]
async fn queued_runs_start_in_order_after_a_restart() {
    let stage = Stage::with_permits(1).await;
    stage
        .add(every(HOUR, json!({ "id": "blocks", "policies": { "misfire": { "mode": "skip" } } })))
        .await;
    stage.clock.advance(HOUR.unsigned_abs());
    stage.begun.next().await;
    let queue = json!({ "policies": { "overlap": "queue" } });
    let job = stage.add(every(MINUTE, queue)).await;
    stage.pass(MINUTE).await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (1, 2));
    let stage = stage.killed_for(10 * SECOND).await;
    for minute in [61, 62] {
        let begun = stage.begun.next().await;
        assert_eq!(
            (begun.run.job_id.as_ref(), begun.run.slot_at),
            (Some(&job.id), Some(START.plus_ms(minute * MINUTE)))
        );
        begun.succeed();
    }
}

#[tokio::test]
async fn unreadable_queued_run_is_cancelled_with_reason() {
    let stage = Stage::with_permits(1).await;
    stage.add(every(MINUTE, json!({ "id": "a" }))).await;
    stage.pass(MINUTE).await;
    stage.begun.next().await;
    let queued = stage.add_hook("b").await;
    stage.fire(&queued).await;
    let garbled = "UPDATE runs SET payload = '{\"kind\":\"dance\"}' WHERE job_id = 'b'";
    execute(&opened(&stage.database()).await, garbled).await;
    let stage = stage.killed_for(SECOND).await;
    stage.settle().await;
    let run = stage.runs_of(&queued.id).await.remove(0);
    let reason = "The payload cannot be read. The log has the details";
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Cancelled, Some(reason)));
}

#[tokio::test]
async fn queued_run_beyond_its_lateness_is_missed() {
    let stage = Stage::with_permits(1).await;
    stage.add(every(MINUTE, json!({ "id": "a" }))).await;
    let hasty = json!({ "id": "b", "policies": { "misfire": { "maxLatenessSeconds": 60 } } });
    stage.pass(MINUTE).await;
    stage.begun.next().await;
    let job = stage.add(every(HOUR, hasty)).await;
    stage.clock.advance_to(START.plus_ms(HOUR));
    stage.settle().await;
    assert_eq!(stage.states_of(&job).await, [RunState::Queued]);
    let stage = stage.killed_for(2 * MINUTE).await;
    stage.settle().await;
    let run = stage.runs_of(&job.id).await.remove(0);
    assert_eq!(
        (run.state, run.reason.as_deref()),
        (RunState::Missed, Some("Later than the 1 min allowed"))
    );
}

#[tokio::test]
async fn slots_missed_while_off_meet_recovered_runs() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    stage.begun.next().await;
    let stage = stage.killed_for(10 * MINUTE).await;
    let again = stage.begun.next().await;
    assert!(again.run.retry_of.is_some());
    stage.settle().await;
    let states = stage.states_of(&job).await;
    assert_eq!(states.len(), 3);
    assert!(states.contains(&RunState::Skipped), "a single active run: {states:?}");
    assert_eq!(stage.load().await, (1, 0));
}

#[tokio::test]
async fn crash_between_claim_and_start_loses_no_run() {
    let stage = Stage::with_permits(1).await;
    stage.add(every(HOUR, json!({ "id": "a" }))).await;
    stage.add(every(HOUR, json!({ "id": "b" }))).await;
    stage.handle.tick(START.plus_ms(HOUR)).await.expect("a tick");
    let stage = stage.killed_for(HOUR + SECOND).await;
    let mut slots: Vec<(String, Option<UnixMs>)> = Vec::new();
    for _ in 0..2 {
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        slots.push((begun.run.job_id.clone().expect("a job").to_string(), begun.run.slot_at));
        begun.succeed();
        stage.ended(&id).await;
    }
    slots.sort();
    assert_eq!(slots.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn shutdown_records_runs_that_end() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    let handle = stage.handle.clone();
    let stopped = tokio::spawn(async move { handle.shutdown().await });
    begun.cancel.cancelled().await;
    begun.succeed();
    stopped.await.expect("stopped");
    assert_eq!(stage.run(&id).await.state, RunState::Succeeded);
    assert!(stage.handle.status().await.is_err(), "the engine has stopped");
    assert_eq!(stage.stored(&job).await.state.last.state, Some(RunState::Succeeded));
}

#[tokio::test]
async fn run_stopped_by_shutdown_is_interrupted() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    let handle = stage.handle.clone();
    let stopped = tokio::spawn(async move { handle.shutdown().await });
    begun.cancel.cancelled().await;
    begun.end(Outcome::of(RunState::Cancelled));
    stopped.await.expect("stopped");
    assert_eq!(stage.run(&id).await.state, RunState::Running);
    let stage = stage.killed_for(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.retry_of, Some(id));
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted, RunState::Running]);
}

#[tokio::test]
async fn shutdown_has_a_time_limit() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    stage.handle.shutdown().await;
    assert_eq!(stage.run(&id).await.state, RunState::Running);
}

#[tokio::test]
async fn run_cancelled_before_shutdown_is_cancelled() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    stage.handle.cancel(&id, "Cancelled by you").await.expect("an answer");
    stage.handle.shutdown().await;
    assert_eq!(stage.run(&id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn interrupted_agent_run_is_resumed_at_most_twice() {
    let stage = Stage::new().await;
    let turn = json!({ "payload": { "kind": "agentTurn", "message": "Look." } });
    let job = stage.add(every(HOUR, turn)).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let cut_off = stage.begun.next().await.run;
    let mut stage = stage.killed_for(MINUTE).await;
    for attempt in [2, 3] {
        let resumed = stage.begun.next().await.run;
        assert_eq!((&resumed.id, resumed.attempt), (&cut_off.id, attempt));
        stage = stage.killed_for(SECOND).await;
    }
    assert_eq!(stage.load().await, (0, 0), "the run may crash Rouse each time");
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted]);
}

/// A job with three attempts and a backoff of ten minutes, and the run after the first failure.
async fn between_attempts(more: serde_json::Value) -> (Stage, rouse_core::Job, Run) {
    let (stage, job, first) = at_work(more).await;
    let id = first.run.id.clone();
    first.end(transient());
    let waits = stage.between_attempts(&id).await;
    (stage, job, waits)
}

async fn at_work(policies: serde_json::Value) -> (Stage, rouse_core::Job, ScriptedRun) {
    let stage = Stage::new().await;
    let more = json!({
        "runtime": { "maxAttempts": 3, "retryBackoffMs": 10 * MINUTE },
        "policies": policies,
    });
    let job = stage.add(every(24 * HOUR, more)).await;
    stage.clock.advance(24 * HOUR.unsigned_abs());
    let first = stage.begun.next().await;
    (stage, job, first)
}

fn transient() -> Outcome {
    let mut outcome = Outcome { is_transient: true, ..Outcome::failed("no network") };
    outcome.usage.input_tokens = 10;
    outcome
}

#[tokio::test]
async fn backoff_survives_a_restart() {
    for is_orderly in [false, true] {
        let (stage, job, waits) = between_attempts(json!({})).await;
        let due = waits.next_attempt_at.expect("an instant");
        if is_orderly {
            stage.handle.shutdown().await;
        }
        let stage = stage.killed_for(MINUTE).await;
        assert_eq!(stage.run(&waits.id).await, waits, "the backoff is kept");
        assert_eq!(stage.load().await, (0, 0), "the run is not active");
        stage.clock.advance_to(due.plus_ms(-1));
        stage.settle().await;
        assert!(stage.begun.take_all().is_empty(), "not before the end of the backoff");
        stage.clock.advance(1);
        let second = stage.begun.next().await;
        assert_eq!((&second.run.id, second.run.attempt), (&waits.id, 2));
        second.end(transient());
        stage.between_attempts(&waits.id).await;
        // The second backoff is 20 to 25 minutes.
        let stage = stage.killed_for(30 * MINUTE).await;
        let third = stage.begun.next().await;
        assert_eq!((&third.run.id, third.run.attempt), (&waits.id, 3), "due while Rouse was away");
        third.end(transient());
        let run = stage.ended(&waits.id).await;
        assert_eq!((run.state, run.error.as_deref()), (RunState::Failed, Some("no network")));
        assert_eq!((run.attempt, run.usage.input_tokens), (3, 30));
        assert_eq!(
            stage.states_of(&job).await,
            [RunState::Failed],
            "a single run with a single end"
        );
        assert_eq!(stage.store.deliveries_of(&run.id).await.expect("read").len(), 1);
        assert_eq!(stage.stored(&job).await.state.consecutive_failures, 1);
    }
}

#[tokio::test]
async fn recovered_backoff_blocks_its_lane() {
    let stage = Stage::new().await;
    let more = json!({ "runtime": { "maxAttempts": 2, "retryBackoffMs": 10 * MINUTE } });
    let job = stage.add(every(MINUTE, more)).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let id = first.run.id.clone();
    first.end(transient());
    stage.between_attempts(&id).await;
    let stage = stage.killed_for(MINUTE).await;
    stage.settle().await;
    assert_eq!(stage.states_of(&job).await, [RunState::Running, RunState::Skipped]);
}

#[tokio::test]
async fn rollback_while_off_lengthens_no_backoff() {
    let (stage, _, waits) = between_attempts(json!({})).await;
    let wait = waits.next_attempt_at.expect("an instant").since(stage.now());
    stage.clock.set(stage.now().plus_ms(-5 * HOUR));
    let stage = stage.killed_for(SECOND).await;
    stage.pass(wait - 1).await;
    assert!(stage.begun.take_all().is_empty());
    stage.clock.advance(1);
    assert_eq!(stage.begun.next().await.run.attempt, 2);
}

#[tokio::test]
async fn refused_retry_fails_at_start() {
    let paused = async |stage: Stage, _: &rouse_core::Job| {
        stage.handle.pause(None).await.expect("paused");
        stage
    };
    let off = async |mut stage: Stage, _: &rouse_core::Job| {
        let off_reason = "Firing is switched off.".to_owned();
        stage.config = SchedulerConfig { firing: false, off_reason, ..stage.config };
        stage
    };
    let stays = async |stage: Stage, _: &rouse_core::Job| stage;
    check_refused_retry(json!({}), paused, "Everything was paused").await;
    check_refused_retry(json!({}), off, "Firing is switched off").await;
    let hasty = json!({ "misfire": { "maxLatenessSeconds": 60 } });
    check_refused_retry(hasty, stays, "Later than the 1 min allowed").await;
    let skips = json!({ "misfire": { "mode": "skip" } });
    check_refused_retry(skips, stays, "Rouse was not running when the next attempt was due").await;
}

async fn check_refused_retry(
    policies: serde_json::Value,
    meanwhile: impl AsyncFnOnce(Stage, &rouse_core::Job) -> Stage,
    why: &str,
) {
    let (stage, job, waits) = between_attempts(policies).await;
    let stage = meanwhile(stage, &job).await.killed_for(HOUR).await;
    assert_eq!(stage.load().await, (0, 0), "{why}");
    let run = stage.run(&waits.id).await;
    assert_eq!((run.state, run.attempt), (RunState::Failed, 1), "{why}");
    assert_eq!(run.error.as_deref(), Some("no network"), "{why}");
    assert_eq!(run.reason, Some(format!("{why}, so it was not retried")));
    assert_eq!(run.usage.input_tokens, 10, "{why}");
    assert_eq!(stage.store.deliveries_of(&run.id).await.expect("read").len(), 1, "{why}");
    assert_eq!(stage.states_of(&job).await, [RunState::Failed], "{why}");
}

#[tokio::test]
async fn failure_during_shutdown_is_retried_at_start() {
    let (stage, job, first) = at_work(json!({})).await;
    let id = first.run.id.clone();
    let handle = stage.handle.clone();
    let stopped = tokio::spawn(async move { handle.shutdown().await });
    first.cancel.cancelled().await;
    first.end(transient());
    stopped.await.expect("stopped");
    let stage = stage.killed_for(HOUR).await;
    let second = stage.begun.next().await;
    assert_eq!((&second.run.id, second.run.attempt), (&id, 2));
    assert_eq!(stage.states_of(&job).await, [RunState::Running]);
}

#[tokio::test]
async fn failure_before_shutdown_is_saved_as_backoff() {
    let (stage, _, first) = at_work(json!({})).await;
    let id = first.run.id.clone();
    first.end(transient());
    stage.handle.shutdown().await;
    let run = stage.run(&id).await;
    assert_eq!((run.state, run.error.as_deref()), (RunState::Running, Some("no network")));
    assert!(run.next_attempt_at.is_some());
}

#[tokio::test]
async fn started_retry_is_not_repeated_after_a_kill() {
    let (stage, job, waits) = between_attempts(json!({})).await;
    stage.clock.advance_to(waits.next_attempt_at.expect("an instant"));
    assert_eq!(stage.begun.next().await.run.attempt, 2);
    let step = NewStep {
        gate: None,
        call_id: None,
        run_id: waits.id.clone(),
        kind: StepKind::ToolCall,
        name: "send".to_owned(),
        repeatable: false,
        input: json!({}),
    };
    stage.store.begin_step(&step, START).await.expect("journalled");
    let stage = stage.killed_for(MINUTE).await;
    assert_eq!(stage.load().await, (0, 0), "the effects are unknown");
    let run = stage.run(&waits.id).await;
    assert_eq!((run.state, run.attempt), (RunState::Interrupted, 2));
    assert_eq!(run.reason.as_deref(), Some("Rouse stopped during the run"));
    assert_eq!(stage.states_of(&job).await, [RunState::Interrupted]);
}

#[tokio::test]
async fn recovered_run_in_backoff_can_be_cancelled() {
    let (stage, _, waits) = between_attempts(json!({})).await;
    let stage = stage.killed_for(SECOND).await;
    assert!(stage.handle.cancel(&waits.id, "Cancelled by you").await.expect("an answer"));
    assert_eq!(stage.ended(&waits.id).await.state, RunState::Cancelled);
}
