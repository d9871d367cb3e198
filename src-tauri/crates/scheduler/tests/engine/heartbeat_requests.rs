//! Requested turns of the main session, over crashes and without an answering model.

use std::time::Duration;

use rouse_core::{Outcome, RunState};
use serde_json::json;

use crate::heartbeat::{heartbeat_runs, queue_event};
use crate::stage::{HOUR, MINUTE, SECOND, Stage, config, every, execute_closed};

async fn pending(stage: &Stage) -> Option<String> {
    let status = stage.handle.status().await.expect("a status");
    status.heartbeat.pending.map(|pending| pending.to_string())
}

fn unanswered(state: RunState) -> Outcome {
    Outcome { is_transient: true, error: Some("No answer.".to_owned()), ..Outcome::of(state) }
}

/// Requests a turn and ends the turn with `outcome`.
async fn run_turn(stage: &Stage, outcome: Outcome) {
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let turn = stage.begun.next().await;
    let id = turn.run.id.clone();
    turn.end(outcome);
    stage.ended(&id).await;
}

#[tokio::test]
async fn reminder_ends_only_with_its_turn_request() {
    let stage = Stage::with(config(), true).await;
    let payload = json!({ "kind": "systemEvent", "text": "Stretch" });
    stage.add(every(HOUR, json!({ "payload": payload, "wakeMode": "now" }))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let reminder = stage.begun.next().await;
    let trigger =
        "CREATE TRIGGER no_request BEFORE INSERT ON settings WHEN NEW.key = 'heartbeat.pending'
                   BEGIN SELECT RAISE(ABORT, 'not now'); END";
    execute_closed(&stage.database(), trigger).await;
    let id = reminder.run.id.clone();
    reminder.succeed();
    while stage.handle.problem().is_none() {
        assert_eq!(
            stage.run(&id).await.state,
            RunState::Running,
            "the run ended without the request"
        );
    }
    assert_eq!(stage.run(&id).await.state, RunState::Running);
    assert_eq!(stage.store.pending_system_events(1).await.expect("read"), []);
}

#[tokio::test]
async fn leftover_events_get_a_turn_after_a_crash() {
    let stage = Stage::with(config(), true).await;
    queue_event(&stage).await;
    stage.clock.advance(1);
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let _at_work = stage.begun.next().await;
    let end =
        "UPDATE runs SET state = 'succeeded', finished_at = started_at WHERE trigger = 'heartbeat'";
    let stage = stage.killed_and(SECOND, async |path| execute_closed(path, end).await).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "more events");
}

#[tokio::test]
async fn unanswered_turn_is_repeated_with_a_growing_backoff() {
    for state in [RunState::Failed, RunState::Skipped] {
        let mut stage = Stage::with(config(), true).await;
        queue_event(&stage).await;
        stage.handle.request_heartbeat("wake", Duration::ZERO).await;
        for (made, wait) in [(1, MINUTE), (2, 2 * MINUTE), (3, 4 * MINUTE)] {
            let turn = stage.begun.next().await;
            let id = turn.run.id.clone();
            turn.end(unanswered(state));
            stage.ended(&id).await;
            let waits = pending(&stage).await;
            assert!(waits.is_some_and(|why| why.contains("No model answered")), "{state:?}");
            stage.clock.advance((wait - 1).unsigned_abs());
            stage.settle().await;
            assert_eq!(heartbeat_runs(&stage).await, made, "{state:?}");
            stage.clock.advance(1);
        }
        // A start requests at once, and so does a wake.
        let turn = stage.begun.next().await;
        assert_eq!(turn.run.payload["reason"], "no answer before");
        let id = turn.run.id.clone();
        turn.end(unanswered(state));
        stage.ended(&id).await;
        stage = stage.killed_for(SECOND).await;
        let turn = stage.begun.next().await;
        let id = turn.run.id.clone();
        turn.end(unanswered(state));
        stage.ended(&id).await;
        stage.handle.request_heartbeat("wake", Duration::ZERO).await;
        let answered = stage.begun.next().await;
        let id = answered.run.id.clone();
        let lines = stage.store.pending_system_events(9).await.expect("read");
        let ids: Vec<i64> = lines.iter().map(|line| line.id).collect();
        stage.store.drain_system_events(&id, &ids, stage.now()).await.expect("drained");
        answered.succeed();
        stage.ended(&id).await;
        assert_eq!(pending(&stage).await, None);
    }
}

#[tokio::test]
async fn turn_without_work_is_not_repeated() {
    let why = "HEARTBEAT.md is empty and nothing is queued";
    let stage = Stage::with(config(), true).await;
    run_turn(&stage, Outcome::skipped(why)).await;
    assert_eq!(pending(&stage).await, None, "a model would have answered");
    let status = stage.handle.status().await.expect("a status");
    assert_eq!(status.heartbeat.last_skip.map(|skip| skip.reason).as_deref(), Some(why));
}

#[tokio::test]
async fn unanswered_turn_without_events_is_not_repeated() {
    let stage = Stage::with(config(), true).await;
    run_turn(&stage, unanswered(RunState::Failed)).await;
    stage.pass(HOUR).await;
    assert_eq!((heartbeat_runs(&stage).await, pending(&stage).await), (1, None));
}
