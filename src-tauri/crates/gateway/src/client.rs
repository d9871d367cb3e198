//! The client: how the CLI, and a second app, talk to the engine that owns the data directory.
//!
//! One plain HTTP/1.1 connection a call over loopback, made by hyper without TLS, pool or redirects, because a command
//! must answer within tens of milliseconds. Events come over a WebSocket. Each connection begins with the engine's proof
//! that it knows the token (`auth::proof`): the file that names its port may be that of an engine that was killed, and
//! whoever has taken the port since must neither get the token nor be believed. One could get this wrong by asking on
//! another connection than the one that shows the token.

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
use crate::wire::{EventView, ShowRequest};

/// How long a connection may take to be made, and a WebSocket to be agreed on: the engine does both at once.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// More than any proof has.
const MOST_PROOF_BYTES: usize = 1024;

/// Where an engine listens; written beside the data (mode 0600) while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    /// The engine's process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

/// A call did not come back with a result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No engine runs for this data directory.
    #[error("Rouse is not running. Start the app, or `rouse serve`.")]
    NotRunning,
    /// The files that say where it listens cannot be read.
    #[error("cannot read {path}")]
    Files {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot talk to Rouse at {address}")]
    Connection {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Somebody takes the connection and says nothing.
    #[error(
        "Something listens at {address} and does not answer. When Rouse hangs, end it and start it again; when it is \
         another program, `rouse serve` takes the place of an engine that is gone."
    )]
    Silent {
        /// Where.
        address: SocketAddr,
    },
    /// Somebody takes the connection who does not know the token.
    #[error(
        "What listens at {address} does not prove that it is your Rouse, so it was told nothing and is not believed. \
         Either Rouse has ended without tidying up and another program has its port, or it was updated while it ran: \
         start the app, or `rouse serve`, anew."
    )]
    Unproven {
        /// Where.
        address: SocketAddr,
    },
    /// The engine said no.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The engine refused the token.
    #[error("Rouse does not accept the token in {0}. Restart Rouse, then try again.")]
    Refused(std::path::PathBuf),
}

/// A client of one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    token: String,
    token_path: std::path::PathBuf,
    answers_within: Option<Duration>,
}

impl Client {
    /// The file that says where the engine of `home` listens.
    #[must_use]
    pub fn endpoint_path(home: &Path) -> std::path::PathBuf {
        home.join("gateway.json")
    }

    /// The file with the bearer token of `home`.
    #[must_use]
    pub fn token_path(home: &Path) -> std::path::PathBuf {
        home.join("gateway.token")
    }

    /// Finds the engine that owns `home`. That it answers is known only after the first call.
    ///
    /// # Errors
    /// `NotRunning` without the files of a running engine.
    pub fn find(home: &Path) -> Result<Self, ClientError> {
        let endpoint = read(&Self::endpoint_path(home))?;
        let token_path = Self::token_path(home);
        let token = read(&token_path)?.trim().to_owned();
        // A half-written file belongs to an engine that is just starting or has just died.
        let endpoint = serde_json::from_str(&endpoint).map_err(|_| ClientError::NotRunning)?;
        Ok(Self { endpoint, token, token_path, answers_within: None })
    }

    /// The same client, giving up on calls whose answer does not begin within `limit`.
    #[must_use]
    pub fn answered_within(self, limit: Duration) -> Self {
        Self { answers_within: Some(limit), ..self }
    }

    /// Where the engine listens.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Calls one method.
    ///
    /// # Errors
    /// `NotRunning` when nobody listens, `Rpc` with the engine's own words.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut response = self.post("/rpc", &request).await?;
        if let Some(error) = response.get_mut("error") {
            let error: RpcError =
                serde_json::from_value(error.take()).map_err(|error| self.broken(error))?;
            return Err(error.into());
        }
        Ok(response.get_mut("result").map(Value::take).unwrap_or_default())
    }

    /// An address for a browser that signs it in; good once and for 30 seconds.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn browser_address(&self, path: &str) -> Result<String, ClientError> {
        let answer = self.post("/auth/code", &json!({})).await?;
        let code = answer.get("code").and_then(Value::as_str).unwrap_or_default();
        // Behind `#`, so that the code is sent to no server and lands in no log.
        Ok(format!("http://{}{path}#code={code}", self.endpoint.address))
    }

    /// The events after `after`; without it only new ones.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn events(&self, after: Option<i64>) -> Result<EventStream, ClientError> {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        Ok(EventStream { socket: self.socket(&query).await? })
    }

    /// The events after `after`, and the notifications that the engine asks this program to show. An engine that is too
    /// old to ask sends events alone.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn attach_screen(&self, after: i64) -> Result<ScreenStream, ClientError> {
        let query = format!("?after={after}&screen=true");
        Ok(ScreenStream { socket: self.socket(&query).await? })
    }

    /// That the engine is there and knows the token.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn greet(&self) -> Result<(), ClientError> {
        self.line().await.map(drop)
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
            .map_err(|error| self.broken(error))?;
        let mut line = self.line().await?;
        let agreed = self.within(Some(CONNECT_WITHIN), line.ask(request)).await?;
        let response = agreed.map_err(|error| self.broken(error))?;
        let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS
                if accepted.is_some_and(|value| {
                    *value == handshake::derive_accept_key(key.as_bytes())
                }) => {}
            StatusCode::UNAUTHORIZED => return Err(ClientError::Refused(self.token_path.clone())),
            other => return Err(self.broken(io::Error::other(format!("no WebSocket: {other}")))),
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(|error| self.broken(error))?;
        let stream = TokioIo::new(upgraded);
        Ok(Socket(WebSocketStream::from_raw_socket(stream, Role::Client, None).await))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| self.broken(error))?;
        let mut line = self.line().await?;
        let answer = self.within(self.answers_within, line.ask(request)).await?;
        let response = answer.map_err(|error| self.broken(error))?;
        let status = response.status();
        let bytes =
            response.into_body().collect().await.map_err(|error| self.broken(error))?.to_bytes();
        match status {
            StatusCode::OK => serde_json::from_slice(&bytes).map_err(|error| self.broken(error)),
            StatusCode::UNAUTHORIZED => Err(ClientError::Refused(self.token_path.clone())),
            other => Err(self
                .broken(io::Error::other(format!("{other}: {}", String::from_utf8_lossy(&bytes))))),
        }
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let host = self.endpoint.address.to_string();
        Request::builder().method(method).uri(path).header(header::HOST, host)
    }

    /// A connection to who has just proved to be the engine.
    async fn line(&self) -> Result<Line, ClientError> {
        let stream = TokioIo::new(self.connect().await?);
        let (sender, connection) = hyper::client::conn::http1::handshake(stream)
            .await
            .map_err(|error| self.broken(error))?;
        let driver = AbortOnDropHandle::new(tokio::spawn(connection.with_upgrades()));
        let mut line = Line { sender, _driver: driver };
        let limit = self.answers_within.unwrap_or(CONNECT_WITHIN);
        if self.within(Some(limit), self.is_proven(&mut line)).await?? {
            return Ok(line);
        }
        Err(ClientError::Unproven { address: self.endpoint.address })
    }

    async fn is_proven(&self, line: &mut Line) -> Result<bool, ClientError> {
        let challenge = Challenge::new();
        let request = self
            .request(Method::GET, &format!("/auth/proof?nonce={}", challenge.nonce()))
            .body(Full::default())
            .map_err(|error| self.broken(error))?;
        let response = line.ask(request).await.map_err(|error| self.broken(error))?;
        if response.status() != StatusCode::OK {
            return Ok(false);
        }
        // A stranger may send without end.
        let Ok(body) = Limited::new(response.into_body(), MOST_PROOF_BYTES).collect().await else {
            return Ok(false);
        };
        let port = self.endpoint.address.port();
        Ok(challenge.is_met_by(&body.to_bytes(), &self.token, port))
    }

    async fn connect(&self) -> Result<TcpStream, ClientError> {
        let connecting = TcpStream::connect(self.endpoint.address);
        match self.within(Some(CONNECT_WITHIN), connecting).await? {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|error| self.broken(error))?;
                Ok(stream)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(ClientError::NotRunning)
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    async fn within<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Result<T, ClientError> {
        let Some(limit) = limit else { return Ok(work.await) };
        let silent = |_| ClientError::Silent { address: self.endpoint.address };
        tokio::time::timeout(limit, work).await.map_err(silent)
    }

    fn broken<E: std::error::Error + Send + Sync + 'static>(&self, error: E) -> ClientError {
        ClientError::Connection { address: self.endpoint.address, source: Box::new(error) }
    }
}

/// Events as they come.
pub struct EventStream {
    socket: Socket,
}

impl EventStream {
    /// The next event; none when the engine has gone.
    pub async fn next(&mut self) -> Option<EventView> {
        loop {
            if let ForScreen::Event(event) = self.socket.next().await? {
                return Some(event);
            }
        }
    }
}

/// What a screen hears.
#[derive(Debug, Clone)]
pub enum ForScreen {
    /// Something happened.
    Event(EventView),
    /// A notification is to be shown; `deliveries.answer` says what became of it.
    Show(ShowRequest),
}

/// Events and notifications as they come. The program is a screen until this is dropped.
pub struct ScreenStream {
    socket: Socket,
}

impl ScreenStream {
    /// The next event or notification; none when the engine has gone.
    pub async fn next(&mut self) -> Option<ForScreen> {
        self.socket.next().await
    }
}

/// One connection; it ends with this.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    _driver: AbortOnDropHandle<Result<(), hyper::Error>>,
}

impl Line {
    async fn ask(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}

struct Socket(WebSocketStream<TokioIo<Upgraded>>);

impl Socket {
    async fn next(&mut self) -> Option<ForScreen> {
        loop {
            match self.0.next().await? {
                Ok(tungstenite::Message::Text(text)) => {
                    if let Some(told) = told(&text) {
                        return Some(told);
                    }
                }
                Ok(tungstenite::Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// What a message says; nothing when it is of a kind that this version does not know.
fn told(text: &str) -> Option<ForScreen> {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let params = message.get("params")?.clone();
    let told = match message.get("method").and_then(Value::as_str)? {
        "event" => serde_json::from_value(params).map(ForScreen::Event),
        "show" => serde_json::from_value(params).map(ForScreen::Show),
        _ => return None,
    };
    told.inspect_err(|error| tracing::debug!(%error, "a message was not understood")).ok()
}

fn read(path: &Path) -> Result<String, ClientError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ClientError::NotRunning,
        _ => ClientError::Files { path: path.to_owned(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_never_answers_is_given_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = Endpoint {
            address: listener.local_addr().expect("its address"),
            pid: 1,
            version: String::new(),
        };
        let client = Client {
            endpoint,
            token: String::new(),
            token_path: std::path::PathBuf::new(),
            answers_within: None,
        };
        let answer =
            client.answered_within(Duration::from_millis(20)).call("cron.list", json!({})).await;
        assert!(matches!(answer, Err(ClientError::Silent { .. })), "{answer:?}");
    }
}
