//! One connection to `rouse dial`: requests out, responses in, matched by id.
//!
//! Owns a writing and a reading task. The connection closes when this is dropped: the writer ends, which ends `dial` there.
//! Never reconnects. Pitfall: a response whose caller is gone must not stop the reader.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::protocol::{MAX_LINE_BYTES, read_line};
use crate::error::RpcError;

/// Requests that wait for the writer. More wait in their callers.
const QUEUED_REQUESTS: usize = 16;

/// A response of the engine.
type Reply = Result<Value, RpcError>;

/// A connection to `dial` after its hello.
#[derive(Debug)]
pub(super) struct Pipe {
    requests: mpsc::Sender<Vec<u8>>,
    replies: Arc<PendingReplies>,
    last_id: AtomicU64,
    _reader: AbortOnDropHandle<()>,
}

/// The callers that wait for a response; none after the end of the connection.
#[derive(Debug)]
struct PendingReplies(Mutex<Option<HashMap<u64, oneshot::Sender<Reply>>>>);

/// The response of a request under way.
#[derive(Debug)]
pub(super) struct PendingReply {
    id: u64,
    reply: oneshot::Receiver<Reply>,
    replies: Arc<PendingReplies>,
}

impl Pipe {
    /// Uses `input` and `output` from the line after the hello on.
    pub(super) fn new(
        input: impl AsyncBufRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (requests, queue) = mpsc::channel(QUEUED_REQUESTS);
        let replies = Arc::new(PendingReplies(Mutex::new(Some(HashMap::new()))));
        // Not aborted: the end of the queue lets the writer close the connection.
        tokio::spawn(write(output, queue));
        let reader = tokio::spawn(read(input, Arc::clone(&replies)));
        let last_id = AtomicU64::new(0);
        Self { requests, replies, last_id, _reader: AbortOnDropHandle::new(reader) }
    }

    /// Whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.replies.lock().is_none()
    }

    /// Sends a request; none if the connection ended before, so the request was not sent.
    pub(super) async fn send(&self, method: &str, params: &Value) -> Option<PendingReply> {
        // silent-ok: the writer has ended.
        let permit = self.requests.reserve().await.ok()?;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, reply) = oneshot::channel();
        self.replies.lock().as_mut()?.insert(id, sender);
        permit
            .send(line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
        Some(PendingReply { id, reply, replies: Arc::clone(&self.replies) })
    }

    /// Sends a notification, unless the connection is busy or has ended.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        let message = line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        // silent-ok: `dial` also closes a subscription with the connection.
        let _ = self.requests.try_send(message);
    }
}

impl PendingReply {
    /// The response; none if the connection ended. No response is lost if the caller stops waiting.
    pub(super) async fn wait(&mut self) -> Option<Reply> {
        // silent-ok: the reader dropped the sender at the end of the connection.
        (&mut self.reply).await.ok()
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        if let Some(pending) = self.replies.lock().as_mut() {
            pending.remove(&self.id);
        }
    }
}

impl PendingReplies {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Reply>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a response to its caller. False for a line that is no response.
    fn resolve(&self, line: &[u8]) -> bool {
        let Ok(mut response) = serde_json::from_slice::<Value>(line) else { return false };
        let Some(id) = response["id"].as_u64() else { return false };
        let reply = match response.get_mut("error").map(Value::take) {
            None => Ok(response.get_mut("result").map(Value::take).unwrap_or_default()),
            Some(error) => match serde_json::from_value(error) {
                Ok(error) => Err(error),
                Err(_) => return false,
            },
        };
        let caller = self.lock().as_mut().and_then(|pending| pending.remove(&id));
        if let Some(caller) = caller {
            // silent-ok: the caller has stopped waiting.
            let _ = caller.send(reply);
        }
        true
    }
}

/// Ends all pending replies when the reader ends or is aborted.
struct ClosingReplies(Arc<PendingReplies>);

impl Drop for ClosingReplies {
    fn drop(&mut self) {
        self.0.lock().take();
    }
}

async fn read(mut input: impl AsyncBufRead + Unpin, replies: Arc<PendingReplies>) {
    let replies = ClosingReplies(replies);
    let mut line = Vec::new();
    loop {
        match read_line(&mut input, &mut line, MAX_LINE_BYTES).await {
            Ok(true) if replies.0.resolve(&line) => {}
            Ok(true) => return tracing::warn!("a line of another computer is no response"),
            Ok(false) => return,
            Err(error) => return tracing::warn!(%error, "cannot read from another computer"),
        }
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            return tracing::debug!(%error, "the connection to another computer has ended");
        }
    }
    // silent-ok: the connection ends either way.
    let _ = output.shutdown().await;
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, duplex, split};

    use super::*;

    /// A pipe, and the far end of it.
    fn pipe() -> (Pipe, BufReader<DuplexStream>) {
        let (near, far) = duplex(1 << 16);
        let (input, output) = split(near);
        (Pipe::new(BufReader::new(input), output), BufReader::new(far))
    }

    async fn request(far: &mut BufReader<DuplexStream>) -> Value {
        let mut line = String::new();
        far.read_line(&mut line).await.expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn answer(far: &mut BufReader<DuplexStream>, text: &str) {
        far.get_mut().write_all(text.as_bytes()).await.expect("sent");
    }

    #[tokio::test]
    async fn replies_are_matched_by_id_in_any_order() {
        let (pipe, mut far) = pipe();
        let mut first = pipe.send("cron.list", &json!({})).await.expect("open");
        let mut second = pipe.send("runs.list", &json!({})).await.expect("open");
        assert_eq!(request(&mut far).await["method"], "cron.list");
        assert_eq!(request(&mut far).await["id"], 2);
        answer(&mut far, "{\"id\":2,\"result\":\"b\"}\n{\"id\":9,\"result\":0}\n").await;
        answer(&mut far, "{\"id\":1,\"error\":{\"code\":-32004,\"message\":\"No.\"}}\n").await;
        assert_eq!(first.wait().await.expect("a reply").expect_err("an error").message, "No.");
        assert_eq!(second.wait().await.expect("a reply").expect("a result"), "b");
    }

    #[tokio::test]
    async fn lost_connection_ends_pending_replies() {
        let (pipe, far) = pipe();
        let mut reply = pipe.send("cron.run", &json!({})).await.expect("open");
        drop(far);
        assert!(reply.wait().await.is_none());
        assert!(pipe.is_closed());
        assert!(pipe.send("cron.run", &json!({})).await.is_none());
    }

    #[tokio::test]
    async fn line_without_id_closes_the_connection() {
        let (pipe, mut far) = pipe();
        let mut reply = pipe.send("cron.list", &json!({})).await.expect("open");
        answer(&mut far, "Welcome to box!\n").await;
        assert!(reply.wait().await.is_none() && pipe.is_closed());
    }

    #[tokio::test]
    async fn dropped_pipe_closes_the_far_input() {
        let (pipe, mut far) = pipe();
        drop(pipe);
        let mut line = String::new();
        assert_eq!(far.read_line(&mut line).await.expect("the end"), 0);
    }
}
