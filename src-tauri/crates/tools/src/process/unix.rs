//! Process groups with a guard each; on Linux also the search for orphans.

#[path = "guard.rs"]
mod guard;
#[cfg(target_os = "linux")]
#[path = "orphans.rs"]
mod orphans;

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

#[cfg(target_os = "linux")]
pub(crate) use orphans::has_orphans;
#[cfg(target_os = "linux")]
pub use orphans::kill_orphans;

/// Decodes the output of a command.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The leader of a process group.
pub(crate) struct Process {
    child: tokio::process::Child,
    group: Pid,
    is_killed: bool,
    _guard: Option<guard::Guard>,
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = pid.expect("BUG: a child that was not reaped has an id");
        // A missing guard is no reason to end a command that already runs.
        let guard = guard::Guard::start(group)
            .inspect_err(
                |error| tracing::warn!(%error, "a crash of Rouse would leave a command running"),
            )
            .ok();
        Ok(Self { child, group, is_killed: false, _guard: guard })
    }

    /// None for a process without an input pipe.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        stdout.zip(stderr).expect("BUG: a child was started without pipes")
    }

    #[cfg(target_os = "macos")]
    pub(crate) const fn group(&self) -> Pid {
        self.group
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    pub(crate) fn terminate_group(&mut self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn kill_group(&mut self) {
        self.signal(Signal::KILL);
        self.is_killed = true;
    }

    /// A group id stays valid while the group has members or an unreaped leader. Afterwards the kernel could reuse it, but only
    /// once all ids have gone round, which takes far longer than the second between an exit and this call.
    fn signal(&self, signal: Signal) {
        match kill_process_group(self.group, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a command could not be terminated"),
        }
    }
}

/// Kills the group if no task was there for a graceful termination.
impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_killed {
            self.kill_group();
        }
    }
}

/// No-op: environments of other processes cannot be read here, and guards have ended the orphans of a crash.
#[cfg(not(target_os = "linux"))]
pub fn kill_orphans(_: &str) -> usize {
    0
}

/// Always false: markers cannot be read here.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn has_orphans(_: &str) -> bool {
    false
}
