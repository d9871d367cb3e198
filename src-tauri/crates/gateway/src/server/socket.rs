//! `/ws`: requests and their answers, and the event stream as JSON-RPC notifications.
//!
//! `?after=seq` resumes the stream; without it only new events come. A slow reader never holds others up: its own
//! subscription goes back to the store.

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{SplitSink, StreamExt as _};
use futures_util::SinkExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{MOST_BODY_BYTES, Shared, guard, rpc};

/// Answers waiting to be written before a client that does not read is let go.
const MOST_WAITING: usize = 64;

#[derive(Deserialize)]
pub(super) struct Resume {
    after: Option<i64>,
}

pub(super) async fn upgrade(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(resume): Query<Resume>,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !guard::is_known(&shared, &headers) {
        return (StatusCode::UNAUTHORIZED, "Sign in with `rouse open`, or show the token.").into_response();
    }
    upgrade.max_message_size(MOST_BODY_BYTES).on_upgrade(move |socket| serve(socket, shared, resume.after))
}

async fn serve(socket: WebSocket, shared: Shared, after: Option<i64>) {
    let (sink, mut requests) = socket.split();
    let (answers, waiting) = mpsc::channel(MOST_WAITING);
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
        let (gateway, answers) = (shared.gateway.clone(), answers.clone());
        // Each request on its own: a slow one must not hold up the next.
        tokio::spawn(async move {
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
