//! The process of a hook and all descendants, which end together.
//!
//! Owns the marker of descendants. On Linux each child inherits the marker in the environment, so the next
//! start also ends the orphans of a crash. On macOS a process that leaves the process group is out of reach; on Windows a job
//! object ends all of them. Pitfall: killing the process group is not enough, because `setsid` leaves the group.

use std::io;
use std::path::PathBuf;

use tokio::process::Command;

/// How hook processes run, and how their orphans are found.
#[derive(Debug, Clone)]
pub struct HookProcessConfig {
    /// The working directory.
    pub folder: PathBuf,
    /// The environment variable of the marker.
    pub marker_variable: &'static str,
    /// The prefix of all markers of this engine.
    pub instance: String,
    /// Kills all processes with this marker, and returns their number.
    pub kill_marked: fn(&str) -> usize,
}

/// The process of a hook and the descendants.
#[cfg(unix)]
pub(super) struct HookProcess {
    child: tokio::process::Child,
    id: rustix::process::Pid,
    marker: String,
    kill_marked: fn(&str) -> usize,
}

#[cfg(unix)]
impl HookProcess {
    pub(super) fn spawn(mut command: Command, config: &HookProcessConfig) -> io::Result<Self> {
        let marker = format!("{}:hook:{}", config.instance, uuid::Uuid::new_v4());
        let child = command.env(config.marker_variable, &marker).process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(rustix::process::Pid::from_raw);
        let id = id.expect("BUG: a child before wait has a process id");
        Ok(Self { child, id, marker, kill_marked: config.kill_marked })
    }

    pub(super) fn take_pipes(&mut self) -> Pipes {
        let Self { child, .. } = self;
        pipes(child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the process, and kills the descendants, which would keep the pipes open.
    pub(super) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await;
        self.kill();
        if let Some(killed) = self.kill_orphans() {
            killed.await.expect("BUG: listing processes does not panic");
        }
        status
    }

    fn kill(&self) {
        use rustix::io::Errno;
        use rustix::process::{Signal, kill_process_group};
        match kill_process_group(self.id, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a hook could not be killed"),
        }
    }

    /// Kills the descendants outside the process group, on a blocking thread because all processes are listed. Without
    /// a runtime Rouse is shutting down, and the next start kills the descendants.
    fn kill_orphans(&self) -> Option<tokio::task::JoinHandle<()>> {
        let (marker, kill_marked) = (self.marker.clone(), self.kill_marked);
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(runtime.spawn_blocking(move || {
            let count = kill_marked(&marker);
            if count > 0 {
                tracing::info!(count, "orphan processes of a hook were killed");
            }
        }))
    }
}

#[cfg(unix)]
impl Drop for HookProcess {
    fn drop(&mut self) {
        // After the wait the process id may belong to another process.
        if self.child.id().is_some() {
            self.kill();
            drop(self.kill_orphans());
        }
    }
}

/// The process of a hook in a job object, which ends with the last handle.
#[cfg(windows)]
pub(super) struct HookProcess(Box<dyn process_wrap::tokio::ChildWrapper>);

#[cfg(windows)]
impl HookProcess {
    pub(super) fn spawn(mut command: Command, config: &HookProcessConfig) -> io::Result<Self> {
        use process_wrap::tokio::{CommandWrap, CreationFlags, JobObject, KillOnDrop};
        use windows::Win32::System::Threading::CREATE_NO_WINDOW;
        command.env(config.marker_variable, format!("{}:hook", config.instance));
        let mut command = CommandWrap::from(command);
        // Without a hidden console the system would open a window.
        command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
        command.spawn().map(Self)
    }

    pub(super) fn take_pipes(&mut self) -> Pipes {
        let (stdin, stdout) = (self.0.stdin().take(), self.0.stdout().take());
        pipes(stdin, stdout, self.0.stderr().take())
    }

    /// Waits for the process, and kills the descendants, which would keep the job object and the pipes open.
    pub(super) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.0.inner_mut().wait().await;
        if let Err(error) = self.0.start_kill() {
            tracing::warn!(%error, "orphan processes of a hook could not be killed");
        }
        status
    }
}

pub(super) type Pipes =
    (tokio::process::ChildStdin, tokio::process::ChildStdout, tokio::process::ChildStderr);

fn pipes(
    stdin: Option<tokio::process::ChildStdin>,
    stdout: Option<tokio::process::ChildStdout>,
    stderr: Option<tokio::process::ChildStderr>,
) -> Pipes {
    let (stdin, (stdout, stderr)) =
        stdin.zip(stdout.zip(stderr)).expect("BUG: a hook has three pipes");
    (stdin, stdout, stderr)
}
