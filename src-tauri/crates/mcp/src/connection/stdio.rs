//! The transport over a server process: one message a line.
//!
//! Owns the reading task, the count of noise lines, and the end of the process. Never starts a process on its own and
//! never restarts one. Pitfall: the protocol library drops a pending `receive`, and the port does not promise that a
//! dropped `receive` loses no line; so one task reads, and the transport receives from a channel.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use rouse_core::extension::{
    ProcessEnd, ServerCommand, ServerLine, ServerProcess, ServerProcesses,
};
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::error::ConnectionError;

/// Messages that wait for the protocol library; a full queue stops the reading.
const QUEUED_MESSAGES: usize = 64;

/// The last lines of the error output in an error.
const STDERR_LINES: usize = 3;

/// A server process, shared by its transport and its connection.
pub(crate) struct LineProcess {
    process: Box<dyn ServerProcess>,
    end: OnceLock<ProcessEnd>,
    noise: AtomicU64,
    /// Notified of each line over the size limit: the answer to one of the waiting calls.
    pub(super) too_long: Notify,
}

impl LineProcess {
    /// The next line; none after the end of the output.
    pub(crate) async fn next_line(&self) -> Option<ServerLine> {
        match self.process.receive().await {
            Ok(line) => Some(line),
            Err(end) => {
                // The first recorded end wins.
                let _end = self.end.get_or_init(|| end);
                None
            }
        }
    }

    /// Writes one line.
    pub(crate) async fn send_line(&self, line: Vec<u8>) -> Result<(), ProcessEnd> {
        self.process.send(line).await
    }

    fn new(process: Box<dyn ServerProcess>) -> Self {
        Self { process, end: OnceLock::new(), noise: AtomicU64::new(0), too_long: Notify::new() }
    }

    /// The end of the process, as a sentence with the exit status.
    pub(crate) fn end(&self) -> Option<&str> {
        self.end.get().map(|end| end.0.as_str())
    }

    /// The last lines of the error output.
    pub(crate) fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// An `Ended` error of this process with its exit status and error output; other errors stay.
    pub(super) fn explain(&self, error: ConnectionError) -> ConnectionError {
        let ConnectionError::Ended(sentence) = error else { return error };
        let sentence = self.end().unwrap_or(&sentence);
        ConnectionError::Ended(with_last_lines(sentence, &self.stderr_tail()))
    }

    /// Ends the process.
    pub(crate) async fn stop(&self) {
        self.process.stop().await;
    }
}

/// A sentence, followed by the last lines of an error output.
pub(crate) fn with_last_lines(sentence: &str, stderr_tail: &str) -> String {
    let lines: Vec<&str> =
        stderr_tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return sentence.to_owned();
    }
    let last = &lines[lines.len().saturating_sub(STDERR_LINES)..];
    format!("{sentence} Last error output: {}", last.join(" | "))
}

/// The process of a start. Outlives a start that fails or runs out of time, so its error output can be shown.
#[derive(Default)]
pub(crate) struct StartAttempt {
    process: Mutex<Option<Arc<LineProcess>>>,
}

impl StartAttempt {
    /// Starts a process in place of the previous one.
    pub(crate) async fn launch(
        &self,
        processes: &dyn ServerProcesses,
        command: ServerCommand,
    ) -> Result<Arc<LineProcess>, ConnectionError> {
        let started = processes.start(command).await;
        let process = started.map_err(|error| ConnectionError::Unreached(error.0))?;
        let process = Arc::new(LineProcess::new(process));
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&process));
        Ok(process)
    }

    /// The last lines of the error output; none without a process.
    pub(crate) fn stderr_tail(&self) -> Option<String> {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map(|process| process.stderr_tail())
    }

    /// The lines of the process so far that were no message.
    pub(crate) fn noise(&self) -> u64 {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map_or(0, |process| process.noise.load(Ordering::Relaxed))
    }
}

/// The most unsent messages, and their most bytes. A server that does not read its input ends beyond.
const MAX_UNSENT: usize = 32;
const MAX_UNSENT_BYTES: usize = 16 << 20;

/// The transport over a process.
pub(super) struct StdioTransport {
    process: Arc<LineProcess>,
    unsent: Arc<UnsentMessages>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Drops its share of the process with the transport.
    _reader: AbortOnDropHandle<()>,
}

impl StdioTransport {
    pub(super) fn new(process: Arc<LineProcess>) -> Self {
        let (sender, messages) = mpsc::channel(QUEUED_MESSAGES);
        let reader = tokio::spawn(read_messages(Arc::clone(&process), sender));
        let (unsent, _reader) = (Arc::default(), AbortOnDropHandle::new(reader));
        Self { process, unsent, messages, _reader }
    }
}

/// The messages that wait for a server that does not read.
#[derive(Default)]
struct UnsentMessages {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

/// The place of a message until it is sent.
struct UnsentPlace {
    unsent: Arc<UnsentMessages>,
    bytes: usize,
}

impl UnsentMessages {
    /// A place for a message; none if too much waits. A single message always has a place.
    fn add(unsent: &Arc<Self>, bytes: usize) -> Option<UnsentPlace> {
        let count = unsent.count.fetch_add(1, Ordering::Relaxed);
        let waiting = unsent.bytes.fetch_add(bytes, Ordering::Relaxed);
        let place = UnsentPlace { unsent: Arc::clone(unsent), bytes };
        let has_room = count < MAX_UNSENT && waiting < MAX_UNSENT_BYTES;
        has_room.then_some(place)
    }
}

impl Drop for UnsentPlace {
    fn drop(&mut self) {
        self.unsent.count.fetch_sub(1, Ordering::Relaxed);
        self.unsent.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

async fn read_messages(process: Arc<LineProcess>, messages: mpsc::Sender<ServerJsonRpcMessage>) {
    loop {
        let line = match process.next_line().await {
            Some(ServerLine::Text(line)) => line,
            Some(ServerLine::TooLong) => {
                process.too_long.notify_waiters();
                continue;
            }
            // The channel closes after the end is recorded.
            None => return,
        };
        match serde_json::from_slice::<ServerJsonRpcMessage>(&line) {
            Ok(message) => {
                if messages.send(message).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                let count = process.noise.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::debug!(count, %error, "a server wrote a line that is no message");
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = ProcessEnd;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let process = Arc::clone(&self.process);
        let line = serde_json::to_vec(&message).expect("BUG: a message is JSON");
        let place = UnsentMessages::add(&self.unsent, line.len());
        async move {
            let Some(_place) = place else {
                let end =
                    ProcessEnd("The server does not read its input, so it was ended.".to_owned());
                let _end = process.end.get_or_init(|| end.clone());
                process.process.stop().await;
                return Err(end);
            };
            process.process.send(line).await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    /// The connection stops the process.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
