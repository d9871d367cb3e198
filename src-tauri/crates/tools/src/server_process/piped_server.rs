//! A running server: its pipes, its tasks and its end.
//!
//! Owns four tasks: a writer that writes whole lines, readers of both outputs, and a supervisor that owns the process
//! group. Dropping the server aborts the tasks, and the dropped group terminates in the background. Never restarts.
//! Pitfall: a caller that drops `send` halfway; only the writer may write, or half a line would remain.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::{ProcessEnd, ServerLine, ServerProcess};
use rouse_core::tool::BoxFuture;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tracing::Instrument as _;

use super::life::{ServerLife, describe_exit, ended};
use super::lines::read_lines;
use super::stderr_tail::StderrTail;
use crate::process::{ProcessGroup, ProcessPipes};

/// Lines that wait for a receiver. A full queue stops the reading.
const QUEUED_LINES: usize = 16;
/// Time to read the rest of the error output after the exit.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Time between a closed pipe and the exit of the same server.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A server process that speaks in lines.
pub(super) struct PipedServer {
    input: mpsc::Sender<QueuedLine>,
    output: Mutex<mpsc::Receiver<ServerLine>>,
    stderr: StderrTail,
    life: watch::Receiver<ServerLife>,
    stop: Arc<Notify>,
    tasks: Vec<AbortHandle>,
}

/// A line for the server.
struct QueuedLine {
    line: Vec<u8>,
    /// Dropped without a message if the line was not written.
    written: oneshot::Sender<()>,
}

impl PipedServer {
    /// Starts the tasks of a running process. `stop_step` is the time for each step of a stop.
    pub(super) fn new(group: ProcessGroup, pipes: ProcessPipes, stop_step: Duration) -> Self {
        let stdin = pipes.stdin.expect("BUG: a server was started without an input");
        let (input, queued) = mpsc::channel(1);
        let (lines, output) = mpsc::channel(QUEUED_LINES);
        let (life, observed_life) = watch::channel(ServerLife::Running);
        let (stderr, stop) = (StderrTail::default(), Arc::new(Notify::new()));
        let writer = tokio::spawn(write_lines(stdin, queued));
        let reader = tokio::spawn(read_lines(pipes.stdout, lines, observed_life.clone()));
        let stderr_reader = tokio::spawn(stderr.clone().read(pipes.stderr));
        let mut tasks =
            vec![writer.abort_handle(), reader.abort_handle(), stderr_reader.abort_handle()];
        let supervisor = Supervisor {
            group: group.with_grace(stop_step),
            stop: Arc::clone(&stop),
            stop_step,
            writer,
            stderr_reader,
            life,
        };
        tasks.push(tokio::spawn(supervisor.run().in_current_span()).abort_handle());
        Self { input, output: Mutex::new(output), stderr, life: observed_life, stop, tasks }
    }

    /// The end of the process, or `closed` if the process only closed a pipe.
    async fn end_or(&self, closed: &str) -> ProcessEnd {
        let mut life = self.life.clone();
        match tokio::time::timeout(EXIT_TIMEOUT, ended(&mut life)).await {
            Ok(Some(end)) => end,
            Ok(None) | Err(_) => ProcessEnd(closed.to_owned()),
        }
    }
}

impl ServerProcess for PipedServer {
    fn send(&self, line: Vec<u8>) -> BoxFuture<'_, Result<(), ProcessEnd>> {
        Box::pin(async move {
            let (written, is_written) = oneshot::channel();
            let queued = self.input.send(QueuedLine { line, written }).await;
            if queued.is_ok() && is_written.await.is_ok() {
                return Ok(());
            }
            Err(self.end_or("The server closed its input.").await)
        })
    }

    fn receive(&self) -> BoxFuture<'_, Result<ServerLine, ProcessEnd>> {
        Box::pin(async move {
            let line = self.output.lock().await.recv().await;
            match line {
                Some(line) => Ok(line),
                None => Err(self.end_or("The server closed its output.").await),
            }
        })
    }

    fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.notify_one();
            let mut life = self.life.clone();
            if let Some(end) = ended(&mut life).await {
                tracing::debug!(%end, "a server was stopped");
            }
        })
    }
}

impl Drop for PipedServer {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Writes queued lines until the queue or the input is closed.
async fn write_lines(mut stdin: ChildStdin, mut queued: mpsc::Receiver<QueuedLine>) {
    while let Some(QueuedLine { mut line, written }) = queued.recv().await {
        line.push(b'\n');
        let result = match stdin.write_all(&line).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            return tracing::debug!(%error, "a server closed its input");
        }
        // A sender that no longer waits needs no confirmation.
        let _unconfirmed = written.send(());
    }
}

/// Owns the process group until all processes are gone.
struct Supervisor {
    group: ProcessGroup,
    stop: Arc<Notify>,
    stop_step: Duration,
    writer: JoinHandle<()>,
    stderr_reader: JoinHandle<()>,
    life: watch::Sender<ServerLife>,
}

impl Supervisor {
    async fn run(mut self) {
        // A failed wait is reported by the termination.
        let has_exited = tokio::select! {
            _ = self.group.wait() => true,
            () = self.stop.notified() => false,
        };
        // Closes the input.
        self.writer.abort();
        if !has_exited && tokio::time::timeout(self.stop_step, self.group.wait()).await.is_err() {
            tracing::debug!("a server ignored the end of its input");
        }
        // Read before the termination, during which a measurement of the dying processes may fail.
        let breach = self.group.limit_breach().reason();
        let status = self.group.terminate().await;
        self.life.send_replace(ServerLife::Exited);
        if tokio::time::timeout(DRAIN_TIMEOUT, &mut self.stderr_reader).await.is_err() {
            self.stderr_reader.abort();
        }
        let end = match breach {
            Some(reason) => format!("The sandbox ended the server: {reason}."),
            None => describe_exit(status),
        };
        self.life.send_replace(ServerLife::Ended(ProcessEnd(end)));
    }
}
