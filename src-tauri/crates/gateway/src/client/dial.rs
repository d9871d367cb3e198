//! The far end of a connection from another computer: `rouse dial`, which `ssh` starts there.
//!
//! Owns one stream of JSON lines (`remote::protocol`). Each request is a call of the engine of this data directory, found and
//! proven anew, so a restarted engine is found again. Never listens, and never decides about a request. Reads no further
//! requests while too many responses are unread. Pitfall: anything but JSON lines on the output.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::message::Subscribe;
use super::remote::protocol::{
    DialHello, DialRefusal, FirstLine, MAX_LINE_BYTES, MessageBatch, NEXT, NOT_RUNNING, PROTOCOL,
    SUBSCRIBE, SubscriptionId, UNREACHABLE_CODE, UNSUBSCRIBE, read_line,
};
use super::{Client, ClientError, MessageStream};
use crate::error::{ErrorCode, RpcError};

/// Maximum concurrent requests, including unread responses.
const MAX_CONCURRENT_REQUESTS: usize = 64;
/// Maximum messages of a batch.
const MAX_BATCH: usize = 64;

/// Serves the engine of `home` to the client at the other end of `input` and `output`, until either closes.
///
/// # Errors
/// `NotRunning` or another reason why the engine cannot be reached, which the client has been told.
pub async fn serve_dial(
    home: &Path,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), ClientError> {
    let reached = match Client::find(home) {
        Ok(client) => client.check_connection().await,
        Err(error) => Err(error),
    };
    let first = match &reached {
        Ok(()) => FirstLine::Hello(DialHello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
        }),
        Err(error) => FirstLine::Refusal(refusal(error)),
    };
    let mut first = json!(first);
    first["jsonrpc"] = json!("2.0");
    // silent-ok: the client has gone, which the next read shows.
    let _ = write_line(&mut output, &first).await;
    reached?;
    let (responses, queue) = mpsc::channel(1);
    let relay = Arc::new(DialRelay { home: home.to_owned(), subscriptions: Mutex::default() });
    tokio::select! {
        () = relay.serve(input, responses) => {}
        () = write(output, queue) => {}
    }
    Ok(())
}

async fn write(mut output: impl AsyncWrite + Unpin, mut responses: mpsc::Receiver<Value>) {
    while let Some(response) = responses.recv().await {
        if let Err(error) = write_line(&mut output, &response).await {
            return tracing::debug!(%error, "the client has gone");
        }
    }
}

async fn write_line(output: &mut (impl AsyncWrite + Unpin), message: &Value) -> io::Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    output.write_all(line.as_bytes()).await?;
    output.flush().await
}

/// Why the engine cannot be reached.
fn refusal(error: &ClientError) -> DialRefusal {
    let reason = match error {
        ClientError::NotRunning => NOT_RUNNING,
        ClientError::Unproven { .. } => "unproven",
        _ => "failed",
    };
    DialRefusal { reason: reason.to_owned(), message: error.to_string() }
}

/// The requests of one client.
struct DialRelay {
    home: PathBuf,
    subscriptions: Mutex<DialSubscriptions>,
}

#[derive(Default)]
struct DialSubscriptions {
    open: HashMap<u64, Arc<DialSubscription>>,
    last_id: u64,
}

struct DialSubscription {
    messages: tokio::sync::Mutex<MessageStream>,
    closed: CancellationToken,
}

impl DialRelay {
    /// Answers requests until the end of the input.
    async fn serve(
        self: &Arc<Self>,
        input: impl AsyncRead + Unpin,
        responses: mpsc::Sender<Value>,
    ) {
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        // Dropped at the end, which aborts the requests under way.
        let mut requests = JoinSet::new();
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            match read_line(&mut input, &mut line, MAX_LINE_BYTES).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return tracing::warn!(%error, "cannot read a request"),
            }
            let Ok(request) = serde_json::from_slice::<Value>(&line) else { return };
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let (relay, responses) = (Arc::clone(self), responses.clone());
            requests.spawn(async move {
                let _permit = permit;
                if let Some(response) = relay.respond(request).await {
                    // silent-ok: the client has gone.
                    let _ = responses.send(response).await;
                }
            });
            while requests.try_join_next().is_some() {}
        }
    }

    /// The response to one request; none for a notification.
    async fn respond(&self, mut request: Value) -> Option<Value> {
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let params = request.get_mut("params").map(Value::take).unwrap_or_default();
        let result = match method.as_str() {
            SUBSCRIBE => self.subscribe(&params).await,
            NEXT => self.next(&params).await,
            UNSUBSCRIBE => self.unsubscribe(&params),
            _ => self.call(&method, params).await,
        };
        let id = request.get_mut("id").map(Value::take)?;
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        })
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let client = Client::find(&self.home).map_err(unreachable_error)?;
        client.call(method, params).await.map_err(unreachable_error)
    }

    async fn subscribe(&self, params: &Value) -> Result<Value, RpcError> {
        let subscribe: Subscribe = read(params)?;
        let client = Client::find(&self.home).map_err(unreachable_error)?;
        let messages = client.subscribe(subscribe).await.map_err(unreachable_error)?;
        let subscription = DialSubscription {
            messages: tokio::sync::Mutex::new(messages),
            closed: CancellationToken::new(),
        };
        let mut subscriptions = self.lock();
        subscriptions.last_id += 1;
        let id = subscriptions.last_id;
        subscriptions.open.insert(id, Arc::new(subscription));
        Ok(json!(SubscriptionId { subscription: id }))
    }

    async fn next(&self, params: &Value) -> Result<Value, RpcError> {
        let SubscriptionId { subscription: id } = read(params)?;
        let subscription = self.lock().open.get(&id).cloned();
        let batch = match subscription {
            Some(subscription) => subscription.next_batch().await,
            None => MessageBatch { messages: Vec::new(), is_ended: true },
        };
        if batch.is_ended {
            self.lock().open.remove(&id);
        }
        Ok(json!(batch))
    }

    fn unsubscribe(&self, params: &Value) -> Result<Value, RpcError> {
        let SubscriptionId { subscription: id } = read(params)?;
        if let Some(subscription) = self.lock().open.remove(&id) {
            subscription.closed.cancel();
        }
        Ok(Value::Null)
    }

    fn lock(&self) -> MutexGuard<'_, DialSubscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DialSubscription {
    /// Waits for a message, and adds those that are ready.
    async fn next_batch(&self) -> MessageBatch {
        let mut batch = MessageBatch::default();
        let first = async {
            let mut stream = self.messages.lock().await;
            let message = stream.next().await;
            (stream, message)
        };
        let Some((mut stream, mut message)) = self.closed.run_until_cancelled(first).await else {
            return MessageBatch { is_ended: true, ..batch };
        };
        loop {
            match message {
                Some(message) => batch.messages.push(json!(message)),
                None => return MessageBatch { is_ended: true, ..batch },
            }
            if batch.messages.len() >= MAX_BATCH {
                return batch;
            }
            match stream.next().now_or_never() {
                Some(next) => message = next,
                None => return batch,
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(params: &Value) -> Result<T, RpcError> {
    serde_path_to_error::deserialize(params).map_err(|error| RpcError::invalid_params(&error))
}

/// The error of the engine, or the reason why it cannot be reached.
fn unreachable_error(error: ClientError) -> RpcError {
    match error {
        ClientError::Rpc(error) => error,
        other => {
            let refusal = refusal(&other);
            let message = refusal.message.clone();
            let error = RpcError::new(ErrorCode::Internal, message);
            RpcError { code: UNREACHABLE_CODE, data: json!(refusal), ..error }
        }
    }
}
