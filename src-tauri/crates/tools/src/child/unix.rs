//! Process groups with a guard in each; on Linux the search for marked processes, too.

#[path = "guard.rs"]
mod guard;
#[cfg(target_os = "linux")]
#[path = "strays.rs"]
mod strays;

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdout, Command};

#[cfg(target_os = "linux")]
pub use strays::end_strays;
#[cfg(target_os = "linux")]
pub(crate) use strays::has_strays;

/// What a command wrote, as text.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The leader of a group.
pub(crate) struct Process {
    child: tokio::process::Child,
    group: Pid,
    is_over: bool,
    _guard: Option<guard::Guard>,
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = id.expect("BUG: a child that nobody has waited for has a number");
        Ok(Self { child, group, is_over: false, _guard: guarded(group) })
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

    pub(crate) fn ask_group_to_end(&mut self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn kill_group(&mut self) {
        self.signal(Signal::KILL);
        self.is_over = true;
    }

    /// A group keeps its number as long as anything is in it, and so does its leader until it is waited for; after that
    /// an empty group's number could be given to another process, but only once the numbers have gone round, which takes
    /// far longer than the second between a command's end and this.
    fn signal(&self, signal: Signal) {
        match kill_process_group(self.group, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a command could not be ended"),
        }
    }
}

/// The guard of a group. A command that runs already is not ended for want of one.
fn guarded(group: Pid) -> Option<guard::Guard> {
    guard::Guard::over(group)
        .inspect_err(
            |error| tracing::warn!(%error, "a crash of Rouse would leave a command running"),
        )
        .ok()
}

/// Whoever was about to end it gracefully is gone itself.
impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill_group();
        }
    }
}

/// Nothing outside its own children shows its environment here; the guards have ended what a crash would have left.
#[cfg(not(target_os = "linux"))]
pub fn end_strays(_: &str) -> usize {
    0
}

/// Whether a command left processes running cannot be told by its mark here.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn has_strays(_: &str) -> bool {
    false
}
