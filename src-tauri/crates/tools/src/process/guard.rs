//! A guard that kills a command's process group when Rouse crashes or is killed.
//!
//! The guard is a shell in the group that waits for the end of a pipe held open by Rouse alone. Markers cannot be read on macOS and
//! can be cleared on Linux, and a group id on disk could be reused before the next start; the guard is a group member, so the id
//! stays valid. The guard ignores the signals that ask a group to terminate, and dies with the group.
//!
//! Does not hold: a process that leaves the group, a command that kills the guard (a sandboxed command cannot), and the
//! moment between the start of a command and the start of the guard. Pitfall: a guard that inherits the command's
//! output keeps the output open.

use std::io::{self, PipeWriter};
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

/// The shell's built-in `kill`; `0` is the shell's own group.
const LINE: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -s KILL 0";

/// Keeps a group alive until dropped.
#[derive(Debug)]
pub(super) struct Guard {
    _pipe: PipeWriter,
    /// Owned so that the runtime reaps the shell.
    _shell: Child,
}

impl Guard {
    /// Starts a guard in `group`.
    ///
    /// # Errors
    /// The group does not exist, or `/bin/sh` cannot be started.
    pub(super) fn start(group: Pid) -> io::Result<Self> {
        let (reader, pipe) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(LINE).env_clear().current_dir("/");
        shell.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(group.as_raw_nonzero().get());
        Ok(Self { _pipe: pipe, _shell: shell.spawn()? })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read as _, Write as _};

    use super::*;
    use crate::process::system::Process;

    /// Set in the copy of this program that plays the killed engine.
    const ENGINE: &str = "ROUSE_TEST_GUARDED";
    const NAME: &str = "process::system::guard::tests::killed_engine_takes_its_commands_with_it";

    /// Starts a group of two processes that ignore SIGTERM and hold `output` open.
    fn spawn_term_ignorer(output: Stdio) -> Process {
        let line =
            "trap '' TERM; env -i sh -c 'echo ready; exec sleep 1000' & wait; exec sleep 1000";
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(output);
        Process::spawn(command).expect("starts")
    }

    fn read_until(words: &[&str], output: &mut impl BufRead) {
        let mut text = String::new();
        while !words.iter().all(|word| text.contains(word)) {
            assert!(output.read_line(&mut text).expect("read") > 0, "ended: {text}");
        }
    }

    /// A command clears the environment, so that the next start could not find that command.
    #[tokio::test]
    async fn killed_engine_takes_its_commands_with_it() {
        if std::env::var_os(ENGINE).is_some() {
            let _command = spawn_term_ignorer(Stdio::inherit());
            io::stdout().write_all(b"started\n").expect("written");
            return std::future::pending().await;
        }
        let mut engine = std::process::Command::new(std::env::current_exe().expect("this program"));
        engine.args(["--exact", NAME, "--nocapture"]).env(ENGINE, "1").stdout(Stdio::piped());
        let mut engine = engine.spawn().expect("starts");
        let mut output = BufReader::new(engine.stdout.take().expect("piped"));
        read_until(&["ready", "started"], &mut output);
        engine.kill().expect("killed");
        engine.wait().expect("ended");
        // Ends when the last process has closed the output.
        output.read_to_end(&mut Vec::new()).expect("read");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn guard_survives_sigterm_and_is_held_by_its_command_only() {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::{Signal, kill_process_group};

        let (output, theirs) = io::pipe().expect("a pipe");
        let mut output = BufReader::new(output);
        let mut command = spawn_term_ignorer(theirs.into());
        let guard = command._guard.take().expect("a guard");
        let status = format!("/proc/{}/status", guard._shell.id().expect("running"));
        let ignores_term = || {
            let status = std::fs::read_to_string(&status).expect("readable");
            let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
            let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
            ignored.is_some_and(|bits| bits >> (Signal::TERM.as_raw() - 1) & 1 == 1)
        };
        while !ignores_term() {
            std::thread::yield_now();
        }
        read_until(&["ready"], &mut output);
        let mut other = spawn_term_ignorer(Stdio::null());
        kill_process_group(command.group, Signal::TERM).expect("asked");
        drop(guard);
        output.read_to_end(&mut Vec::new()).expect("read");
        assert_eq!(command.wait().await.expect("ended").signal(), Some(Signal::KILL.as_raw()));
        other.kill_group();
    }
}
