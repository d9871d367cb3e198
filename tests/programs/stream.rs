//! The event stream over a socket: no event is missed or repeated, and a reconnected client resumes.

use futures_util::{SinkExt as _, StreamExt as _};
use rouse_gateway::EventStream;
use rouse_gateway::wire::{EventKindView, EventView};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::engine::{EngineProcess, TestHome};
use crate::probes::{echo, rpc};
use crate::sign_in::socket_with;

async fn newest(engine: &EngineProcess<'_>) -> i64 {
    engine.call("system.status", json!({})).await["seq"].as_i64().expect("a number")
}

/// The stored events up to number `last`.
async fn up_to(stream: &mut EventStream, last: i64) -> Vec<EventView> {
    let mut events: Vec<EventView> = Vec::new();
    while events.last().is_none_or(|event| event.seq < last) {
        let event = stream.next().await.expect("the engine goes on");
        if event.seq != 0 {
            events.push(event);
        }
    }
    events
}

fn numbers(events: &[EventView]) -> Vec<i64> {
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test]
async fn reconnected_client_resumes_at_its_sequence_number() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Told")).await;
    let seen = newest(&engine).await;
    let mut always_there = engine.client.events(Some(seen)).await.expect("a stream");
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    engine.call("cron.remove", json!({ "id": id })).await;
    let last = newest(&engine).await;
    let live = up_to(&mut always_there, last).await;
    let mut back_again = engine.client.events(Some(seen)).await.expect("a stream");
    let stored = up_to(&mut back_again, last).await;
    let expected: Vec<i64> = (seen + 1..=last).collect();
    assert_eq!((numbers(&live), numbers(&stored)), (expected.clone(), expected));

    let cron: Vec<&Value> = live
        .iter()
        .filter(|event| event.kind == EventKindView::Cron)
        .map(|event| &event.data)
        .collect();
    let actions: Vec<&str> = cron.iter().filter_map(|data| data["action"].as_str()).collect();
    assert_eq!(actions, ["started", "finished", "removed"]);
    assert!(cron.iter().all(|data| data["jobId"] == id.as_str()), "{cron:#?}");
    assert_eq!((&cron[1]["status"], &cron[1]["runId"]), (&json!("ok"), &json!(run)));
}

#[tokio::test]
async fn stream_without_sequence_number_sends_new_events_only() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Before")).await;
    let seen = newest(&engine).await;
    let token = engine.token();
    let mut socket = socket_with(&engine, "", ("authorization", &format!("Bearer {token}"))).await;
    // The answer over the same socket shows that the subscription is active.
    socket.send(Message::text(rpc("cron.add", &echo("After")).to_string())).await.expect("sent");
    let mut events = Vec::new();
    let mut answered = false;
    while events.is_empty() || !answered {
        let message = socket.next().await.expect("the engine goes on").expect("a message");
        let message: Value = serde_json::from_str(message.to_text().expect("text")).expect("JSON");
        answered |= message["result"]["job"]["name"] == "After";
        if message["method"] == "event" {
            events.push(message["params"]["seq"].as_i64().expect("a number"));
        }
    }
    assert_eq!(events, [seen + 1]);
}

#[tokio::test]
async fn unknown_sequence_number_resets_the_stream() {
    let home = TestHome::new();
    let engine = home.serve().await;
    for strange in [1_000_000, -5, i64::MAX, i64::MIN] {
        let seen = newest(&engine).await;
        let mut stream = engine.client.events(Some(strange)).await.expect("a stream");
        let reset = stream.next().await.expect("an event");
        assert_eq!((reset.kind, reset.seq), (EventKindView::Reset, seen), "{strange}");
        engine.add_job(echo("Next")).await;
        assert_eq!(stream.next().await.expect("an event").seq, seen + 1, "{strange}");
    }
    let upgrade =
        crate::http::Request::upgrade(&engine.address, "/ws?after=soon").token(&engine.token());
    assert_eq!(upgrade.send().status, 400);
}

#[tokio::test]
async fn sequence_numbers_continue_after_a_kill() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("One")).await;
    let seen = newest(&engine).await;
    engine.kill();
    let engine = home.serve_plain();
    let mut stream = engine.client.events(Some(seen)).await.expect("a stream");
    engine.add_job(echo("Two")).await;
    let event = stream.next().await.expect("an event");
    assert_eq!((event.kind, event.seq), (EventKindView::Cron, seen + 1));
}
