//! Process groups; on Linux the search for marked processes, on macOS a guard in each group.

#[cfg(any(target_os = "macos", test))]
#[path = "guard.rs"]
mod guard;

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdout, Command};

/// The leader of a group.
pub(crate) struct Process {
    child: tokio::process::Child,
    group: Pid,
    is_over: bool,
    #[cfg(target_os = "macos")]
    _guard: Option<guard::Guard>,
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = id.expect("BUG: a child that nobody has waited for has a number");
        Ok(Self {
            child,
            group,
            is_over: false,
            #[cfg(target_os = "macos")]
            _guard: guarded(group),
        })
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
#[cfg(target_os = "macos")]
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

/// Ends every process that bears `mark`, or, when that ends in `:`, any mark that begins with it; answers how many.
/// This process and those that it descends from are left alone: Rouse may itself have been started by a job.
#[cfg(target_os = "linux")]
pub fn end_strays(mark: &str) -> usize {
    let lineage = lineage();
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let numbers =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|number| !lineage.contains(number) && end_marked(*number, mark)).count()
}

/// Nothing outside its own children shows its environment here; the guards have ended what a crash would have left.
#[cfg(not(target_os = "linux"))]
pub fn end_strays(_: &str) -> usize {
    0
}

/// The process is held by a descriptor before its environment is read, so that the one that is ended is the one that
/// was looked at.
#[cfg(target_os = "linux")]
fn end_marked(number: i32, mark: &str) -> bool {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(number) else { return false };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    bears(number, mark) && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

#[cfg(target_os = "linux")]
fn bears(number: i32, mark: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{number}/environ")) else { return false };
    let wanted = format!("{}={mark}", super::MARK);
    environment.split(|byte| *byte == 0).any(|variable| {
        if mark.ends_with(':') {
            variable.starts_with(wanted.as_bytes())
        } else {
            variable == wanted.as_bytes()
        }
    })
}

#[cfg(target_os = "linux")]
fn lineage() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).ok();
    std::iter::successors(own, |number| parent_of(*number).filter(|parent| *parent > 0)).collect()
}

/// The fourth field of `/proc/<pid>/stat` (proc(5)); the second, the name, may itself hold spaces and brackets.
#[cfg(target_os = "linux")]
fn parent_of(number: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
