//! A job object: what is started inside stays inside, and ends when its last handle is closed, also by a crash.

use std::io;
use std::process::ExitStatus;
use std::ptr::null_mut;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdout, Command};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;
use windows_sys::Win32::Globalization::{CP_OEMCP, MultiByteToWideChar};

use crate::sandbox::Confined;

/// A command in its job object.
pub(crate) enum Process {
    /// With the rights of the person.
    Plain(Box<dyn ChildWrapper>),
    /// In the sandbox.
    Confined(Confined),
}

impl Process {
    /// A console of its own that nobody sees: the app has none, so the system would open a window, and in that of `rouse
    /// serve` a Ctrl+C would reach it.
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
        command.spawn().map(Self::Plain)
    }

    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let Self::Plain(child) = self else {
            panic!("BUG: a confined command has given its output")
        };
        let (stdout, stderr) = (child.stdout().take(), child.stderr().take());
        stdout.zip(stderr).expect("BUG: a child was started without pipes")
    }

    /// Waits for the command itself: its job would wait for whatever it leaves running.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Plain(child) => child.inner_mut().wait().await,
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

/// What a command wrote, as text: UTF-8, or else in the code page of the consoles of this system, which is what the shell
/// and most of its commands write (`MultiByteToWideChar`).
pub(super) fn text(bytes: &[u8]) -> String {
    let of_console = || {
        let length = i32::try_from(bytes.len()).ok()?;
        // SAFETY: as many bytes as said; no room is given, so the room that it takes is answered.
        let room =
            unsafe { MultiByteToWideChar(CP_OEMCP, 0, bytes.as_ptr(), length, null_mut(), 0) };
        let mut wide = vec![0; usize::try_from(room).ok()?];
        // SAFETY: as many bytes and as much room as said.
        let written = unsafe {
            MultiByteToWideChar(CP_OEMCP, 0, bytes.as_ptr(), length, wide.as_mut_ptr(), room)
        };
        wide.truncate(usize::try_from(written).ok()?);
        (!wide.is_empty()).then(|| String::from_utf16_lossy(&wide))
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => of_console().unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Nothing strays out of a job object.
pub fn end_strays(_: &str) -> usize {
    0
}

/// A job object ends all its processes with the command.
pub(crate) const fn has_strays(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Child, End};
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("cmd");
        command.arg("/d").raw_arg(format!("/s /c \"{line}\""));
        command
    }

    #[tokio::test]
    async fn what_it_leaves_running_is_not_waited_for() {
        let line = "start /b cmd /c pause & echo done";
        let child = Child::spawn(shell(line), "child-tests:left").expect("starts");
        let finished = child.finish(Duration::from_secs(60)).await.expect("an end");
        assert!(matches!(&finished.end, End::Exited(status) if status.success()), "{finished:?}");
        assert!(finished.stdout.text().starts_with("done"), "{finished:?}");
    }

    #[test]
    fn what_is_no_utf_8_is_read_as_the_console_writes_it() {
        assert_eq!(text("Grüße".as_bytes()), "Grüße");
        let written = text(b"Datentr\x84ger");
        assert!(written.starts_with("Datentr") && written.ends_with("ger"), "{written}");
        assert!(!written.contains('\u{FFFD}'), "{written}");
    }
}
