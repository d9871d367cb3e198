//! A job object: what is started inside stays inside, and ends when its last handle is closed, also by a crash.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdout, Command};

/// A command in its job object.
pub(crate) struct Process(Box<dyn ChildWrapper>);

impl Process {
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn().map(Self)
    }

    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let (stdout, stderr) = (self.0.stdout().take(), self.0.stderr().take());
        stdout.zip(stderr).expect("BUG: a child was started without pipes")
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait().await
    }

    /// There is no way to ask a console program that shares no console.
    pub(crate) fn ask_group_to_end(&mut self) {
        self.kill_group();
    }

    pub(crate) fn kill_group(&mut self) {
        if let Err(error) = self.0.start_kill() {
            tracing::debug!(%error, "a command had ended already");
        }
    }
}

/// Nothing strays out of a job object.
pub fn end_strays(_: &str) -> usize {
    0
}
