//! The loopback server: `/rpc`, `/ws`, `/mcp`, `/hooks`, `/healthz`, sign-in, and the UI's files.
//!
//! Owns the order of checks: Host and Origin (`guard`), so cross-origin requests and DNS rebinding never reach a handler;
//! then authentication; then the body with a timeout (`body`). `connection_limit` limits open connections. Binds loopback
//! only, also for the names of a proxy in front (`own_origin`). Never sends CORS headers.

mod limits;
mod state;
mod error_response;
mod own_origin;
mod guard;
mod connection_limit;
mod rate_limit;
mod body;
mod rpc;
mod socket;
mod hooks;
mod mcp;
mod sign_in;
mod device_sign_in;
mod oauth_callback;
mod files;

pub use files::{UiFile, UiFiles};

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};
use rouse_core::Clock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::connection_limit::ConnectionLimit;
use self::limits::{
    BODY_TIMEOUT, MAX_BODY_BYTES, MAX_CALL_BYTES, MAX_CODE_BYTES, MAX_HOOK_BYTES, STOP_TIMEOUT,
};
use self::rate_limit::CallRateLimit;
use self::state::RouterState;
use crate::auth::Auth;
use crate::gateway::Gateway;
use crate::sign_in_callback::CALLBACK_PATH;

/// Cause and remedy shown when the port is in use.
const PORT_IN_USE: &str = ": another program uses it; choose another port or omit --port";

/// The server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No port could be bound.
    #[error(
        "cannot listen on 127.0.0.1:{port}{}",
        if source.kind() == std::io::ErrorKind::AddrInUse { PORT_IN_USE } else { "" }
    )]
    Bind {
        /// The requested port.
        port: u16,
        /// The system error.
        #[source]
        source: std::io::Error,
    },
}

/// A bound port of 127.0.0.1. Connections wait until a [`GatewayServer`] accepts them.
pub struct BoundPort {
    listener: TcpListener,
    address: SocketAddr,
    unavailable_port: Option<u16>,
    body_timeout: Duration,
}

impl BoundPort {
    /// Binds `port` of 127.0.0.1. If `port` cannot be bound and `allow_any_port` is set, binds a port chosen by the system.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn bind(port: u16, allow_any_port: bool) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { port, source };
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(_) if allow_any_port && port != 0 => {
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
            }
            bound => bound,
        };
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let unavailable_port = (port != 0 && address.port() != port).then_some(port);
        Ok(Self { listener, address, unavailable_port, body_timeout: BODY_TIMEOUT })
    }

    /// Sets the maximum time to receive a body.
    #[must_use]
    pub fn with_body_timeout(self, body_timeout: Duration) -> Self {
        Self { body_timeout, ..self }
    }

    /// The port number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.address.port()
    }

    /// The requested port, if it could not be bound.
    #[must_use]
    pub const fn unavailable_port(&self) -> Option<u16> {
        self.unavailable_port
    }
}

/// A listening server.
pub struct GatewayServer {
    address: SocketAddr,
    closing: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl GatewayServer {
    /// Starts to accept connections at `port`.
    #[must_use]
    pub fn start(
        port: BoundPort,
        gateway: Gateway,
        auth: Arc<Auth>,
        clock: Arc<dyn Clock>,
        ui: Arc<dyn UiFiles>,
    ) -> Self {
        let BoundPort { listener, address, body_timeout, .. } = port;
        let closing = CancellationToken::new();
        let connection_limit = ConnectionLimit::new(gateway.max_connections());
        let state = RouterState {
            gateway,
            auth,
            clock,
            ui,
            port: address.port(),
            hook_rate_limit: Arc::new(CallRateLimit::of_hooks()),
            body_timeout,
            closing: closing.clone(),
        };
        let task = tokio::spawn(connection_limit.serve(listener, router(state), closing.clone()));
        Self { address, closing, task }
    }

    /// The address of the server.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting requests and waits briefly for active ones.
    pub async fn stop(mut self) {
        self.closing.cancel();
        match tokio::time::timeout(STOP_TIMEOUT, &mut self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the gateway server failed"),
            Err(_) => {
                tracing::debug!("an active request was aborted at the stop");
                self.task.abort();
            }
        }
    }
}

fn router(state: RouterState) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/rpc", post(rpc::call).layer(DefaultBodyLimit::max(MAX_CALL_BYTES)))
        .route("/ws", get(socket::upgrade))
        .route("/mcp", post(mcp::call).fallback(mcp::method_not_allowed))
        .route("/auth/proof", get(sign_in::prove))
        .route("/auth/start-id", get(sign_in::start_id))
        .route("/auth/code", post(sign_in::create_code))
        .route("/auth/exchange", before_sign_in(post(sign_in::exchange)))
        .route("/auth/pairing", before_sign_in(post(device_sign_in::offer)))
        .route("/auth/pair", before_sign_in(post(device_sign_in::pair)))
        .route("/auth/challenge", before_sign_in(post(device_sign_in::challenge)))
        .route("/auth/sign-in", before_sign_in(post(device_sign_in::sign_in)))
        .route(CALLBACK_PATH, get(oauth_callback::receive))
        .route("/hooks/wake", hook(post(hooks::wake)))
        .route("/hooks/jobs/{id}", hook(post(hooks::fire)))
        .route("/hooks/{*other}", any(hooks::unknown_hook))
        .fallback(get(files::serve))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::check))
        .with_state(state)
}

fn hook(
    method: axum::routing::MethodRouter<RouterState>,
) -> axum::routing::MethodRouter<RouterState> {
    let method = method.fallback(hooks::method_not_allowed);
    method.layer(DefaultBodyLimit::max(MAX_HOOK_BYTES))
}

/// A route for callers without a session, with a small body.
fn before_sign_in(
    method: axum::routing::MethodRouter<RouterState>,
) -> axum::routing::MethodRouter<RouterState> {
    method.layer(DefaultBodyLimit::max(MAX_CODE_BYTES))
}
