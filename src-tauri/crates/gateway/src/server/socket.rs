//! `/ws`: requests, responses and the event stream as JSON-RPC notifications.
//!
//! `?after=seq` resumes the stream; without `after`, only new events are sent. `&screen=true`, for programs with the token, attaches
//! the client as a desktop app: notification requests are sent as `show`, and `deliveries.answer` reports the outcome.
//!
//! The socket of a device closes at its revocation, and with the first message after the end of its session.
//!
//! A slow reader delays no other client: its subscription falls back to the store, and its requests are not read while it
//! leaves responses unread.

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

use super::connection_limit::ConnectionPermit;
use super::guard::{self, Authenticated};
use super::limits::MAX_BODY_BYTES;
use super::rpc;
use super::state::RouterState;
use crate::caller::Caller;
use crate::desktop_apps::AttachedApp;
use crate::wire::NotificationRequest;

/// Maximum concurrent requests of one client, including unread responses.
const MAX_CONCURRENT_REQUESTS: usize = 64;

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    after: Option<i64>,
    #[serde(default, rename = "screen")]
    is_desktop_app: bool,
}

/// What a client receives.
struct ClientStream {
    after: i64,
    is_desktop_app: bool,
    caller: Caller,
}

pub(super) async fn upgrade(
    Authenticated(caller): Authenticated,
    State(state): State<RouterState>,
    Query(query): Query<SocketQuery>,
    Extension(permit): Extension<Arc<ConnectionPermit>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if query.is_desktop_app && !guard::has_token(&state, &headers) {
        let message = "A page cannot show notifications for Rouse.";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    upgrade.max_message_size(MAX_BODY_BYTES).on_upgrade(async move |socket| {
        // After an eviction the client resumes from the number of its newest event.
        let eviction = permit.mark_websocket();
        let revocation = caller.revocation();
        let served = revocation.run_until_cancelled(serve(socket, state, query, caller));
        eviction.run_until_cancelled(served).await;
        drop(permit);
    })
}

async fn serve(socket: WebSocket, state: RouterState, query: SocketQuery, caller: Caller) {
    let (sink, mut requests) = socket.split();
    // Capacity 1: the permit of a request is released only after the response before has been taken.
    let (responses, response_queue) = mpsc::channel(1);
    let request_permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let after = match query.after {
        Some(after) => after,
        None => state.gateway.newest_event().await,
    };
    let stream =
        ClientStream { after, is_desktop_app: query.is_desktop_app, caller: caller.clone() };
    let writer = write(sink, response_queue, state.clone(), stream);
    // Aborts the writer also on an eviction.
    let _writer = AbortOnDropHandle::new(tokio::spawn(writer));
    while let Some(Ok(message)) = requests.next().await {
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => break,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => continue,
        };
        if !caller.is_valid(state.clock.now()) {
            break;
        }
        let Ok(permit) = Arc::clone(&request_permits).acquire_owned().await else { break };
        let (gateway, caller) = (state.gateway.clone(), caller.clone());
        let responses = responses.clone();
        // One task per request, so that a slow request does not delay the next.
        tokio::spawn(async move {
            let _permit = permit;
            if let Some(response) = rpc::respond(&gateway, &caller, text.as_bytes()).await {
                // silent-ok: the client has disconnected.
                let _ = responses.send(response).await;
            }
        });
    }
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut responses: mpsc::Receiver<Value>,
    state: RouterState,
    stream: ClientStream,
) {
    let mut events = state.gateway.events(stream.after);
    let mut app = stream.is_desktop_app.then(|| state.gateway.desktop_apps().attach());
    loop {
        let message = tokio::select! {
            () = state.closing.cancelled() => break,
            Some(response) = responses.recv() => response,
            event = events.next() => match event {
                Some(event) => json!({ "jsonrpc": "2.0", "method": "event", "params": event }),
                None => break,
            },
            Some(request) = next_notification(&mut app) => {
                json!({ "jsonrpc": "2.0", "method": "show", "params": request })
            }
        };
        // A page whose session expired connects again after a new sign-in.
        if !stream.caller.is_valid(state.clock.now()) {
            break;
        }
        if sink.send(Message::Text(message.to_string().into())).await.is_err() {
            return;
        }
    }
    // silent-ok: the connection ends either way.
    let _ = sink.close().await;
}

/// The next notification request of an attached app; pending for other clients.
async fn next_notification(app: &mut Option<AttachedApp>) -> Option<NotificationRequest> {
    match app {
        Some(app) => app.next().await,
        None => std::future::pending().await,
    }
}
