//! The client of an engine: of the CLI, of a second app, and of an app for another computer.
//!
//! Owns the choice of the transport: loopback for the engine of a data directory, `ssh` for an engine on another computer.
//! Callers see no difference but the errors. Layers: `loopback`, `remote` ← this file; `dial` is the far end of `remote`.

mod endpoint;
mod error;
mod message;
mod loopback;
mod mcp;
mod remote;
mod dial;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use self::loopback::{LoopbackClient, Socket};
use self::message::Subscribe;
use self::remote::{RemoteClient, RemoteSubscription};
use crate::wire::EventView;

pub use dial::serve_dial;
pub use endpoint::Endpoint;
pub use error::ClientError;
pub use mcp::McpOrigin;
pub use message::DesktopAppMessage;
pub use remote::{RemoteComputer, RemoteError};

/// A client of one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client(ClientTransport);

#[derive(Debug, Clone)]
enum ClientTransport {
    Loopback(LoopbackClient),
    Remote(RemoteClient),
}

impl Client {
    /// The endpoint file of `home`.
    #[must_use]
    pub fn endpoint_path(home: &Path) -> PathBuf {
        endpoint::endpoint_path(home)
    }

    /// The token file of `home`.
    #[must_use]
    pub fn token_path(home: &Path) -> PathBuf {
        endpoint::token_path(home)
    }

    /// Reads the endpoint of `home`, without connecting.
    ///
    /// # Errors
    /// `NotRunning` without an endpoint file.
    pub fn find(home: &Path) -> Result<Self, ClientError> {
        LoopbackClient::find(home).map(|client| Self(ClientTransport::Loopback(client)))
    }

    /// The client of the engine on another computer. Connects at the first call, and again after a lost connection.
    #[must_use]
    pub fn over_ssh(computer: RemoteComputer) -> Self {
        Self(ClientTransport::Remote(RemoteClient::new(computer)))
    }

    /// Sets the maximum time until the start of a response.
    #[must_use]
    pub fn with_response_timeout(mut self, timeout: Duration) -> Self {
        match &mut self.0 {
            ClientTransport::Loopback(client) => client.response_timeout = Some(timeout),
            ClientTransport::Remote(client) => client.response_timeout = Some(timeout),
        }
        self
    }

    /// The endpoint of the engine; none on another computer.
    #[must_use]
    pub const fn endpoint(&self) -> Option<&Endpoint> {
        match &self.0 {
            ClientTransport::Loopback(client) => Some(&client.endpoint),
            ClientTransport::Remote(_) => None,
        }
    }

    /// Calls a method.
    ///
    /// # Errors
    /// `NotRunning` without a listener, `Rpc` with the error of the engine, `Remote` between the computers.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        match &self.0 {
            ClientTransport::Loopback(client) => client.call(method, &params).await,
            ClientTransport::Remote(client) => client.call(method, &params).await,
        }
    }

    /// A URL that signs in a browser, valid once within 30 seconds.
    ///
    /// # Errors
    /// As [`Client::call`]; refused for an engine on another computer.
    pub async fn sign_in_url(&self, path: &str) -> Result<String, ClientError> {
        match &self.0 {
            ClientTransport::Loopback(client) => client.sign_in_url(path).await,
            ClientTransport::Remote(client) => Err(client.refusal("A page in the browser")),
        }
    }

    /// The events after `after`. Default: only new ones.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn events(&self, after: Option<i64>) -> Result<EventStream, ClientError> {
        let subscribe = Subscribe { after, is_desktop_app: false };
        Ok(EventStream { messages: self.subscribe(subscribe).await? })
    }

    /// Attaches this program as a desktop app: the events after `after`, and notification requests.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn attach_desktop_app(&self, after: i64) -> Result<DesktopAppStream, ClientError> {
        let subscribe = Subscribe { after: Some(after), is_desktop_app: true };
        Ok(DesktopAppStream { messages: self.subscribe(subscribe).await? })
    }

    /// Checks that the engine runs and proves the token.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn check_connection(&self) -> Result<(), ClientError> {
        match &self.0 {
            ClientTransport::Loopback(client) => client.check_connection().await,
            ClientTransport::Remote(client) => client.check_connection().await,
        }
    }

    /// Sends an MCP message and returns the JSON-RPC response; none for a notification.
    ///
    /// # Errors
    /// As [`Client::call`]. A refused message is a response, not an error. Refused for an engine on another computer.
    pub async fn forward_mcp(
        &self,
        message: &Value,
        origin: &McpOrigin,
    ) -> Result<Option<Value>, ClientError> {
        match &self.0 {
            ClientTransport::Loopback(client) => client.forward_mcp(message, origin).await,
            ClientTransport::Remote(client) => Err(client.refusal("Rouse as an MCP server")),
        }
    }

    async fn subscribe(&self, subscribe: Subscribe) -> Result<MessageStream, ClientError> {
        Ok(match &self.0 {
            ClientTransport::Loopback(client) => {
                MessageStream::Socket(Box::new(client.subscribe(subscribe).await?))
            }
            ClientTransport::Remote(client) => {
                MessageStream::Remote(client.subscribe(subscribe).await?)
            }
        })
    }
}

/// The messages of a subscription.
enum MessageStream {
    Socket(Box<Socket>),
    Remote(RemoteSubscription),
}

impl MessageStream {
    /// The next message; none after the end of the engine or the connection. No message is lost if the caller stops waiting.
    async fn next(&mut self) -> Option<DesktopAppMessage> {
        match self {
            Self::Socket(socket) => socket.next().await,
            Self::Remote(subscription) => subscription.next().await,
        }
    }
}

/// A stream of events.
pub struct EventStream {
    messages: MessageStream,
}

impl EventStream {
    /// The next event; none after the end of the engine.
    pub async fn next(&mut self) -> Option<EventView> {
        loop {
            if let DesktopAppMessage::Event(event) = self.messages.next().await? {
                return Some(event);
            }
        }
    }
}

/// A stream of events and notification requests. The program is attached until this is dropped.
pub struct DesktopAppStream {
    messages: MessageStream,
}

impl DesktopAppStream {
    /// The next message; none after the end of the engine.
    pub async fn next(&mut self) -> Option<DesktopAppMessage> {
        self.messages.next().await
    }
}
