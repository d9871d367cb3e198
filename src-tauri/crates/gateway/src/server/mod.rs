//! The loopback server: `/rpc`, `/ws`, `/hooks`, `/healthz`, sign-in, and the UI's files.
//!
//! Host and Origin are checked before anything else, so that no web page and no rebound name can reach a handler; then
//! who calls; only then is the body read, for as long as `body` waits. `door` bounds how many may connect. It binds
//! loopback and nothing else, and refuses CORS altogether.

mod body;
mod door;
mod files;
mod guard;
mod hooks;
mod pace;
mod rpc;
mod session;
mod socket;

pub use files::{UiFile, UiFiles};

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use rouse_core::Clock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::Gateway;
use crate::auth::Auth;
use door::Door;
use pace::Pace;

/// The largest request body.
const MOST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// A file of jobs comes as one text, and JSON may double it.
const MOST_CALL_BYTES: usize = 20 * 1024 * 1024;
/// The largest body of somebody who has not signed in yet.
const MOST_CODE_BYTES: usize = 1024;
/// How long a body may take to come. It comes from this computer, so a second is long.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// How long the stop waits for requests in progress. One that was begun and never ended must not keep the engine alive.
const STOP_FOR: Duration = Duration::from_secs(1);

/// What can be done about a port that is somebody else's.
const TAKEN: &str = ": another program has it; name another port or leave --port out";

/// The server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No port could be bound.
    #[error(
        "cannot listen on 127.0.0.1:{port}{}",
        if source.kind() == std::io::ErrorKind::AddrInUse { TAKEN } else { "" }
    )]
    Bind {
        /// The port that was asked for.
        port: u16,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// What every request may need.
#[derive(Clone)]
pub(crate) struct Shared {
    gateway: Gateway,
    auth: Arc<Auth>,
    clock: Arc<dyn Clock>,
    ui: Arc<dyn UiFiles>,
    port: u16,
    pace: Arc<Pace>,
    body_within: Duration,
    closing: CancellationToken,
}

/// A port of 127.0.0.1 that is ours. Who knocks waits until a [`Server`] answers.
pub struct BoundPort {
    listener: TcpListener,
    address: SocketAddr,
    instead_of: Option<u16>,
    body_within: Duration,
}

impl BoundPort {
    /// Binds 127.0.0.1 at `port`; when that is taken and `or_any`, at a port the system chooses.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn bind(port: u16, or_any: bool) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { port, source };
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(_) if or_any && port != 0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
            bound => bound,
        };
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let instead_of = (port != 0 && address.port() != port).then_some(port);
        Ok(Self { listener, address, instead_of, body_within: BODY_WITHIN })
    }

    /// The same port, where the body of a request has so long to come.
    #[must_use]
    pub fn bodies_within(self, body_within: Duration) -> Self {
        Self { body_within, ..self }
    }

    /// The port.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.address.port()
    }

    /// The port that was wanted and is somebody else's.
    #[must_use]
    pub const fn instead_of(&self) -> Option<u16> {
        self.instead_of
    }
}

/// A listening server.
pub struct Server {
    address: SocketAddr,
    closing: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Answers at `port` from now on.
    #[must_use]
    pub fn start(
        port: BoundPort,
        gateway: Gateway,
        auth: Arc<Auth>,
        clock: Arc<dyn Clock>,
        ui: Arc<dyn UiFiles>,
    ) -> Self {
        let BoundPort { listener, address, body_within, .. } = port;
        let closing = CancellationToken::new();
        let most_connections = gateway.most_connections();
        let shared = Shared {
            gateway,
            auth,
            clock,
            ui,
            port: address.port(),
            pace: Arc::default(),
            body_within,
            closing: closing.clone(),
        };
        let served = Door::of(most_connections).serve(listener, router(shared), closing.clone());
        let task = tokio::spawn(served);
        Self { address, closing, task }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests and waits a moment for those in progress.
    pub async fn stop(mut self) {
        self.closing.cancel();
        match tokio::time::timeout(STOP_FOR, &mut self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the gateway's server did not end cleanly"),
            Err(_) => {
                tracing::debug!("a request in progress was left behind");
                self.task.abort();
            }
        }
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/rpc", post(rpc::call).layer(DefaultBodyLimit::max(MOST_CALL_BYTES)))
        .route("/ws", get(socket::upgrade))
        .route("/auth/proof", get(session::prove))
        .route("/auth/life", get(session::life))
        .route("/auth/code", post(session::new_code))
        .route(
            "/auth/exchange",
            post(session::exchange).layer(DefaultBodyLimit::max(MOST_CODE_BYTES)),
        )
        .route("/hooks/wake", hook(post(hooks::wake)))
        .route("/hooks/jobs/{id}", hook(post(hooks::fire)))
        .route("/hooks/{*other}", any(hooks::nowhere))
        .fallback(get(files::serve))
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(shared.clone(), guard::check))
        .with_state(shared)
}

fn hook(method: axum::routing::MethodRouter<Shared>) -> axum::routing::MethodRouter<Shared> {
    let method = method.fallback(hooks::no_such_method);
    method.layer(DefaultBodyLimit::max(hooks::MOST_HOOK_BYTES))
}

/// Why a request is not answered, in the one shape that all refusals have.
fn refused(status: StatusCode, reason: &str) -> Response {
    (status, axum::Json(serde_json::json!({ "error": reason }))).into_response()
}
