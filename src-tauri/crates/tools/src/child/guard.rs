//! What ends a command's group when Rouse itself is ended, by a crash or by force: a shell in that group, which waits for
//! the end of a pipe that nobody but this process holds open.
//!
//! On macOS a mark cannot be read from outside, and there is no object that ends with its maker; on Linux a process can
//! clear the mark that the next start looks for. Why not look at that start for groups that were written down: between a
//! crash and a start a group's number can come to name another one, and there may be no next start. The guard is in the
//! group, so the number stays that group's, and it needs none to end it. It ignores what a group is asked to end with,
//! and goes when the group is made to.
//!
//! What it does not hold: a process that leaves the group, a command that ends its guard (a confined one cannot), and the
//! moment between the start of a command and that of its guard. One could get it wrong by giving the guard the command's
//! output, which then would never end.

use std::io::{self, PipeWriter};
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

/// The built-in `kill` of the shell, whose `0` is its own group.
const LINE: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -s KILL 0";

/// As long as this lives, so may the group.
#[derive(Debug)]
pub(super) struct Guard {
    _alive: PipeWriter,
    /// Kept to be reaped.
    _shell: Child,
}

impl Guard {
    /// Begins to guard `group`.
    ///
    /// # Errors
    /// When there is no such group, or no shell to be had.
    pub(super) fn over(group: Pid) -> io::Result<Self> {
        let (ends, alive) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(LINE).env_clear().current_dir("/");
        shell.stdin(ends).stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(group.as_raw_nonzero().get());
        Ok(Self { _alive: alive, _shell: shell.spawn()? })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read as _, Write as _};

    use super::*;
    use crate::child::system::Process;

    /// Set where this program is the engine that will be killed.
    const ENGINE: &str = "ROUSE_TEST_GUARDED";
    const NAME: &str = "child::system::guard::tests::what_a_killed_engine_was_running_ends_with_it";

    /// Two processes of a group that do not listen; both hold the output open.
    fn deaf(output: Stdio) -> Process {
        let line =
            "trap '' TERM; env -i sh -c 'echo ready; exec sleep 1000' & wait; exec sleep 1000";
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(output);
        Process::spawn(command).expect("starts")
    }

    fn until(words: &[&str], output: &mut impl BufRead) {
        let mut said = String::new();
        while !words.iter().all(|word| said.contains(word)) {
            assert!(output.read_line(&mut said).expect("read") > 0, "it ended: {said}");
        }
    }

    /// Also what has cleared its environment, so that no next start would find it.
    #[tokio::test]
    async fn what_a_killed_engine_was_running_ends_with_it() {
        if std::env::var_os(ENGINE).is_some() {
            let _command = deaf(Stdio::inherit());
            io::stdout().write_all(b"started\n").expect("written");
            return std::future::pending().await;
        }
        let mut engine = std::process::Command::new(std::env::current_exe().expect("this program"));
        engine.args(["--exact", NAME, "--nocapture"]).env(ENGINE, "1").stdout(Stdio::piped());
        let mut engine = engine.spawn().expect("starts");
        let mut output = BufReader::new(engine.stdout.take().expect("piped"));
        until(&["ready", "started"], &mut output);
        engine.kill().expect("killed");
        engine.wait().expect("ended");
        // It ends when nobody holds it open any more.
        output.read_to_end(&mut Vec::new()).expect("read");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_guard_outlives_what_its_group_is_asked_and_no_other_command_holds_it() {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::{Signal, kill_process_group};

        let (output, theirs) = io::pipe().expect("a pipe");
        let mut output = BufReader::new(output);
        let mut command = deaf(theirs.into());
        let guard = command._guard.take().expect("it has one");
        let status = format!("/proc/{}/status", guard._shell.id().expect("it runs"));
        let ignores_term = || {
            let status = std::fs::read_to_string(&status).expect("readable");
            let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
            let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
            ignored.is_some_and(|bits| bits >> (Signal::TERM.as_raw() - 1) & 1 == 1)
        };
        while !ignores_term() {
            std::thread::yield_now();
        }
        until(&["ready"], &mut output);
        let mut other = deaf(Stdio::null());
        kill_process_group(command.group, Signal::TERM).expect("asked");
        drop(guard);
        output.read_to_end(&mut Vec::new()).expect("read");
        assert_eq!(command.wait().await.expect("ended").signal(), Some(Signal::KILL.as_raw()));
        other.kill_group();
    }
}
