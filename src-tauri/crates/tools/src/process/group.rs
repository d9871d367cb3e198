//! A process group: start, exit, and termination of all members.
//!
//! Owns the marker, the grace period, and the termination in the background when the group is dropped. Never reads the
//! output: hands out the pipes. Pitfall: a caller that stops reading; a full pipe blocks the command.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rouse_core::tool::PendingCleanup;
use tokio::io::AsyncRead;
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::limit::LimitBreach;
use super::system::{self, has_orphans, kill_orphans};

/// The environment variable that marks children: `<instance>:<run>:<call>`.
pub const PROCESS_MARKER: &str = "ROUSE_RUN";
/// Time between the request to terminate and the kill.
const GRACE: Duration = Duration::from_secs(1);

/// A readable end of a process's output.
pub(crate) type OutputPipe = Box<dyn AsyncRead + Send + Unpin>;

/// The pipes of a started process.
pub(crate) struct ProcessPipes {
    /// None for a process without input.
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: OutputPipe,
    pub(crate) stderr: OutputPipe,
}

/// A running process group. Dropping terminates the group in a background task, which is added to the run's cleanups.
pub(crate) struct ProcessGroup {
    process: Option<system::Process>,
    termination: Option<JoinHandle<Option<ExitStatus>>>,
    grace: Duration,
    cleanups: PendingCleanup,
    marker: String,
    limit_breach: LimitBreach,
    /// Dropped after the command has exited.
    resource: Option<Box<dyn Send + Sync>>,
    /// The sandbox's own check for orphan processes.
    orphan_probe: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl ProcessGroup {
    /// Starts `command` in a separate group, with `marker` in the environment.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(crate) fn spawn(
        mut command: Command,
        marker: &str,
        input: Stdio,
    ) -> io::Result<(Self, ProcessPipes)> {
        command.env(PROCESS_MARKER, marker);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = system::Process::spawn(command)?;
        let stdin = process.take_input();
        let (stdout, stderr) = process.take_output();
        let pipes = ProcessPipes { stdin, stdout: Box::new(stdout), stderr: Box::new(stderr) };
        Ok((Self::new(process, marker), pipes))
    }

    /// Wraps a process that already runs.
    pub(crate) fn new(process: system::Process, marker: &str) -> Self {
        Self {
            process: Some(process),
            termination: None,
            grace: GRACE,
            cleanups: PendingCleanup::default(),
            marker: marker.to_owned(),
            limit_breach: LimitBreach::default(),
            resource: None,
            orphan_probe: None,
        }
    }

    /// Waits this long between the request to terminate and the kill.
    pub(crate) fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Keeps `resource` alive as long as the group.
    pub(crate) fn with_resource(mut self, resource: impl Send + Sync + 'static) -> Self {
        self.resource = Some(Box::new(resource));
        self
    }

    /// Uses `probe` to check for orphan processes.
    pub(crate) fn with_orphan_probe(mut self, probe: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        self.orphan_probe = Some(probe);
        self
    }

    /// Adds the termination to `cleanups` if the group is dropped.
    pub(super) fn set_cleanups(&mut self, cleanups: &PendingCleanup) {
        self.cleanups = cleanups.clone();
    }

    /// The record of a breached limit, for the task that watches the limits.
    pub(crate) fn limit_breach(&self) -> LimitBreach {
        self.limit_breach.clone()
    }

    /// The system's id of a group that was not terminated.
    #[cfg(target_os = "macos")]
    pub(crate) fn id(&self) -> rustix::process::Pid {
        self.process.as_ref().expect("BUG: a terminated group has no id").group()
    }

    /// Waits for the exit of the command. Safe to drop and to repeat.
    ///
    /// # Errors
    /// The system cannot report the exit status.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let process = self.process.as_mut().expect("BUG: a terminated group was waited for");
        process.wait().await
    }

    /// Whether the exited command left processes running.
    pub(super) async fn has_orphans(&self) -> bool {
        if let Some(probe) = &self.orphan_probe {
            return probe();
        }
        let marker = self.marker.clone();
        let found = tokio::task::spawn_blocking(move || has_orphans(&marker)).await;
        found.unwrap_or(false)
    }

    /// Terminates all members; returns the exit status of the command, if known.
    pub(crate) async fn terminate(&mut self) -> Option<ExitStatus> {
        self.start_termination();
        let status = match &mut self.termination {
            Some(termination) => await_termination(termination).await,
            None => None,
        };
        self.termination = None;
        status
    }

    /// Terminates the group in a separate task, so that a dropped waiter does not stop the termination.
    fn start_termination(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.terminate_group();
        // Without a runtime the process ends the group when dropped.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let marker = std::mem::take(&mut self.marker);
            let termination = terminate_and_reap(process, marker, self.grace).in_current_span();
            self.termination = Some(runtime.spawn(termination));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.start_termination();
        if let Some(mut termination) = self.termination.take() {
            self.cleanups.add(Box::pin(async move {
                await_termination(&mut termination).await;
            }));
        }
    }
}

async fn await_termination(termination: &mut JoinHandle<Option<ExitStatus>>) -> Option<ExitStatus> {
    termination.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the termination of a command failed");
        None
    })
}

/// Gives a terminated group a grace period, then kills the group and the orphans.
async fn terminate_and_reap(
    mut process: system::Process,
    marker: String,
    grace: Duration,
) -> Option<ExitStatus> {
    if tokio::time::timeout(grace, process.wait()).await.is_err() {
        tracing::debug!(marker, "a command ignored the request to terminate");
    }
    process.kill_group();
    let killed = tokio::task::spawn_blocking(move || kill_orphans(&marker)).await;
    if let Ok(count @ 1..) = killed {
        tracing::info!(count, "killed processes that had left their command's group");
    }
    match process.wait().await {
        Ok(status) => Some(status),
        Err(error) => {
            tracing::debug!(%error, "a command was not reaped");
            None
        }
    }
}
