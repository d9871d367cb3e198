//! What a person writes to the main session.

use rouse_core::{Outcome, RunState, RunTrigger, SessionKey};
use serde_json::json;

use crate::stage::{MINUTE, SECOND, Stage, config};

#[tokio::test]
async fn a_message_is_a_run_of_the_main_session_and_nobody_else_is_told_of_it() {
    let stage = Stage::new().await;
    let id = stage.handle.chat("Hello", None).await.expect("it is taken");
    let begun = stage.begun.next().await;
    assert_eq!(
        (&begun.run.id, begun.run.trigger, &begun.run.job_id),
        (&id, RunTrigger::Chat, &None)
    );
    assert_eq!(begun.run.payload, json!({ "kind": "chat", "text": "Hello" }));
    assert_eq!(
        (begun.run.job_name.as_str(), begun.run.session.clone()),
        ("Chat", Some(SessionKey::main()))
    );
    begun.end(Outcome::succeeded("Hello to you."));
    assert_eq!(stage.ended(&id).await.summary.as_deref(), Some("Hello to you."));

    let failed = stage.handle.chat("Again", None).await.expect("it is taken");
    stage.begun.next().await.end(Outcome::failed("No network."));
    assert_eq!(stage.ended(&failed).await.error.as_deref(), Some("No network."));
    for run in [&id, &failed] {
        assert_eq!(stage.store.deliveries_of(run).await.expect("read"), []);
    }
    assert_eq!(stage.store.open_incidents(None).await.expect("read"), []);
}

#[tokio::test]
async fn messages_and_beats_wait_for_each_other_in_their_order() {
    let stage = Stage::with(config(), true).await;
    let first = stage.handle.chat("One", None).await.expect("it is taken");
    let begun = stage.begun.next().await;
    let second = stage.handle.chat("Two", None).await.expect("it is taken");
    stage.store.queue_system_event("Look", "wake", &[], stage.now()).await.expect("queued");
    stage.handle.request_heartbeat("wake", std::time::Duration::ZERO).await;
    assert_eq!(stage.load().await, (1, 2), "one lane, one at a time");
    begun.succeed();
    stage.ended(&first).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, second);
    begun.succeed();
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
}

#[tokio::test]
async fn a_pause_and_the_kill_switch_are_not_for_people() {
    let stage = Stage::new().await;
    let going = stage.handle.chat("One", None).await.expect("it is taken");
    let begun = stage.begun.next().await;
    let waiting = stage.handle.chat("Two", None).await.expect("it is taken");
    stage.handle.pause(None).await.expect("paused");
    let off = rouse_scheduler::SchedulerConfig { firing: false, ..stage.config.clone() };
    stage.handle.set_config(off).await.expect("off");
    begun.succeed();
    stage.ended(&going).await;
    assert_eq!(stage.begun.next().await.run.id, waiting);
}

#[tokio::test]
async fn one_that_waits_or_is_answered_can_be_stopped() {
    let stage = Stage::new().await;
    let going = stage.handle.chat("One", None).await.expect("it is taken");
    let begun = stage.begun.next().await;
    let waiting = stage.handle.chat("Two", None).await.expect("it is taken");
    assert!(stage.handle.cancel(&waiting, "Stopped by you").await.expect("asked"));
    assert_eq!(stage.run(&waiting).await.state, RunState::Cancelled);
    assert!(stage.handle.cancel(&going, "Stopped by you").await.expect("asked"));
    begun.cancel.cancelled().await;
    begun.end(Outcome::of(RunState::Cancelled));
    let ended = stage.ended(&going).await;
    assert_eq!(
        (ended.state, ended.reason.as_deref()),
        (RunState::Cancelled, Some("Stopped by you"))
    );
}

#[tokio::test]
async fn no_message_is_lost_with_the_process_and_none_is_tried_for_ever() {
    let stage = Stage::new().await;
    let going = stage.handle.chat("One", None).await.expect("it is taken");
    drop(stage.begun.next().await);
    let waiting = stage.handle.chat("Two", None).await.expect("it is taken");
    let mut stage = stage;
    for attempt in [2, 3] {
        stage = stage.killed_for(10 * MINUTE).await;
        let begun = stage.begun.next().await;
        assert_eq!((&begun.run.id, begun.run.attempt), (&going, attempt), "in its old place");
        assert_eq!(stage.run(&waiting).await.state, RunState::Queued);
        drop(begun);
    }
    let stage = stage.killed_for(SECOND).await;
    let begun = stage.begun.next().await;
    assert_eq!((&begun.run.id, begun.run.attempt), (&waiting, 1));
    let ended = stage.run(&going).await;
    assert_eq!(ended.state, RunState::Interrupted);
    assert_eq!(ended.payload["text"], "One", "its words are still there");
    begun.succeed();
    stage.ended(&waiting).await;
}

#[tokio::test]
async fn what_was_queued_before_the_answer_and_not_seen_by_it_gets_a_turn() {
    let stage = Stage::with(config(), true).await;
    stage.store.queue_system_event("Look", "wake", &[], stage.now()).await.expect("queued");
    stage.pass(SECOND).await;
    let id = stage.handle.chat("One", None).await.expect("it is taken");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
}

#[tokio::test]
async fn who_tries_a_tool_does_not_wait_for_the_end_of_a_conversation() {
    let stage = Stage::new().await;
    let said = stage.handle.chat("Hello", None).await.expect("it is taken");
    let talk = stage.begun.next().await;
    let tried = stage.handle.try_tool("echo", json!({ "text": "x" })).await.expect("it is taken");
    let next = stage.handle.try_tool("echo", json!({})).await.expect("it is taken");
    let trial = stage.begun.next().await;
    assert_eq!((&trial.run.id, &trial.run.session), (&tried, &None));
    assert_eq!(
        trial.run.payload,
        json!({ "kind": "trial", "tool": "echo", "arguments": { "text": "x" } })
    );
    assert_eq!(stage.load().await, (2, 1), "one trial at a time");
    trial.end(Outcome::failed("It does not work."));
    stage.ended(&tried).await;
    let second = stage.begun.next().await;
    assert_eq!(second.run.id, next);
    second.succeed();
    stage.ended(&next).await;
    talk.succeed();
    stage.ended(&said).await;
    assert_eq!(stage.store.open_incidents(None).await.expect("read"), []);
}

#[tokio::test]
async fn a_message_that_is_sent_twice_under_one_key_is_taken_once() {
    let stage = Stage::new().await;
    let first = stage.handle.chat("Hello", Some("key-00001")).await.expect("it is taken");
    let again = stage.handle.chat("Hello", Some("key-00001")).await.expect("it is known");
    assert_eq!(first, again);
    let other = stage.handle.chat("Bye", Some("key-00001")).await;
    assert!(matches!(other, Err(rouse_scheduler::SchedulerError::KeyIsTaken)), "{other:?}");
    stage.begun.next().await.succeed();
    stage.ended(&first).await;
    let later = stage.handle.chat("Hello", Some("key-00001")).await.expect("it is known");
    assert_eq!(first, later, "also when it was answered");
    let own = stage.handle.chat("Hello", Some("key-00002")).await.expect("it is taken");
    assert_ne!(first, own);
    assert_eq!(stage.begun.next().await.run.id, own);
    assert_eq!(stage.load().await, (1, 0), "nothing else waits");
}
