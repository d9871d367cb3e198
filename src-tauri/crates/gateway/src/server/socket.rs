//! `/ws`: requests and their answers, and the event stream as JSON-RPC notifications.
//!
//! `?after=seq` resumes the stream; without it only new events come. A slow reader never holds others up: its own
//! subscription goes back to the store, and while it leaves its answers unread no more requests are read from it.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::response::Response;
use futures_util::SinkExt as _;
use futures_util::stream::{SplitSink, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use super::guard::Known;
use super::{MOST_BODY_BYTES, Shared, rpc};

/// Requests of one client that are worked on, or whose answers wait to be read, at the same time.
const MOST_AT_ONCE: usize = 64;

#[derive(Deserialize)]
pub(super) struct Resume {
    after: Option<i64>,
}

pub(super) async fn upgrade(
    _: Known,
    State(shared): State<Shared>,
    Query(resume): Query<Resume>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .max_message_size(MOST_BODY_BYTES)
        .on_upgrade(move |socket| serve(socket, shared, resume.after))
}

async fn serve(socket: WebSocket, shared: Shared, after: Option<i64>) {
    let (sink, mut requests) = socket.split();
    // One place: an answer leaves its request's permit only when the one before it was taken.
    let (answers, waiting) = mpsc::channel(1);
    let at_once = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let after = match after {
        Some(after) => after,
        None => newest(&shared).await,
    };
    let writer = tokio::spawn(write(sink, waiting, shared.clone(), after));
    while let Some(Ok(message)) = requests.next().await {
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => break,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => continue,
        };
        let Ok(permit) = Arc::clone(&at_once).acquire_owned().await else { break };
        let (gateway, answers) = (shared.gateway.clone(), answers.clone());
        // Each request on its own: a slow one must not hold up the next.
        tokio::spawn(async move {
            let _permit = permit;
            if let Some(answer) = rpc::answer(&gateway, text.as_bytes()).await {
                // silent-ok: the client has gone, nobody waits for the answer.
                let _ = answers.send(answer).await;
            }
        });
    }
    writer.abort();
}

async fn newest(shared: &Shared) -> i64 {
    shared.gateway.newest_event().await
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut answers: mpsc::Receiver<Value>,
    shared: Shared,
    after: i64,
) {
    let mut events = shared.gateway.events(after);
    loop {
        let next = tokio::select! {
            () = shared.closing.cancelled() => break,
            Some(answer) = answers.recv() => answer,
            event = events.next() => match event {
                Some(event) => json!({ "jsonrpc": "2.0", "method": "event", "params": event }),
                None => break,
            },
        };
        if sink.send(Message::Text(next.to_string().into())).await.is_err() {
            return;
        }
    }
    // silent-ok: the connection ends either way.
    let _ = sink.close().await;
}
