//! Child processes that are ended together with all descendants.
//!
//! Owns three guarantees: output is read while the command runs and is bounded in memory; when the command exits, is
//! dropped or times out, all descendants are terminated (first asked, then killed); a crash of Rouse leaves nothing
//! running for good. Never knows shells, tools or permissions: takes a command. `ProcessGroup` (`group`) is the life of
//! a command, `ChildProcess` adds the captured output.
//!
//! - Linux and macOS: a process group with a guard that ends the group together with Rouse (`guard`).
//! - Linux also: a search for processes with the marker in their environment, and their descendants (`orphans`). A process that
//!   leaves the group *and* clears its environment escapes once its ancestors have exited; only a sandbox holds such a
//!   process.
//! - macOS: markers cannot be read from outside. A process that leaves the group escapes.
//! - Windows (preview): a job object that the system ends together with Rouse. A sandboxed command has a separate job
//!   (`sandbox`).
//!
//! Pitfall: a process id can be reused between lookup and kill.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

mod limit;
mod output;
mod group;

#[cfg(all(test, unix))]
mod tests;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::tool::PendingCleanup;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use group::PROCESS_MARKER;
pub(crate) use group::{OutputPipe, ProcessGroup, ProcessPipes};
pub(crate) use limit::LimitBreach;
use output::CapturedOutput;
#[cfg(windows)]
pub(crate) use system::Process;
pub use system::kill_orphans;

/// Output after which a command is terminated.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// Time to read the pipe's rest after the command has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A running command with captured output. Dropping terminates the command, see `ProcessGroup`.
pub(crate) struct ChildProcess {
    group: ProcessGroup,
    overflow: Arc<Notify>,
    readers: [Reader; 2],
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CompletedProcess {
    pub(crate) exit: ExitCause,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    /// Whether the command exited by itself and left processes running, which were then killed.
    pub(crate) had_orphans: bool,
}

/// Why a command ended.
#[derive(Debug)]
pub(crate) enum ExitCause {
    Exited(ExitStatus),
    TimedOut,
    /// Wrote more than `MAX_OUTPUT_BYTES`.
    OutputLimit,
    /// Exceeded a watched limit, described by a sentence's beginning.
    ResourceLimit(String),
}

impl ChildProcess {
    /// Starts `command` in a separate group, without input, with `marker` in the environment.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(crate) fn spawn(command: Command, marker: &str) -> io::Result<Self> {
        let (group, pipes) = ProcessGroup::spawn(command, marker, Stdio::null())?;
        Ok(Self::capture(group, pipes))
    }

    /// Captures the output of a started group.
    pub(crate) fn capture(group: ProcessGroup, pipes: ProcessPipes) -> Self {
        let overflow = Arc::new(Notify::new());
        let readers =
            [read(pipes.stdout, Arc::clone(&overflow)), read(pipes.stderr, Arc::clone(&overflow))];
        Self { group, overflow, readers }
    }

    /// Adds the termination to `cleanups` if the child is dropped.
    pub(crate) fn with_cleanups(mut self, cleanups: &PendingCleanup) -> Self {
        self.group.set_cleanups(cleanups);
        self
    }

    /// Waits for the exit, at most `limit`, and terminates the remaining processes.
    ///
    /// # Errors
    /// The system cannot report the exit status.
    pub(crate) async fn finish(mut self, limit: Duration) -> io::Result<CompletedProcess> {
        let exit = tokio::select! {
            status = self.group.wait() => ExitCause::Exited(status?),
            () = self.overflow.notified() => ExitCause::OutputLimit,
            () = sleep(limit) => ExitCause::TimedOut,
        };
        let had_orphans = matches!(exit, ExitCause::Exited(_)) && self.group.has_orphans().await;
        self.group.terminate().await;
        let exit = match self.group.limit_breach().reason() {
            Some(reason) => ExitCause::ResourceLimit(reason),
            None => exit,
        };
        let [stdout, stderr] = &mut self.readers;
        let (stdout, stderr) = tokio::join!(drain(stdout), drain(stderr));
        Ok(CompletedProcess { exit, stdout, stderr, had_orphans })
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.task.abort();
        }
    }
}

/// A task that reads a stream into memory.
struct Reader {
    task: JoinHandle<()>,
    output: Arc<Mutex<CapturedOutput>>,
}

fn read(pipe: impl AsyncRead + Send + Unpin + 'static, overflow: Arc<Notify>) -> Reader {
    let output = Arc::<Mutex<CapturedOutput>>::default();
    let shared = Arc::clone(&output);
    let task = tokio::spawn(async move {
        let (mut pipe, mut buffer) = (pipe, vec![0; 16 << 10]);
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
            output.push(&buffer[..count]);
            // Keep reading until the command is terminated: a closed pipe would end the command by SIGPIPE.
            if output.total() > MAX_OUTPUT_BYTES {
                overflow.notify_one();
            }
        }
    });
    Reader { task, output }
}

/// Reads the rest of a stream. An escaped process may hold the pipe open for ever.
async fn drain(reader: &mut Reader) -> CapturedOutput {
    let is_open = tokio::time::timeout(DRAIN_TIMEOUT, &mut reader.task).await.is_err();
    reader.task.abort();
    let mut output = reader.output.lock().unwrap_or_else(PoisonError::into_inner);
    if is_open {
        output.mark_open();
    }
    std::mem::take(&mut output)
}

#[expect(clippy::disallowed_methods, reason = "implements a time limit")]
async fn sleep(limit: Duration) {
    tokio::time::sleep(limit).await;
}
