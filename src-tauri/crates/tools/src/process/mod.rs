//! Child processes that are ended together with all descendants.
//!
//! Owns three guarantees: output is read while the command runs and is bounded in memory; when the command exits, is
//! dropped or times out, all descendants are terminated (first asked, then killed); a crash of Rouse leaves nothing
//! running for good. Never knows shells, tools or permissions: takes a command.
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
use tracing::Instrument as _;

pub(crate) use limit::LimitBreach;
use output::CapturedOutput;
#[cfg(windows)]
pub(crate) use system::Process;
use system::has_orphans;
pub use system::kill_orphans;

/// The environment variable that marks children: `<instance>:<run>:<call>`.
pub const PROCESS_MARKER: &str = "ROUSE_RUN";
/// Output after which a command is terminated.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// Time between the request to terminate and the kill.
const GRACE: Duration = Duration::from_secs(1);
/// Time to read the pipe's rest after the command has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A running command. Dropping terminates the command in a background task, which is added to the run's cleanups.
pub(crate) struct ChildProcess {
    process: Option<system::Process>,
    termination: Option<JoinHandle<()>>,
    cleanups: PendingCleanup,
    marker: String,
    overflow: Arc<Notify>,
    readers: [Reader; 2],
    limit_breach: LimitBreach,
    /// Dropped after the command has exited.
    resource: Option<Box<dyn Send + Sync>>,
    /// The sandbox's own check for orphan processes.
    orphan_probe: Option<Box<dyn Fn() -> bool + Send + Sync>>,
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
    pub(crate) fn spawn(mut command: Command, marker: &str) -> io::Result<Self> {
        command.env(PROCESS_MARKER, marker);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = system::Process::spawn(command)?;
        let (stdout, stderr) = process.take_output();
        Ok(Self::attach(process, stdout, stderr, marker))
    }

    /// Wraps a process that already runs.
    pub(crate) fn attach(
        process: system::Process,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        marker: &str,
    ) -> Self {
        let overflow = Arc::new(Notify::new());
        let readers = [read(stdout, Arc::clone(&overflow)), read(stderr, Arc::clone(&overflow))];
        Self {
            process: Some(process),
            termination: None,
            cleanups: PendingCleanup::default(),
            marker: marker.to_owned(),
            overflow,
            readers,
            limit_breach: LimitBreach::default(),
            resource: None,
            orphan_probe: None,
        }
    }

    /// Adds the termination to `cleanups` if the child is dropped.
    pub(crate) fn with_cleanups(mut self, cleanups: &PendingCleanup) -> Self {
        self.cleanups = cleanups.clone();
        self
    }

    /// Keeps `resource` alive as long as the child.
    pub(crate) fn with_resource(mut self, resource: impl Send + Sync + 'static) -> Self {
        self.resource = Some(Box::new(resource));
        self
    }

    /// Uses `probe` to check for orphan processes.
    pub(crate) fn with_orphan_probe(mut self, probe: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        self.orphan_probe = Some(probe);
        self
    }

    /// The record of a breached limit, for the task that watches the limits.
    #[cfg_attr(windows, expect(dead_code, reason = "a job object enforces the limits there"))]
    pub(crate) fn limit_breach(&self) -> LimitBreach {
        self.limit_breach.clone()
    }

    /// The process group of an unfinished child.
    #[cfg(target_os = "macos")]
    pub(crate) fn group(&self) -> rustix::process::Pid {
        self.process.as_ref().expect("BUG: a child was finished twice").group()
    }

    /// Waits for the exit, at most `limit`, and terminates the remaining processes.
    ///
    /// # Errors
    /// The system cannot report the exit status.
    pub(crate) async fn finish(mut self, limit: Duration) -> io::Result<CompletedProcess> {
        let process = self.process.as_mut().expect("BUG: a child was finished twice");
        let exit = tokio::select! {
            status = process.wait() => ExitCause::Exited(status?),
            () = self.overflow.notified() => ExitCause::OutputLimit,
            () = sleep(limit) => ExitCause::TimedOut,
        };
        let had_orphans = matches!(exit, ExitCause::Exited(_)) && self.has_orphans().await;
        self.start_termination();
        if let Some(termination) = &mut self.termination {
            await_termination(termination).await;
        }
        self.termination = None;
        let exit = match self.limit_breach.reason() {
            Some(reason) => ExitCause::ResourceLimit(reason),
            None => exit,
        };
        let [stdout, stderr] = &mut self.readers;
        let (stdout, stderr) = tokio::join!(drain(stdout), drain(stderr));
        Ok(CompletedProcess { exit, stdout, stderr, had_orphans })
    }

    async fn has_orphans(&self) -> bool {
        if let Some(probe) = &self.orphan_probe {
            return probe();
        }
        let marker = self.marker.clone();
        let found = tokio::task::spawn_blocking(move || has_orphans(&marker)).await;
        found.unwrap_or(false)
    }

    /// Terminates the group in a separate task, so that a dropped waiter does not stop the termination.
    fn start_termination(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.terminate_group();
        // Without a runtime the process ends the group when dropped.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let marker = std::mem::take(&mut self.marker);
            let termination = terminate_and_reap(process, marker).in_current_span();
            self.termination = Some(runtime.spawn(termination));
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.task.abort();
        }
        self.start_termination();
        if let Some(mut termination) = self.termination.take() {
            self.cleanups.add(Box::pin(async move { await_termination(&mut termination).await }));
        }
    }
}

async fn await_termination(termination: &mut JoinHandle<()>) {
    if let Err(error) = termination.await {
        tracing::error!(%error, "the termination of a command failed");
    }
}

/// Gives a terminated group a grace period, then kills the group and the orphans.
async fn terminate_and_reap(mut process: system::Process, marker: String) {
    if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
        tracing::debug!(marker, "a command ignored the request to terminate");
    }
    process.kill_group();
    let killed = tokio::task::spawn_blocking(move || kill_orphans(&marker)).await;
    if let Ok(count @ 1..) = killed {
        tracing::info!(count, "killed processes that had left their command's group");
    }
    if let Err(error) = process.wait().await {
        tracing::debug!(%error, "a command was not reaped");
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
