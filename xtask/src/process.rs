//! Child processes: cargo, npm, the package managers, Rouse itself.
//!
//! Owns program names per system, environments, and the forwarding of output. Never uses a shell; arguments are
//! passed unchanged. Pitfall: waiting for the end of the output instead of the exit; an orphan with the inherited
//! pipe would block the chore.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::error::{ChoreError, ErrorContext};
use crate::paths;

/// Cargo in the root of the repository, with the developer's environment.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(paths::root());
    // Cargo sets these for the xtask package; build scripts that watch them would run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    set_colours(&mut command);
    command
}

/// npm in the folder of the UI.
pub(crate) fn npm<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.args(arguments).current_dir(paths::ui());
    // The browser comes from the system, and tests must not wait for keys.
    command.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").env("CI", "true");
    set_colours(&mut command);
    command
}

/// Runs a program with its output on this terminal. Any exit code but success is an error.
pub(crate) fn run(mut command: Command) -> Result<(), ChoreError> {
    let status = command.status().with_context(|| format!("start {}", display(&command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(ChoreError::new(format!("{} ended with {status}", display(&command))))
    }
}

/// Runs a program, forwards its output and passes every line to `on_line`. Returns whether the program succeeded.
pub(crate) fn watch(
    mut command: Command,
    mut on_line: impl FnMut(&str),
) -> Result<bool, ChoreError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {}", display(&command)))?;
    let lines = read_lines(&mut child);
    loop {
        match lines.recv_timeout(Duration::from_millis(300)) {
            Ok(line) => {
                print_line(&line);
                on_line(&strip_colours(line.text.trim_end()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // The child has exited; only an orphan still holds the pipe.
                if child
                    .try_wait()
                    .with_context(|| format!("wait for {}", display(&command)))?
                    .is_some()
                {
                    break;
                }
            }
        }
    }
    let status = child.wait().with_context(|| format!("wait for {}", display(&command)))?;
    Ok(status.success())
}

/// The standard output of a program; `None` if the program fails or cannot start.
pub(crate) fn try_output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The standard output of a program. Its errors go to this terminal.
pub(crate) fn output(mut command: Command) -> Result<String, ChoreError> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("start {}", display(&command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(ChoreError::new(format!("{} ended with {}", display(&command), output.status)))
    }
}

/// Replaces this process by the program where possible, so signals reach only the program; else waits for it.
pub(crate) fn replace_process(command: &mut Command) -> Result<(), ChoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = command.exec();
        Err(ChoreError::new(format!("could not start {}: {error}", display(command))))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().with_context(|| format!("start {}", display(command)))?;
        if status.success() {
            Ok(())
        } else {
            Err(ChoreError::new(format!("{} ended with {status}", display(command))))
        }
    }
}

/// The first of these programs in `PATH`.
pub(crate) fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().find_map(|folder| program_in_folder(folder, name)))
}

/// The command line for display.
pub(crate) fn display(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Passes the terminal's colour support to a program that writes to a pipe.
fn set_colours(command: &mut Command) {
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("FORCE_COLOR", "1").env("CARGO_TERM_COLOR", "always");
    } else {
        command.env("NO_COLOR", "1");
    }
}

/// A line without colour escape sequences.
fn strip_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            // A control sequence ends with its first letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    plain
}

enum OutputStream {
    Output,
    Errors,
}

struct OutputLine {
    source: OutputStream,
    text: String,
}

fn read_lines(child: &mut Child) -> Receiver<OutputLine> {
    let (sender, receiver) = channel();
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || forward(pipe, &sender, || OutputStream::Output));
    }
    if let Some(pipe) = child.stderr.take() {
        thread::spawn(move || forward(pipe, &sender, || OutputStream::Errors));
    }
    receiver
}

fn forward(pipe: impl Read, sender: &Sender<OutputLine>, source: impl Fn() -> OutputStream) {
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if sender.send(OutputLine { source: source(), text }).is_err() {
            return;
        }
        bytes.clear();
    }
}

/// Prints a line to its original stream. A closed terminal does not stop the counting.
fn print_line(line: &OutputLine) {
    let display = match line.source {
        OutputStream::Output => std::io::stdout().write_all(line.text.as_bytes()),
        OutputStream::Errors => std::io::stderr().write_all(line.text.as_bytes()),
    };
    drop(display);
}

fn program_in_folder(folder: &Path, name: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strip_colours_keeps_the_text() {
        assert_eq!(strip_colours("\u{1b}[32;1m  Tests \u{1b}[0m 3 passed"), "  Tests  3 passed");
        assert_eq!(strip_colours("plain [3] m"), "plain [3] m");
        assert_eq!(strip_colours("cut off \u{1b}[1"), "cut off ");
    }

    #[test]
    fn watch_reports_lines_and_success() {
        let mut lines_seen = Vec::new();
        let version = cargo(["--version"]);
        assert!(watch(version, |line| lines_seen.push(line.to_owned())).expect("cargo starts"));
        assert!(lines_seen.iter().any(|line| line.starts_with("cargo ")), "{lines_seen:?}");

        let mut lines_seen = Vec::new();
        let nonsense = cargo(["no-such-command-of-cargo"]);
        assert!(!watch(nonsense, |line| lines_seen.push(line.to_owned())).expect("cargo starts"));
        assert!(
            lines_seen.iter().any(|line| line.contains("no-such-command-of-cargo")),
            "{lines_seen:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn orphan_with_open_pipe_does_not_block() {
        // The shell exits at once; its child keeps the pipe until the test kills the child.
        let mut stray = String::new();
        let mut shell = Command::new("sh");
        shell.args(["-c", "tail -f /dev/null & echo $!"]);
        assert!(watch(shell, |line| stray = line.to_owned()).expect("sh starts"));
        assert!(try_output("kill", &[&stray]).is_some(), "the child {stray} was still there");
    }

    #[test]
    fn programs_are_found_on_path_in_order() {
        let found =
            find_program(&["no-such-program-anywhere", "cargo"]).expect("cargo is on the path");
        assert_eq!(found.file_stem(), Some(OsStr::new("cargo")));
        assert_eq!(find_program(&["no-such-program-anywhere"]), None);
    }
}
