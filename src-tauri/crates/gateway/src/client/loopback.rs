//! The client of an engine on this computer: HTTP/1.1 and a WebSocket over loopback.
//!
//! Owns one plain connection per call, without TLS, pool or redirects, because a command must respond within tens of
//! milliseconds. Each connection starts with the engine's proof of the token (`auth::proof`): the endpoint file may be that of a
//! killed engine, and another program at the port must neither get the token nor be trusted.
//! Pitfall: sending the token on another connection than the proven one.

use std::io;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, handshake};
use tokio_util::task::AbortOnDropHandle;

use super::endpoint::{Endpoint, endpoint_path, token_path};
use super::error::ClientError;
use super::message::{DesktopAppMessage, Subscribe, parse_message};
use crate::auth::Challenge;
use crate::error::RpcError;

/// Maximum time to connect, and to upgrade to a WebSocket.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum body of a proof, larger than any valid one.
const MAX_PROOF_BYTES: usize = 1024;

/// A client of one engine on this computer. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct LoopbackClient {
    pub(super) endpoint: Endpoint,
    pub(super) token: String,
    pub(super) token_path: std::path::PathBuf,
    pub(super) response_timeout: Option<Duration>,
}

impl LoopbackClient {
    /// Reads the endpoint of `home`, without connecting.
    pub(super) fn find(home: &Path) -> Result<Self, ClientError> {
        let endpoint = read_file(&endpoint_path(home))?;
        let token_path = token_path(home);
        let token = read_file(&token_path)?.trim().to_owned();
        // An incomplete file belongs to an engine that is starting or was killed.
        let endpoint = serde_json::from_str(&endpoint).map_err(|_| ClientError::NotRunning)?;
        Ok(Self { endpoint, token, token_path, response_timeout: None })
    }

    pub(super) async fn call(&self, method: &str, params: &Value) -> Result<Value, ClientError> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut response = self.post("/rpc", &request).await?;
        if let Some(error) = response.get_mut("error") {
            let error: RpcError = serde_json::from_value(error.take())
                .map_err(|error| self.connection_error(error))?;
            return Err(error.into());
        }
        Ok(response.get_mut("result").map(Value::take).unwrap_or_default())
    }

    pub(super) async fn sign_in_url(&self, path: &str) -> Result<String, ClientError> {
        let response = self.post("/auth/code", &json!({})).await?;
        let code = response.get("code").and_then(Value::as_str).unwrap_or_default();
        // In the fragment, which a browser sends to no server and a server logs nowhere.
        Ok(format!("http://{}{path}#code={code}", self.endpoint.address))
    }

    pub(super) async fn subscribe(&self, subscribe: Subscribe) -> Result<Socket, ClientError> {
        let Subscribe { after, is_desktop_app } = subscribe;
        let after = after.map(|after| format!("after={after}"));
        let screen = is_desktop_app.then(|| "screen=true".to_owned());
        let query: Vec<String> = after.into_iter().chain(screen).collect();
        self.socket(&format!("?{}", query.join("&"))).await
    }

    pub(super) async fn check_connection(&self) -> Result<(), ClientError> {
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

    pub(super) fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let host = self.endpoint.address.to_string();
        Request::builder().method(method).uri(path).header(header::HOST, host)
    }

    /// Connects and checks the proof of the engine.
    pub(super) async fn proven_connection(&self) -> Result<ProvenConnection, ClientError> {
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

    pub(super) async fn timeout<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Result<T, ClientError> {
        let Some(limit) = limit else { return Ok(work.await) };
        let timed_out = |_| ClientError::TimedOut { address: self.endpoint.address };
        tokio::time::timeout(limit, work).await.map_err(timed_out)
    }

    pub(super) fn connection_error<E: std::error::Error + Send + Sync + 'static>(
        &self,
        error: E,
    ) -> ClientError {
        ClientError::Connection { address: self.endpoint.address, source: Box::new(error) }
    }
}

/// A connection to an engine with a proof of the token. Closes when dropped.
pub(super) struct ProvenConnection {
    sender: SendRequest<Full<Bytes>>,
    _driver: AbortOnDropHandle<Result<(), hyper::Error>>,
}

impl ProvenConnection {
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}

/// The WebSocket of a subscription.
pub(super) struct Socket(WebSocketStream<TokioIo<Upgraded>>);

impl Socket {
    pub(super) async fn next(&mut self) -> Option<DesktopAppMessage> {
        loop {
            match self.0.next().await? {
                Ok(tungstenite::Message::Text(text)) => {
                    // silent-ok: invalid text is null, which is no known message.
                    let message = serde_json::from_str(&text).unwrap_or_default();
                    if let Some(message) = parse_message(message) {
                        return Some(message);
                    }
                }
                Ok(tungstenite::Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
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
        let client = LoopbackClient {
            endpoint,
            token: String::new(),
            token_path: std::path::PathBuf::new(),
            response_timeout: Some(Duration::from_millis(20)),
        };
        let result = client.call("cron.list", &json!({})).await;
        assert!(matches!(result, Err(ClientError::TimedOut { .. })), "{result:?}");
    }
}
