//! The open connection: start, tool list, calls, end.
//!
//! Owns the choice of the lifecycle. Over stdio `initialize` goes first, because servers in use exit or stay silent on
//! the modern first request; only an error that names modern versions leads to a new process with the modern lifecycle.
//! Over HTTP the modern request goes first. Pitfall: the protocol library has no time limit of its own; the caller of
//! `open_*` and `list_tools` sets one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use rmcp::model::{
    CallToolRequest, CancelledNotificationParam, ClientRequest, ErrorCode, ListToolsRequest,
    PaginatedRequestParams, ProgressToken, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientCacheConfig, ClientLifecycleMode, serve_client_with_lifecycle};
use rouse_core::extension::{MAX_LINE_BYTES, ServerCommand, ServerProcesses, ToolDefinition};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::input_request::InputReply;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Notify};

use super::error::{ConnectionError, request_error, startup_error};
use super::events::{ConnectionEvents, ConnectionHandler, ProgressSink};
use super::exchange::{ExchangeClient, transport_config};
use super::listing::ToolPages;
use super::requested_input::call_params;
use super::result::CallResult;
use super::stdio::{LineProcess, StartAttempt, StdioTransport};
use super::subscription::ListSubscription;
use crate::sign_in::ServerTokens;

/// The time limit of the modern first request over HTTP; the legacy start follows.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(10);

type ClientPeer = Peer<RoleClient>;
type RunningClient = RunningService<RoleClient, ConnectionHandler>;

/// An open connection to a server. Dropping ends the connection and the process.
pub(crate) struct Connection {
    peer: ClientPeer,
    /// The running protocol; none after `close`.
    service: Mutex<Option<RunningClient>>,
    events: Arc<ConnectionEvents>,
    /// The process of a stdio server.
    process: Option<Arc<LineProcess>>,
    subscription: ListSubscription,
}

impl Connection {
    /// Starts a process and the protocol over its lines. The process stays in `attempt`.
    pub(crate) async fn open_stdio(
        processes: &dyn ServerProcesses,
        command: ServerCommand,
        attempt: &StartAttempt,
    ) -> Result<Self, ConnectionError> {
        let process = attempt.launch(processes, command.clone()).await?;
        let error = match Self::over_lines(Arc::clone(&process), handshake()).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        if !names_modern_version(&error) {
            return Err(process.explain(startup_error(&error)));
        }
        process.stop().await;
        let process = attempt.launch(processes, command).await?;
        let opened = Self::over_lines(Arc::clone(&process), discovery()).await;
        opened.map_err(|error| process.explain(startup_error(&error)))
    }

    /// Opens a connection over HTTP. `tokens` are those of a server that a person can sign in at.
    pub(crate) async fn open_http(
        exchange: Arc<dyn HttpExchange>,
        url: &str,
        headers: &BTreeMap<String, String>,
        tokens: Option<ServerTokens>,
    ) -> Result<Self, ConnectionError> {
        let config = transport_config(url, headers)?;
        let client = ExchangeClient::new(exchange, tokens);
        let modern = Self::over_http(client.clone(), config.clone(), discovery());
        match tokio::time::timeout(DISCOVERY_LIMIT, modern).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) if !is_legacy_answer(&error) => return Err(startup_error(&error)),
            Ok(Err(error)) => tracing::debug!(%error, "a server speaks a legacy protocol version"),
            Err(_) => tracing::debug!("a server is silent on the modern first request"),
        }
        let legacy = Self::over_http(client, config, handshake()).await;
        legacy.map_err(|error| startup_error(&error))
    }

    async fn over_lines(
        process: Arc<LineProcess>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Box<ClientInitializeError>> {
        let events = Arc::new(ConnectionEvents::default());
        let handler = ConnectionHandler::new(Arc::clone(&events), &lifecycle);
        let transport = StdioTransport::new(Arc::clone(&process));
        let service = serve_client_with_lifecycle(handler, transport, lifecycle).await;
        Ok(Self::running(service.map_err(Box::new)?, events, Some(process)).await)
    }

    async fn over_http(
        client: ExchangeClient,
        config: StreamableHttpClientTransportConfig,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Box<ClientInitializeError>> {
        let events = Arc::new(ConnectionEvents::default());
        let handler = ConnectionHandler::new(Arc::clone(&events), &lifecycle);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = serve_client_with_lifecycle(handler, transport, lifecycle).await;
        Ok(Self::running(service.map_err(Box::new)?, events, None).await)
    }

    async fn running(
        service: RunningClient,
        events: Arc<ConnectionEvents>,
        process: Option<Arc<LineProcess>>,
    ) -> Self {
        let peer = service.peer().clone();
        // A list from a cache would defeat the comparison with the accepted tools.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let (service, subscription) = (Mutex::new(Some(service)), ListSubscription::default());
        Self { peer, service, events, process, subscription }
    }

    /// The name and version that the server reported.
    pub(crate) fn server_version(&self) -> Option<String> {
        let info = self.peer.peer_info()?;
        let server = info.server_info.as_ref()?;
        Some(format!("{} {}", server.name, server.version))
    }

    /// The instructions of the server.
    pub(crate) fn instructions(&self) -> Option<String> {
        self.peer.peer_info()?.instructions.clone()
    }

    /// All tools of the server, as listed.
    pub(crate) async fn list_tools(&self) -> Result<Vec<ToolDefinition>, ConnectionError> {
        let mut pages = ToolPages::default();
        let mut cursor = None;
        loop {
            let request = match cursor {
                None => ListToolsRequest::default(),
                Some(_) => ListToolsRequest::with_param(
                    PaginatedRequestParams::default().with_cursor(cursor),
                ),
            };
            let request = ClientRequest::ListToolsRequest(request);
            let answer = self.peer.send_request(request).await;
            let result = answer.map_err(|error| self.explain(&error))?;
            cursor = pages.add(&json_of(&result))?;
            if cursor.is_none() {
                return Ok(pages.into_tools());
            }
        }
    }

    /// Calls a tool; `input` answers the input request of the same call before. `idle_limit` is the time limit without
    /// progress. Dropping the future cancels the call at the server.
    pub(crate) async fn call_tool(
        &self,
        raw_name: &str,
        arguments: Map<String, Value>,
        input: Option<&InputReply>,
        idle_limit: Duration,
        progress: ProgressSink,
    ) -> Result<CallResult, ConnectionError> {
        let params = call_params(raw_name, arguments, input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        // The time limit is ours: that of the library waits until the server has read the cancellation.
        let options = PeerRequestOptions::no_options();
        let ticks = Arc::new(Notify::new());
        let tick = Arc::clone(&ticks);
        let progress: ProgressSink = Box::new(move |text| {
            tick.notify_one();
            progress(text);
        });
        let too_long = self.process.as_ref().map(|process| process.too_long.notified());
        let mut sinks = self.events.progress.lock().await;
        let sent = self.peer.send_request_with_option(request, options).await;
        let handle = sent.map_err(|error| match self.explain(&error) {
            // The connection was closed before the request left.
            ConnectionError::Ended(sentence) => ConnectionError::Unreached(sentence),
            other => other,
        })?;
        sinks.insert(handle.progress_token.clone(), progress);
        drop(sinks);
        let mut guard = CallGuard {
            peer: self.peer.clone(),
            events: Arc::clone(&self.events),
            request: handle.id.clone(),
            token: handle.progress_token.clone(),
            is_answered: false,
        };
        let overdue =
            async { while tokio::time::timeout(idle_limit, ticks.notified()).await.is_ok() {} };
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            () = overdue => return Err(ConnectionError::TimedOut),
            Some(()) = OptionFuture::from(too_long) => return Err(line_too_long()),
        };
        guard.is_answered = true;
        drop(guard);
        match answer {
            Ok(ServerResult::CreateTaskResult(_)) => Err(ConnectionError::Protocol(
                "The server answered the call with a task, which Rouse did not ask for.".to_owned(),
            )),
            Ok(result) => CallResult::read(json_of(&result)),
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// Whether the server closed the connection or ended.
    pub(crate) fn is_closed(&self) -> bool {
        let has_ended = self.process.as_ref().is_some_and(|process| process.end().is_some());
        has_ended || self.peer.is_transport_closed()
    }

    /// Why the connection is closed, with the last lines of the error output.
    pub(crate) fn closed_reason(&self) -> String {
        self.explain(&ServiceError::TransportClosed).to_string()
    }

    /// The last lines of the error output of a process.
    pub(crate) fn stderr_tail(&self) -> Option<String> {
        self.process.as_ref().map(|process| process.stderr_tail())
    }

    /// Whether the server reported a change of its tool list since the last call of this function.
    pub(crate) fn take_list_changed(&self) -> bool {
        self.events.take_list_changed()
    }

    /// Subscribes to changes of the tool list, unless the server reports changes unasked or not at all.
    pub(crate) fn subscribe_to_list(&self) {
        self.subscription.open(&self.peer, &self.events);
    }

    /// Waits for the end of the subscription.
    #[cfg(test)]
    pub(super) async fn subscription_ended(&self) {
        self.subscription.ended().await;
    }

    /// Ends the process, or the session over HTTP. Waiting calls fail.
    pub(crate) async fn close(&self) {
        let service = self.service.lock().await.take();
        if let Some(process) = &self.process {
            process.stop().await;
        }
        if let Some(service) = service
            && let Err(error) = service.cancel().await
        {
            tracing::warn!(%error, "the protocol task of a server panicked");
        }
    }

    fn explain(&self, error: &ServiceError) -> ConnectionError {
        let error = request_error(error);
        match &self.process {
            Some(process) => process.explain(error),
            None => error,
        }
    }
}

/// Ends the progress of a call, and cancels the call at the server if its future is dropped.
struct CallGuard {
    peer: ClientPeer,
    events: Arc<ConnectionEvents>,
    request: RequestId,
    token: ProgressToken,
    is_answered: bool,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        // Without a runtime the program is ending, and the server with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (peer, events) = (self.peer.clone(), Arc::clone(&self.events));
        let (token, request, is_answered) =
            (self.token.clone(), self.request.clone(), self.is_answered);
        runtime.spawn(async move {
            events.progress.lock().await.remove(&token);
            if is_answered {
                return;
            }
            let reason = Some("The call was cancelled.".to_owned());
            let cancelled = CancelledNotificationParam::new(Some(request), reason);
            if let Err(error) = peer.notify_cancelled(cancelled).await {
                tracing::debug!(%error, "a server was not told that a call is cancelled");
            }
        });
    }
}

/// A line has no id after its text was dropped, so every waiting call gets this error.
fn line_too_long() -> ConnectionError {
    let megabytes = MAX_LINE_BYTES >> 20;
    ConnectionError::TooLarge(format!(
        "The server sent a line larger than {megabytes} MB, probably the answer to this call."
    ))
}

/// The legacy lifecycle: `initialize`.
fn handshake() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

/// The modern lifecycle: `server/discover`.
fn discovery() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Whether a server rejected `initialize` because it speaks only the modern lifecycle.
fn names_modern_version(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::JsonRpcError(rejection) = error else { return false };
    let supported = rejection.data.as_ref().and_then(|data| data.get("supported"));
    match supported.and_then(Value::as_array) {
        Some(versions) => versions
            .iter()
            .filter_map(Value::as_str)
            .any(|version| version == ProtocolVersion::V_2026_07_28.as_str()),
        None => rejection.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
    }
}

/// Whether a server answered the modern first request like one that speaks only the legacy lifecycle.
fn is_legacy_answer(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(rejection) => {
            let modern =
                [ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, ErrorCode::HEADER_MISMATCH];
            !modern.contains(&rejection.code)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            server_supported.is_empty()
                || server_supported.iter().any(ProtocolVersion::has_initialize)
        }
        ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConnectionClosed(_) => true,
        _ => false,
    }
}

fn json_of(result: &ServerResult) -> Value {
    serde_json::to_value(result).expect("BUG: a result is JSON")
}
