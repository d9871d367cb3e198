//! Chat messages and tool trials.

use rouse_core::{Outcome, RunState, RunTrigger, SessionKey};
use rouse_scheduler::ChatMessage;
use serde_json::json;

use crate::stage::{MINUTE, SECOND, Stage, config, message};

#[tokio::test]
async fn chat_message_is_a_main_run_without_delivery() {
    let stage = Stage::new().await;
    let id = stage.handle.chat(message("Hello")).await.expect("accepted");
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

    let failed = stage.handle.chat(message("Again")).await.expect("accepted");
    stage.begun.next().await.end(Outcome::failed("No network."));
    assert_eq!(stage.ended(&failed).await.error.as_deref(), Some("No network."));
    for run in [&id, &failed] {
        assert_eq!(stage.store.deliveries_of(run).await.expect("read"), []);
    }
    assert_eq!(stage.store.open_incidents(None).await.expect("read"), []);
}

#[tokio::test]
async fn chat_messages_and_turns_share_the_main_lane() {
    let stage = Stage::with(config(), true).await;
    let first = stage.handle.chat(message("One")).await.expect("accepted");
    let begun = stage.begun.next().await;
    let second = stage.handle.chat(message("Two")).await.expect("accepted");
    stage.store.queue_system_event("Look", "wake", &[], stage.now()).await.expect("queued");
    stage.handle.request_heartbeat("wake", std::time::Duration::ZERO).await;
    assert_eq!(stage.load().await, (1, 2), "a single lane, in sequence");
    begun.succeed();
    stage.ended(&first).await;
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, second);
    begun.succeed();
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
}

#[tokio::test]
async fn chat_runs_in_a_pause_and_with_firing_off() {
    let stage = Stage::new().await;
    let going = stage.handle.chat(message("One")).await.expect("accepted");
    let begun = stage.begun.next().await;
    let waiting = stage.handle.chat(message("Two")).await.expect("accepted");
    stage.handle.pause(None).await.expect("paused");
    let off = rouse_scheduler::SchedulerConfig { firing: false, ..stage.config.clone() };
    stage.handle.set_config(off).await.expect("off");
    begun.succeed();
    stage.ended(&going).await;
    assert_eq!(stage.begun.next().await.run.id, waiting);
}

#[tokio::test]
async fn queued_or_active_chat_can_be_cancelled() {
    let stage = Stage::new().await;
    let going = stage.handle.chat(message("One")).await.expect("accepted");
    let begun = stage.begun.next().await;
    let waiting = stage.handle.chat(message("Two")).await.expect("accepted");
    assert!(stage.handle.cancel(&waiting, "Stopped by you").await.expect("taken"));
    assert_eq!(stage.run(&waiting).await.state, RunState::Cancelled);
    assert!(stage.handle.cancel(&going, "Stopped by you").await.expect("taken"));
    begun.cancel.cancelled().await;
    begun.end(Outcome::of(RunState::Cancelled));
    let ended = stage.ended(&going).await;
    assert_eq!(
        (ended.state, ended.reason.as_deref()),
        (RunState::Cancelled, Some("Stopped by you"))
    );
}

#[tokio::test]
async fn interrupted_chat_is_resumed_at_most_twice() {
    let stage = Stage::new().await;
    let going = stage.handle.chat(message("One")).await.expect("accepted");
    drop(stage.begun.next().await);
    let waiting = stage.handle.chat(message("Two")).await.expect("accepted");
    let mut stage = stage;
    for attempt in [2, 3] {
        stage = stage.killed_for(10 * MINUTE).await;
        let begun = stage.begun.next().await;
        assert_eq!((&begun.run.id, begun.run.attempt), (&going, attempt), "in the old position");
        assert_eq!(stage.run(&waiting).await.state, RunState::Queued);
        drop(begun);
    }
    let stage = stage.killed_for(SECOND).await;
    let begun = stage.begun.next().await;
    assert_eq!((&begun.run.id, begun.run.attempt), (&waiting, 1));
    let ended = stage.run(&going).await;
    assert_eq!(ended.state, RunState::Interrupted);
    assert_eq!(ended.payload["text"], "One", "the message is still there");
    begun.succeed();
    stage.ended(&waiting).await;
}

#[tokio::test]
async fn event_queued_before_a_chat_turn_gets_a_turn() {
    let stage = Stage::with(config(), true).await;
    stage.store.queue_system_event("Look", "wake", &[], stage.now()).await.expect("queued");
    stage.pass(SECOND).await;
    let id = stage.handle.chat(message("One")).await.expect("accepted");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
}

#[tokio::test]
async fn tool_trials_have_a_lane_of_their_own() {
    let stage = Stage::new().await;
    let chat = stage.handle.chat(message("Hello")).await.expect("accepted");
    let talk = stage.begun.next().await;
    let tried = stage.handle.try_tool("echo", json!({ "text": "x" })).await.expect("accepted");
    let next = stage.handle.try_tool("echo", json!({})).await.expect("accepted");
    let trial = stage.begun.next().await;
    assert_eq!((&trial.run.id, &trial.run.session), (&tried, &None));
    assert_eq!(
        trial.run.payload,
        json!({ "kind": "trial", "tool": "echo", "arguments": { "text": "x" } })
    );
    assert_eq!(stage.load().await, (2, 1), "trials run in sequence");
    trial.end(Outcome::failed("It does not work."));
    stage.ended(&tried).await;
    let second = stage.begun.next().await;
    assert_eq!(second.run.id, next);
    second.succeed();
    stage.ended(&next).await;
    talk.succeed();
    stage.ended(&chat).await;
    assert_eq!(stage.store.open_incidents(None).await.expect("read"), []);
}

#[tokio::test]
async fn chat_message_with_same_key_is_taken_once() {
    let stage = Stage::new().await;
    let first = stage.handle.chat(keyed("Hello")).await.expect("accepted");
    let again = stage.handle.chat(keyed("Hello")).await.expect("known");
    assert_eq!(first, again);
    let other = stage.handle.chat(keyed("Bye")).await;
    assert!(matches!(other, Err(rouse_scheduler::SchedulerError::KeyIsTaken)), "{other:?}");
    stage.begun.next().await.succeed();
    stage.ended(&first).await;
    let later = stage.handle.chat(keyed("Hello")).await.expect("known");
    assert_eq!(first, later, "also after the end of the turn");
    let own = stage
        .handle
        .chat(ChatMessage { key: Some("key-00002".to_owned()), ..message("Hello") })
        .await
        .expect("accepted");
    assert_ne!(first, own);
    assert_eq!(stage.begun.next().await.run.id, own);
    assert_eq!(stage.load().await, (1, 0), "nothing else waits");
}

/// A chat message that is taken once.
fn keyed(text: &str) -> ChatMessage {
    ChatMessage { key: Some("key-00001".to_owned()), ..message(text) }
}
