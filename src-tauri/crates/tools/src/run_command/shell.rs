//! The system's shell, to which a line is handed as it is written.
//!
//! Owns which lines it reads whole. `cmd /c` stops at the end of the first line and says nothing of the others, so one that has
//! more is refused before anybody is asked about it: a person would say yes to a command of which a part is run.

use tokio::process::Command;

/// The shell of this system on `line`.
#[cfg(unix)]
pub(super) fn on(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// The shell of this system on `line`: `/s` with outer quotes hands it over as it is (cmd /?).
#[cfg(windows)]
pub(super) fn on(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/d").raw_arg(format!("/s /c \"{line}\""));
    command
}

/// Whether it reads all of `line`.
pub(super) fn reads_whole(line: &str) -> bool {
    cfg!(unix) || is_one_line(line)
}

fn is_one_line(line: &str) -> bool {
    !line.trim_end().contains(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_are_told_from_one() {
        assert!(is_one_line("echo 1 && echo 2\r\n"));
        for several in ["echo 1\necho 2", "echo 1\r\necho 2", "echo 1\recho 2"] {
            assert!(!is_one_line(several));
            assert_eq!(reads_whole(several), cfg!(unix));
        }
    }
}
