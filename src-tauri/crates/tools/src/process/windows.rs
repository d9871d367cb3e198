//! Job objects: children stay inside and end when the last handle closes, also after a crash. Preview: never run on Windows.

use std::io;
use std::process::ExitStatus;
use std::ptr::null_mut;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;
use windows_sys::Win32::Globalization::{CP_OEMCP, MultiByteToWideChar};

use crate::sandbox::SandboxedCommand;

/// A command in a job object.
pub(crate) enum Process {
    /// With the rights of the person.
    Unconfined(Box<dyn ChildWrapper>),
    Sandboxed(SandboxedCommand),
}

impl Process {
    /// Without a console window, which the system would open for a child of the app, and without the console of `rouse serve`, whose
    /// Ctrl+C would reach the child.
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
        command.spawn().map(Self::Unconfined)
    }

    /// None for a process without an input pipe; a sandboxed command never has one.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        match self {
            Self::Unconfined(child) => child.stdin().take(),
            Self::Sandboxed(_) => None,
        }
    }

    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let Self::Unconfined(child) = self else {
            panic!("BUG: the output of a sandboxed command was taken twice")
        };
        let (stdout, stderr) = (child.stdout().take(), child.stderr().take());
        stdout.zip(stderr).expect("BUG: a child was started without pipes")
    }

    /// Waits for the command alone; the job would also wait for orphans.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Unconfined(child) => child.inner_mut().wait().await,
            Self::Sandboxed(command) => command.wait().await,
        }
    }

    /// Kills: a program without a shared console cannot be asked to terminate.
    pub(crate) fn terminate_group(&mut self) {
        self.kill_group();
    }

    pub(crate) fn kill_group(&mut self) {
        match self {
            Self::Unconfined(child) => {
                if let Err(error) = child.start_kill() {
                    tracing::debug!(%error, "a command had already exited");
                }
            }
            Self::Sandboxed(command) => command.kill(),
        }
    }
}

/// Decodes the output of a command: UTF-8, otherwise the console's code page, which the shell and most commands use.
pub(super) fn text(bytes: &[u8]) -> String {
    let decode_console = || {
        let length = i32::try_from(bytes.len()).ok()?;
        // SAFETY: the pointer and the length describe `bytes`; without a buffer the call returns the required size.
        let size =
            unsafe { MultiByteToWideChar(CP_OEMCP, 0, bytes.as_ptr(), length, null_mut(), 0) };
        let mut wide = vec![0; usize::try_from(size).ok()?];
        // SAFETY: the pointers and the sizes describe `bytes` and `wide`.
        let written = unsafe {
            MultiByteToWideChar(CP_OEMCP, 0, bytes.as_ptr(), length, wide.as_mut_ptr(), size)
        };
        wide.truncate(usize::try_from(written).ok()?);
        (!wide.is_empty()).then(|| String::from_utf16_lossy(&wide))
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => decode_console().unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// No-op: no process leaves a job object.
pub fn kill_orphans(_: &str) -> usize {
    0
}

/// Always false: a job object ends all processes with the command.
pub(crate) const fn has_orphans(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{ChildProcess, ExitCause};
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("cmd");
        command.arg("/d").raw_arg(format!("/s /c \"{line}\""));
        command
    }

    #[tokio::test]
    async fn background_process_is_not_waited_for() {
        let line = "start /b cmd /c pause & echo done";
        let child = ChildProcess::spawn(shell(line), "process-tests:left").expect("starts");
        let finished = child.finish(Duration::from_secs(60)).await.expect("an end");
        assert!(
            matches!(&finished.exit, ExitCause::Exited(status) if status.success()),
            "{finished:?}"
        );
        assert!(finished.stdout.text().starts_with("done"), "{finished:?}");
    }

    #[test]
    fn output_that_is_not_utf8_uses_the_console_code_page() {
        assert_eq!(text("Grüße".as_bytes()), "Grüße");
        let written = text(b"Datentr\x84ger");
        assert!(written.starts_with("Datentr") && written.ends_with("ger"), "{written}");
        assert!(!written.contains('\u{FFFD}'), "{written}");
    }
}
