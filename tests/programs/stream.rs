//! The numbered events over a socket: nothing is missed, nothing comes twice, and a client that comes back goes on.

use futures_util::{SinkExt as _, StreamExt as _};
use rouse_gateway::EventStream;
use rouse_gateway::wire::{EventKind, EventView};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::engine::{Engine, Home};
use crate::probes::{echo, rpc};
use crate::sign_in::socket_with;

async fn newest(engine: &Engine<'_>) -> i64 {
    engine.call("system.status", json!({})).await["seq"].as_i64().expect("a number")
}

/// Stored events up to number `last`.
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
async fn a_client_that_comes_back_goes_on_where_it_was() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Told")).await;
    let seen = newest(&engine).await;
    let mut always_there = engine.client.events(Some(seen)).await.expect("a stream");
    let run = engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    engine.call("cron.remove", json!({ "id": id })).await;
    let last = newest(&engine).await;
    let live = up_to(&mut always_there, last).await;
    let mut back_again = engine.client.events(Some(seen)).await.expect("a stream");
    let stored = up_to(&mut back_again, last).await;
    let expected: Vec<i64> = (seen + 1..=last).collect();
    assert_eq!((numbers(&live), numbers(&stored)), (expected.clone(), expected));

    let cron: Vec<&Value> = live
        .iter()
        .filter(|event| event.kind == EventKind::Cron)
        .map(|event| &event.data)
        .collect();
    let actions: Vec<&str> = cron.iter().filter_map(|data| data["action"].as_str()).collect();
    assert_eq!(actions, ["started", "finished", "removed"]);
    assert!(cron.iter().all(|data| data["jobId"] == id.as_str()), "{cron:#?}");
    assert_eq!((&cron[1]["status"], &cron[1]["runId"]), (&json!("ok"), &json!(run)));
}

#[tokio::test]
async fn without_a_number_only_what_is_new_comes() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("Before")).await;
    let seen = newest(&engine).await;
    let token = engine.token();
    let mut socket = socket_with(&engine, "", ("authorization", &format!("Bearer {token}"))).await;
    // An answer over the same socket shows that it is listening.
    socket
        .send(Message::text(rpc("cron.add", &echo("After")).to_string()))
        .await
        .expect("it reads");
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
async fn a_number_that_was_never_given_out_starts_the_stream_anew() {
    let home = Home::new();
    let engine = home.serve().await;
    for strange in [1_000_000, -5, i64::MAX, i64::MIN] {
        let seen = newest(&engine).await;
        let mut stream = engine.client.events(Some(strange)).await.expect("a stream");
        let reset = stream.next().await.expect("an event");
        assert_eq!((reset.kind, reset.seq), (EventKind::Reset, seen), "{strange}");
        engine.add(echo("Next")).await;
        assert_eq!(stream.next().await.expect("an event").seq, seen + 1, "{strange}");
    }
    let upgrade =
        crate::http::Request::upgrade(&engine.address, "/ws?after=soon").token(&engine.token());
    assert_eq!(upgrade.send().status, 400);
}

#[tokio::test]
async fn numbers_go_on_after_a_kill() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("One")).await;
    let seen = newest(&engine).await;
    engine.kill();
    let engine = home.serve_as_it_is();
    let mut stream = engine.client.events(Some(seen)).await.expect("a stream");
    engine.add(echo("Two")).await;
    let event = stream.next().await.expect("an event");
    assert_eq!((event.kind, event.seq), (EventKind::Cron, seen + 1));
}
