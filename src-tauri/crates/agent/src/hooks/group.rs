//! A command of a hook and everything that it starts: ended as a whole, also what has left its group.
//!
//! Owns the mark by which its processes are found. On Linux each child inherits it, so what a crash of Rouse has left at
//! work is found at the next start as well; on macOS a process that leaves the group is out of reach, and on Windows a job
//! object ends all of them. One could get it wrong by ending by group alone: `setsid` is all it takes to leave one.

use std::io;
use std::path::PathBuf;

use tokio::process::Command;

/// Where commands of hooks run, and how what they start is found again.
#[derive(Debug, Clone)]
pub struct HookPlace {
    /// The folder that they run in.
    pub folder: PathBuf,
    /// The environment variable of the mark.
    pub mark: &'static str,
    /// What every mark of this engine begins with.
    pub instance: String,
    /// Ends every process that bears this mark, and answers how many.
    pub end_marked: fn(&str) -> usize,
}

/// A command and what it starts.
#[cfg(unix)]
pub(super) struct Group {
    child: tokio::process::Child,
    id: rustix::process::Pid,
    mark: String,
    end_marked: fn(&str) -> usize,
}

#[cfg(unix)]
impl Group {
    pub(super) fn spawn(mut command: Command, place: &HookPlace) -> io::Result<Self> {
        let mark = format!("{}:hook:{}", place.instance, uuid::Uuid::new_v4());
        let child = command.env(place.mark, &mark).process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(rustix::process::Pid::from_raw);
        let id = id.expect("BUG: a child that nobody has waited for has a number");
        Ok(Self { child, id, mark, end_marked: place.end_marked })
    }

    pub(super) fn take_pipes(&mut self) -> Pipes {
        let Self { child, .. } = self;
        pipes(child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the command, and ends what it leaves behind: else its pipes would stay open.
    pub(super) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await;
        self.kill();
        if let Some(ended) = self.end_strays() {
            ended.await.expect("BUG: looking at processes does not panic");
        }
        status
    }

    fn kill(&self) {
        use rustix::io::Errno;
        use rustix::process::{Signal, kill_process_group};
        match kill_process_group(self.id, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a hook could not be ended"),
        }
    }

    /// Ends what has left the group, beside everything else: all processes of the machine are looked at. Where nothing
    /// can be begun any more, Rouse is ending, and its next start looks.
    fn end_strays(&self) -> Option<tokio::task::JoinHandle<()>> {
        let (mark, end_marked) = (self.mark.clone(), self.end_marked);
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(runtime.spawn_blocking(move || {
            let count = end_marked(&mark);
            if count > 0 {
                tracing::info!(count, "processes that had left their hook's group were ended");
            }
        }))
    }
}

/// Nobody waits for it any more.
#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if self.child.id().is_some() {
            self.kill();
            drop(self.end_strays());
        }
    }
}

/// A command and what it starts, in a job object that ends with its last handle.
#[cfg(windows)]
pub(super) struct Group(Box<dyn process_wrap::tokio::ChildWrapper>);

#[cfg(windows)]
impl Group {
    pub(super) fn spawn(mut command: Command, place: &HookPlace) -> io::Result<Self> {
        use process_wrap::tokio::{CommandWrap, CreationFlags, JobObject, KillOnDrop};
        use windows::Win32::System::Threading::CREATE_NO_WINDOW;
        command.env(place.mark, format!("{}:hook", place.instance));
        let mut command = CommandWrap::from(command);
        // A console of its own that nobody sees: for an app that has none the system would open a window.
        command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
        command.spawn().map(Self)
    }

    pub(super) fn take_pipes(&mut self) -> Pipes {
        let (stdin, stdout) = (self.0.stdin().take(), self.0.stdout().take());
        pipes(stdin, stdout, self.0.stderr().take())
    }

    /// Waits for the command, and ends what it leaves behind: its job would wait for that, and its pipes stay open.
    pub(super) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.0.inner_mut().wait().await;
        if let Err(error) = self.0.start_kill() {
            tracing::warn!(%error, "what a hook left at work could not be ended");
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
        stdin.zip(stdout.zip(stderr)).expect("BUG: a child was started without pipes");
    (stdin, stdout, stderr)
}
