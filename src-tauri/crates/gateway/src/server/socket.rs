//! `/ws`: requests and their answers, and the event stream as JSON-RPC notifications.
//!
//! `?after=seq` resumes the stream; without it only new events come. `&screen=true`, from a program with the token, makes
//! the client a screen: notifications to show come as `show`, and `deliveries.answer` says what became of each.
//!
//! A slow reader never holds others up: its own subscription goes back to the store, and while it leaves its answers
//! unread no more requests are read from it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::SinkExt as _;
use futures_util::stream::{SplitSink, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::door::Place;
use super::guard::{self, Known};
use super::{MOST_BODY_BYTES, Shared, rpc};
use crate::screens::Screen;
use crate::wire::ShowRequest;

/// Requests of one client that are worked on, or whose answers wait to be read, at the same time.
const MOST_AT_ONCE: usize = 64;

#[derive(Deserialize)]
pub(super) struct Wishes {
    after: Option<i64>,
    #[serde(default)]
    screen: bool,
}

pub(super) async fn upgrade(
    _: Known,
    State(shared): State<Shared>,
    Query(wishes): Query<Wishes>,
    Extension(place): Extension<Arc<Place>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if wishes.screen && !guard::has_token(&shared, &headers) {
        return (StatusCode::FORBIDDEN, "A page cannot show notifications for Rouse.")
            .into_response();
    }
    upgrade.max_message_size(MOST_BODY_BYTES).on_upgrade(async move |socket| {
        // Another caller may get its place; the client resumes with the number of its newest event.
        let leave = place.become_socket();
        leave.run_until_cancelled(serve(socket, shared, wishes)).await;
        drop(place);
    })
}

async fn serve(socket: WebSocket, shared: Shared, wishes: Wishes) {
    let (sink, mut requests) = socket.split();
    // One place: an answer leaves its request's permit only when the one before it was taken.
    let (answers, waiting) = mpsc::channel(1);
    let at_once = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let after = match wishes.after {
        Some(after) => after,
        None => newest(&shared).await,
    };
    let writer = tokio::spawn(write(sink, waiting, shared.clone(), after, wishes.screen));
    // Also when this is given up for another caller.
    let _writer = AbortOnDropHandle::new(writer);
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
}

async fn newest(shared: &Shared) -> i64 {
    shared.gateway.newest_event().await
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut answers: mpsc::Receiver<Value>,
    shared: Shared,
    after: i64,
    is_screen: bool,
) {
    let mut events = shared.gateway.events(after);
    let mut screen = is_screen.then(|| shared.gateway.screens().attach());
    loop {
        let next = tokio::select! {
            () = shared.closing.cancelled() => break,
            Some(answer) = answers.recv() => answer,
            event = events.next() => match event {
                Some(event) => json!({ "jsonrpc": "2.0", "method": "event", "params": event }),
                None => break,
            },
            Some(request) = to_show(&mut screen) => {
                json!({ "jsonrpc": "2.0", "method": "show", "params": request })
            }
        };
        if sink.send(Message::Text(next.to_string().into())).await.is_err() {
            return;
        }
    }
    // silent-ok: the connection ends either way.
    let _ = sink.close().await;
}

/// What a screen is to show next; never anything for a client that is none.
async fn to_show(screen: &mut Option<Screen>) -> Option<ShowRequest> {
    match screen {
        Some(screen) => screen.next().await,
        None => std::future::pending().await,
    }
}
