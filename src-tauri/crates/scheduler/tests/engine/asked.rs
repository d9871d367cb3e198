//! Turns of the main session that somebody has asked for: over crashes, and when no model answers.

use std::time::Duration;

use rouse_core::{Outcome, RunState};
use serde_json::json;

use crate::heartbeat::{beats, queue_event};
use crate::stage::{HOUR, MINUTE, SECOND, Stage, break_with, config, every};

async fn pending(stage: &Stage) -> Option<String> {
    let status = stage.handle.status().await.expect("a status");
    status.heartbeat.pending.map(|pending| pending.to_string())
}

fn no_answer(state: RunState) -> Outcome {
    Outcome { may_pass: true, error: Some("No answer.".to_owned()), ..Outcome::of(state) }
}

/// A turn is asked for, comes, and ends like that.
async fn beat_ends(stage: &Stage, outcome: Outcome) {
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let beat = stage.begun.next().await;
    let id = beat.run.id.clone();
    beat.end(outcome);
    stage.ended(&id).await;
}

#[tokio::test]
async fn a_reminder_is_not_over_without_the_request_for_its_turn() {
    let stage = Stage::with(config(), true).await;
    let payload = json!({ "kind": "systemEvent", "text": "Stretch" });
    stage.add(every(HOUR, json!({ "payload": payload, "wakeMode": "now" }))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let reminder = stage.begun.next().await;
    let trigger =
        "CREATE TRIGGER no_request BEFORE INSERT ON settings WHEN NEW.key = 'heartbeat.pending'
                   BEGIN SELECT RAISE(ABORT, 'not now'); END";
    break_with(&stage.database(), trigger).await;
    let id = reminder.run.id.clone();
    reminder.succeed();
    while stage.handle.problem().is_none() {
        assert_eq!(stage.run(&id).await.state, RunState::Running, "it ended without it");
    }
    assert_eq!(stage.run(&id).await.state, RunState::Running);
    assert_eq!(stage.store.pending_system_events(1).await.expect("read"), []);
}

#[tokio::test]
async fn lines_that_a_turn_did_not_get_to_get_theirs_after_a_crash() {
    let stage = Stage::with(config(), true).await;
    queue_event(&stage).await;
    stage.clock.advance(1);
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let _at_work = stage.begun.next().await;
    let end =
        "UPDATE runs SET state = 'succeeded', finished_at = started_at WHERE trigger = 'heartbeat'";
    let stage = stage.killed_and(SECOND, async |path| break_with(path, end).await).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "more events");
}

#[tokio::test]
async fn a_turn_that_no_model_has_answered_is_asked_for_again_later_each_time() {
    for state in [RunState::Failed, RunState::Skipped] {
        let mut stage = Stage::with(config(), true).await;
        queue_event(&stage).await;
        stage.handle.request_heartbeat("wake", Duration::ZERO).await;
        for (made, wait) in [(1, MINUTE), (2, 2 * MINUTE), (3, 4 * MINUTE)] {
            let beat = stage.begun.next().await;
            let id = beat.run.id.clone();
            beat.end(no_answer(state));
            stage.ended(&id).await;
            let waits = pending(&stage).await;
            assert!(waits.is_some_and(|why| why.contains("No model has answered")), "{state:?}");
            stage.clock.advance((wait - 1).unsigned_abs());
            stage.settle().await;
            assert_eq!(beats(&stage).await, made, "{state:?}");
            stage.clock.advance(1);
        }
        // A start asks at once, as does whoever wakes it.
        let beat = stage.begun.next().await;
        assert_eq!(beat.run.payload["reason"], "no answer before");
        let id = beat.run.id.clone();
        beat.end(no_answer(state));
        stage.ended(&id).await;
        stage = stage.killed_for(SECOND).await;
        let beat = stage.begun.next().await;
        let id = beat.run.id.clone();
        beat.end(no_answer(state));
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
async fn a_turn_that_had_nothing_to_see_to_is_not_asked_for_again() {
    let why = "HEARTBEAT.md is empty and nothing is queued";
    let stage = Stage::with(config(), true).await;
    beat_ends(&stage, Outcome::skipped(why)).await;
    assert_eq!(pending(&stage).await, None, "a model would have answered");
    let status = stage.handle.status().await.expect("a status");
    assert_eq!(status.heartbeat.last_skip.map(|skip| skip.reason).as_deref(), Some(why));
}

#[tokio::test]
async fn nothing_is_asked_again_without_a_line_that_waits() {
    let stage = Stage::with(config(), true).await;
    beat_ends(&stage, no_answer(RunState::Failed)).await;
    stage.pass(HOUR).await;
    assert_eq!((beats(&stage).await, pending(&stage).await), (1, None));
}
