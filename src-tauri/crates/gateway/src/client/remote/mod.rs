//! The client of an engine on another computer: `rouse dial` over one `ssh` process.
//!
//! Owns the connection: made at the first call, shared by all clones, made again by the next call after a loss. Never repeats a
//! call whose request was sent, because its outcome is unknown. Layers: `error`, `protocol` ← `pipe` ← `ssh` ← this file.

pub(super) mod error;
pub(super) mod protocol;
mod pipe;
mod ssh;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::pipe::PendingReply;
use self::protocol::{
    DialRefusal, MessageBatch, NEXT, NOT_RUNNING, SUBSCRIBE, SubscriptionId, UNREACHABLE_CODE,
    UNSUBSCRIBE,
};
use self::ssh::DialledEngine;
use super::error::ClientError;
use super::message::{DesktopAppMessage, Subscribe, parse_message};
use crate::error::RpcError;

pub use error::RemoteError;
pub use ssh::RemoteComputer;

/// Additional time of a call over the network.
const NETWORK_ALLOWANCE: Duration = Duration::from_secs(15);

/// A client of the engine on another computer. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct RemoteClient {
    computer: Arc<RemoteComputer>,
    connection: Arc<Mutex<Option<Arc<DialledEngine>>>>,
    pub(super) response_timeout: Option<Duration>,
}

impl RemoteClient {
    pub(super) fn new(computer: RemoteComputer) -> Self {
        Self { computer: Arc::new(computer), connection: Arc::default(), response_timeout: None }
    }

    pub(super) async fn call(&self, method: &str, params: &Value) -> Result<Value, ClientError> {
        self.request(method, params).await.map(|(_, result)| result)
    }

    pub(super) async fn check_connection(&self) -> Result<(), ClientError> {
        self.connected().await?;
        Ok(())
    }

    pub(super) async fn subscribe(
        &self,
        subscribe: Subscribe,
    ) -> Result<RemoteSubscription, ClientError> {
        let (engine, result) = self.request(SUBSCRIBE, &json!(subscribe)).await?;
        let id: SubscriptionId = serde_json::from_value(result).map_err(|_| {
            let address = self.computer.address().clone();
            RemoteError::Incompatible { address, version: None }
        })?;
        Ok(RemoteSubscription {
            engine,
            id,
            buffer: VecDeque::new(),
            pending: None,
            is_ended: false,
        })
    }

    /// The refusal of a function that needs the computer of the engine.
    pub(super) fn refusal(&self, what: &'static str) -> ClientError {
        RemoteError::LocalOnly { what, address: self.computer.address().clone() }.into()
    }

    /// Sends a request; returns the result, and the connection that carried it.
    async fn request(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<(Arc<DialledEngine>, Value), ClientError> {
        let mut engine = self.connected().await?;
        let mut sent = engine.pipe.send(method, params).await;
        if sent.is_none() {
            // Not sent, so a second connection repeats nothing.
            engine = self.connected().await?;
            sent = engine.pipe.send(method, params).await;
        }
        let reply = match sent {
            Some(mut reply) => self.wait_in_time(method, &mut reply).await?,
            None => None,
        };
        match reply {
            Some(Ok(result)) => Ok((engine, result)),
            Some(Err(error)) => Err(self.engine_error(error)),
            None => Err(self.lost(method, &engine)),
        }
    }

    async fn wait_in_time(
        &self,
        method: &str,
        reply: &mut PendingReply,
    ) -> Result<Option<Result<Value, RpcError>>, RemoteError> {
        let Some(limit) = self.response_timeout else { return Ok(reply.wait().await) };
        let waited = tokio::time::timeout(limit + NETWORK_ALLOWANCE, reply.wait()).await;
        waited.map_err(|_| {
            let (address, method) = (self.computer.address().clone(), method.to_owned());
            RemoteError::TimedOut { address, method }
        })
    }

    /// The open connection, or a new one.
    async fn connected(&self) -> Result<Arc<DialledEngine>, RemoteError> {
        let mut connection = self.connection.lock().await;
        if let Some(engine) = connection.as_ref().filter(|engine| !engine.pipe.is_closed()) {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(self.computer.dial().await?);
        *connection = Some(Arc::clone(&engine));
        Ok(engine)
    }

    fn lost(&self, method: &str, engine: &DialledEngine) -> ClientError {
        let (address, method) = (self.computer.address().clone(), method.to_owned());
        RemoteError::Lost { address, method, detail: engine.last_words.last_line() }.into()
    }

    /// The error of the engine, or of `dial` when the engine has ended meanwhile.
    fn engine_error(&self, error: RpcError) -> ClientError {
        if error.code != UNREACHABLE_CODE {
            return error.into();
        }
        let address = self.computer.address().clone();
        match serde_json::from_value::<DialRefusal>(error.data) {
            Ok(DialRefusal { reason, .. }) if reason == NOT_RUNNING => {
                RemoteError::NotRunning { address }.into()
            }
            _ => RemoteError::Refused { address, message: error.message }.into(),
        }
    }
}

/// A subscription over a connection. Closes when dropped.
pub(super) struct RemoteSubscription {
    engine: Arc<DialledEngine>,
    id: SubscriptionId,
    buffer: VecDeque<Value>,
    /// The request for the next messages. Kept here, so that no message is lost if the caller stops waiting.
    pending: Option<PendingReply>,
    is_ended: bool,
}

impl RemoteSubscription {
    /// The next message; none after the end of the engine or the connection.
    pub(super) async fn next(&mut self) -> Option<DesktopAppMessage> {
        loop {
            while let Some(message) = self.buffer.pop_front() {
                if let Some(message) = parse_message(message) {
                    return Some(message);
                }
            }
            if self.is_ended {
                return None;
            }
            let MessageBatch { messages, is_ended } = self.next_batch().await;
            self.buffer.extend(messages);
            self.is_ended = is_ended;
        }
    }

    async fn next_batch(&mut self) -> MessageBatch {
        if self.pending.is_none() {
            self.pending = self.engine.pipe.send(NEXT, &json!(self.id)).await;
        }
        let reply = match &mut self.pending {
            Some(pending) => pending.wait().await,
            None => None,
        };
        self.pending = None;
        // silent-ok: without a batch the subscription has ended, as the caller learns.
        let batch = reply.and_then(Result::ok).and_then(|batch| serde_json::from_value(batch).ok());
        batch.unwrap_or(MessageBatch { messages: Vec::new(), is_ended: true })
    }
}

impl Drop for RemoteSubscription {
    fn drop(&mut self) {
        self.engine.pipe.notify(UNSUBSCRIBE, &json!(self.id));
    }
}
