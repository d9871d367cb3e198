//! The system's shell, which gets a line unchanged.
//!
//! Owns the check whether the shell reads the whole line: `cmd /c` silently stops at the first line end, so an approval would cover
//! commands that do not run.

use tokio::process::Command;

#[cfg(unix)]
pub(super) fn shell_command(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// `/s` with outer quotes passes the line unchanged (cmd /?).
#[cfg(windows)]
pub(super) fn shell_command(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/d").raw_arg(format!("/s /c \"{line}\""));
    command
}

/// Whether the shell reads all of `line`.
pub(super) fn reads_whole_line(line: &str) -> bool {
    cfg!(unix) || is_single_line(line)
}

fn is_single_line(line: &str) -> bool {
    !line.trim_end().contains(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_are_detected() {
        assert!(is_single_line("echo 1 && echo 2\r\n"));
        for several in ["echo 1\necho 2", "echo 1\r\necho 2", "echo 1\recho 2"] {
            assert!(!is_single_line(several));
            assert_eq!(reads_whole_line(several), cfg!(unix));
        }
    }
}
