//! The client of the CLI and of a second app, for the engine that owns the data directory.
//!
//! Owns one plain HTTP/1.1 connection per call over loopback, without TLS, pool or redirects, because a command must respond
//! within tens of milliseconds. Events arrive over a WebSocket. Each connection starts with the engine's proof of the token
//! (`auth::proof`): the endpoint file may be that of a killed engine, and another program at the port must neither get the token
//! nor be trusted.
//! Pitfall: sending the token on another connection than the proven one.

mod mcp;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, handshake};
use tokio_util::task::AbortOnDropHandle;

use crate::auth::Challenge;
use crate::error::RpcError;
use crate::wire::{EventView, NotificationRequest};

pub use mcp::McpOrigin;

/// Maximum time to connect, and to upgrade to a WebSocket.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum body of a proof, larger than any valid one.
const MAX_PROOF_BYTES: usize = 1024;

/// The endpoint of a running engine, stored in the data directory (mode 0600).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    /// Process id of the engine.
    pub pid: u32,
    /// Version of the engine.
    pub version: String,
}

/// An error of a call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No engine runs for this data directory.
    #[error("Rouse is not running. Start the app, or `rouse serve`.")]
    NotRunning,
    /// The endpoint or token file is unreadable.
    #[error("cannot read {path}")]
    Files {
        /// The file.
        path: std::path::PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot connect to Rouse at {address}")]
    Connection {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The listener accepts the connection but does not respond in time.
    #[error(
        "The program at {address} does not respond. If Rouse hangs, restart Rouse. If another program uses the port, \
         run `rouse serve`."
    )]
    TimedOut {
        /// The address.
        address: SocketAddr,
    },
    /// The listener does not prove the token.
    #[error(
        "The program at {address} does not prove that it is your Rouse, so no data was sent. Either Rouse was killed and \
         another program uses the port, or Rouse was updated while running. Restart the app or `rouse serve`."
    )]
    Unproven {
        /// The address.
        address: SocketAddr,
    },
    /// An error of the engine.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The engine rejects the token.
    #[error("Rouse does not accept the token in {0}. Restart Rouse, then try again.")]
    Unauthorized(std::path::PathBuf),
}

/// A client of one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    token: String,
    token_path: std::path::PathBuf,
    response_timeout: Option<Duration>,
}

impl Client {
    /// The endpoint file of `home`.
    #[must_use]
    pub fn endpoint_path(home: &Path) -> std::path::PathBuf {
        home.join("gateway.json")
    }

    /// The token file of `home`.
    #[must_use]
    pub fn token_path(home: &Path) -> std::path::PathBuf {
        home.join("gateway.token")
    }

    /// Reads the endpoint of `home`, without connecting.
    ///
    /// # Errors
    /// `NotRunning` without an endpoint file.
    pub fn find(home: &Path) -> Result<Self, ClientError> {
        let endpoint = read_file(&Self::endpoint_path(home))?;
        let token_path = Self::token_path(home);
        let token = read_file(&token_path)?.trim().to_owned();
        // An incomplete file belongs to an engine that is starting or was killed.
        let endpoint = serde_json::from_str(&endpoint).map_err(|_| ClientError::NotRunning)?;
        Ok(Self { endpoint, token, token_path, response_timeout: None })
    }

    /// Sets the maximum time until the start of a response.
    #[must_use]
    pub fn with_response_timeout(self, timeout: Duration) -> Self {
        Self { response_timeout: Some(timeout), ..self }
    }

    /// The endpoint of the engine.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Calls a method.
    ///
    /// # Errors
    /// `NotRunning` without a listener, `Rpc` with the error of the engine.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut response = self.post("/rpc", &request).await?;
        if let Some(error) = response.get_mut("error") {
            let error: RpcError = serde_json::from_value(error.take())
                .map_err(|error| self.connection_error(error))?;
            return Err(error.into());
        }
        Ok(response.get_mut("result").map(Value::take).unwrap_or_default())
    }

    /// A URL that signs in a browser, valid once within 30 seconds.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn sign_in_url(&self, path: &str) -> Result<String, ClientError> {
        let response = self.post("/auth/code", &json!({})).await?;
        let code = response.get("code").and_then(Value::as_str).unwrap_or_default();
        // In the fragment, which a browser sends to no server and a server logs nowhere.
        Ok(format!("http://{}{path}#code={code}", self.endpoint.address))
    }

    /// The events after `after`. Default: only new ones.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn events(&self, after: Option<i64>) -> Result<EventStream, ClientError> {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        Ok(EventStream { socket: self.socket(&query).await? })
    }

    /// Attaches this program as a desktop app: the events after `after`, and notification requests.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn attach_desktop_app(&self, after: i64) -> Result<DesktopAppStream, ClientError> {
        let query = format!("?after={after}&screen=true");
        Ok(DesktopAppStream { socket: self.socket(&query).await? })
    }

    /// Checks that the engine runs and proves the token.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn check_connection(&self) -> Result<(), ClientError> {
        self.proven_connection().await.map(drop)
    }

    async fn socket(&self, query: &str) -> Result<Socket, ClientError> {
        let key = handshake::client::generate_key();
        let request = self
            .request(Method::GET, &format!("/ws{query}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .body(Full::default())
            .map_err(|error| self.connection_error(error))?;
        let mut connection = self.proven_connection().await?;
        let response = self.timeout(Some(CONNECT_TIMEOUT), connection.send(request)).await?;
        let response = response.map_err(|error| self.connection_error(error))?;
        let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS
                if accepted.is_some_and(|value| {
                    *value == handshake::derive_accept_key(key.as_bytes())
                }) => {}
            StatusCode::UNAUTHORIZED => {
                return Err(ClientError::Unauthorized(self.token_path.clone()));
            }
            other => {
                return Err(
                    self.connection_error(io::Error::other(format!("no WebSocket: {other}")))
                );
            }
        }
        let upgraded =
            hyper::upgrade::on(response).await.map_err(|error| self.connection_error(error))?;
        let stream = TokioIo::new(upgraded);
        Ok(Socket(WebSocketStream::from_raw_socket(stream, Role::Client, None).await))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| self.connection_error(error))?;
        let mut connection = self.proven_connection().await?;
        let response = self.timeout(self.response_timeout, connection.send(request)).await?;
        let response = response.map_err(|error| self.connection_error(error))?;
        let status = response.status();
        let bytes = response
            .into_body()
            .collect()
            .await
            .map_err(|error| self.connection_error(error))?
            .to_bytes();
        match status {
            StatusCode::OK => {
                serde_json::from_slice(&bytes).map_err(|error| self.connection_error(error))
            }
            StatusCode::UNAUTHORIZED => Err(ClientError::Unauthorized(self.token_path.clone())),
            other => Err(self.connection_error(io::Error::other(format!(
                "{other}: {}",
                String::from_utf8_lossy(&bytes)
            )))),
        }
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let host = self.endpoint.address.to_string();
        Request::builder().method(method).uri(path).header(header::HOST, host)
    }

    /// Connects and checks the proof of the engine.
    async fn proven_connection(&self) -> Result<ProvenConnection, ClientError> {
        let stream = TokioIo::new(self.connect().await?);
        let (sender, connection) = hyper::client::conn::http1::handshake(stream)
            .await
            .map_err(|error| self.connection_error(error))?;
        let driver = AbortOnDropHandle::new(tokio::spawn(connection.with_upgrades()));
        let mut connection = ProvenConnection { sender, _driver: driver };
        let limit = self.response_timeout.unwrap_or(CONNECT_TIMEOUT);
        if self.timeout(Some(limit), self.is_proven(&mut connection)).await?? {
            return Ok(connection);
        }
        Err(ClientError::Unproven { address: self.endpoint.address })
    }

    async fn is_proven(&self, connection: &mut ProvenConnection) -> Result<bool, ClientError> {
        let challenge = Challenge::new();
        let request = self
            .request(Method::GET, &format!("/auth/proof?nonce={}", challenge.nonce()))
            .body(Full::default())
            .map_err(|error| self.connection_error(error))?;
        let response =
            connection.send(request).await.map_err(|error| self.connection_error(error))?;
        if response.status() != StatusCode::OK {
            return Ok(false);
        }
        // Another program may send without end.
        let Ok(body) = Limited::new(response.into_body(), MAX_PROOF_BYTES).collect().await else {
            return Ok(false);
        };
        let port = self.endpoint.address.port();
        Ok(challenge.accepts(&body.to_bytes(), &self.token, port))
    }

    async fn connect(&self) -> Result<TcpStream, ClientError> {
        let connecting = TcpStream::connect(self.endpoint.address);
        match self.timeout(Some(CONNECT_TIMEOUT), connecting).await? {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|error| self.connection_error(error))?;
                Ok(stream)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(ClientError::NotRunning)
            }
            Err(error) => Err(self.connection_error(error)),
        }
    }

    async fn timeout<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Result<T, ClientError> {
        let Some(limit) = limit else { return Ok(work.await) };
        let timed_out = |_| ClientError::TimedOut { address: self.endpoint.address };
        tokio::time::timeout(limit, work).await.map_err(timed_out)
    }

    fn connection_error<E: std::error::Error + Send + Sync + 'static>(
        &self,
        error: E,
    ) -> ClientError {
        ClientError::Connection { address: self.endpoint.address, source: Box::new(error) }
    }
}

/// A stream of events.
pub struct EventStream {
    socket: Socket,
}

impl EventStream {
    /// The next event; none after the end of the engine.
    pub async fn next(&mut self) -> Option<EventView> {
        loop {
            if let DesktopAppMessage::Event(event) = self.socket.next().await? {
                return Some(event);
            }
        }
    }
}

/// A message to an attached desktop app.
#[derive(Debug, Clone)]
pub enum DesktopAppMessage {
    /// An event.
    Event(EventView),
    /// A notification to show; `deliveries.answer` reports the outcome.
    Show(NotificationRequest),
}

/// A stream of events and notification requests. The program is attached until this is dropped.
pub struct DesktopAppStream {
    socket: Socket,
}

impl DesktopAppStream {
    /// The next message; none after the end of the engine.
    pub async fn next(&mut self) -> Option<DesktopAppMessage> {
        self.socket.next().await
    }
}

/// A connection to an engine with a proof of the token. Closes when dropped.
struct ProvenConnection {
    sender: SendRequest<Full<Bytes>>,
    _driver: AbortOnDropHandle<Result<(), hyper::Error>>,
}

impl ProvenConnection {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}

struct Socket(WebSocketStream<TokioIo<Upgraded>>);

impl Socket {
    async fn next(&mut self) -> Option<DesktopAppMessage> {
        loop {
            match self.0.next().await? {
                Ok(tungstenite::Message::Text(text)) => {
                    if let Some(message) = parse_message(&text) {
                        return Some(message);
                    }
                }
                Ok(tungstenite::Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// Parses a message; none for a kind that this version does not know.
fn parse_message(text: &str) -> Option<DesktopAppMessage> {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let params = message.get("params")?.clone();
    let parsed = match message.get("method").and_then(Value::as_str)? {
        "event" => serde_json::from_value(params).map(DesktopAppMessage::Event),
        "show" => serde_json::from_value(params).map(DesktopAppMessage::Show),
        _ => return None,
    };
    parsed.inspect_err(|error| tracing::debug!(%error, "invalid message of the engine")).ok()
}

fn read_file(path: &Path) -> Result<String, ClientError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ClientError::NotRunning,
        _ => ClientError::Files { path: path.to_owned(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unresponsive_listener_times_out() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = Endpoint {
            address: listener.local_addr().expect("the address"),
            pid: 1,
            version: String::new(),
        };
        let client = Client {
            endpoint,
            token: String::new(),
            token_path: std::path::PathBuf::new(),
            response_timeout: None,
        };
        let client = client.with_response_timeout(Duration::from_millis(20));
        let result = client.call("cron.list", json!({})).await;
        assert!(matches!(result, Err(ClientError::TimedOut { .. })), "{result:?}");
    }
}
