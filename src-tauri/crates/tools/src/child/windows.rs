//! A job object: what is started inside stays inside, and ends when its last handle is closed, also by a crash.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdout, Command};

use crate::sandbox::Confined;

/// A command in its job object.
pub(crate) enum Process {
    /// With the rights of the person.
    Plain(Box<dyn ChildWrapper>),
    /// In the sandbox.
    Confined(Confined),
}

impl Process {
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn().map(Self::Plain)
    }

    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let Self::Plain(child) = self else {
            panic!("BUG: a confined command has given its output")
        };
        let (stdout, stderr) = (child.stdout().take(), child.stderr().take());
        stdout.zip(stderr).expect("BUG: a child was started without pipes")
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Plain(child) => child.wait().await,
            Self::Confined(command) => command.wait().await,
        }
    }

    /// There is no way to ask a console program that shares no console.
    pub(crate) fn ask_group_to_end(&mut self) {
        self.kill_group();
    }

    pub(crate) fn kill_group(&mut self) {
        match self {
            Self::Plain(child) => {
                if let Err(error) = child.start_kill() {
                    tracing::debug!(%error, "a command had ended already");
                }
            }
            Self::Confined(command) => command.kill(),
        }
    }
}

/// Nothing strays out of a job object.
pub fn end_strays(_: &str) -> usize {
    0
}
