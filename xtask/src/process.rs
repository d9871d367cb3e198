//! Starting other programs: cargo, npm, the package managers, Rouse itself.
//!
//! Owns how a program is named on each system, which environment it gets, and how its output reaches the terminal.
//! Refuses shells: every argument is passed as it is. One could get it wrong by waiting for the end of a program's
//! output instead of its exit: a stray child that inherited the pipe would hang the whole chore.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::failure::{Doing, Failure};
use crate::house;

/// Cargo, in the root of the repository, as the developer would call it.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(house::root());
    // Cargo described the xtask package in these; a build script that watches them would otherwise run again here.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    colour_as_here(&mut command);
    command
}

/// npm, in the folder of the UI.
pub(crate) fn npm<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.args(arguments).current_dir(house::ui());
    // The browser comes from the system, and the tests must not wait for keys.
    command.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").env("CI", "true");
    colour_as_here(&mut command);
    command
}

/// Runs a program with its output on this terminal; anything but success is a failure.
pub(crate) fn run(mut command: Command) -> Result<(), Failure> {
    let status = command.status().doing(|| format!("start {}", shown(&command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} ended with {status}", shown(&command))))
    }
}

/// Runs a program, shows its output as it comes and hands every line to `see`; tells whether it succeeded.
pub(crate) fn watch(mut command: Command, mut see: impl FnMut(&str)) -> Result<bool, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing(|| format!("start {}", shown(&command)))?;
    let lines = lines_of(&mut child);
    loop {
        match lines.recv_timeout(Duration::from_millis(300)) {
            Ok(line) => {
                show(&line);
                see(&without_colours(line.text.trim_end()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // Silent, and gone: what still holds the pipe is a stray grandchild, and nobody waits for it.
                if child.try_wait().doing(|| format!("wait for {}", shown(&command)))?.is_some() {
                    break;
                }
            }
        }
    }
    let status = child.wait().doing(|| format!("wait for {}", shown(&command)))?;
    Ok(status.success())
}

/// What a program prints on its standard output; `None` when it cannot be started or fails.
pub(crate) fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a program prints on its standard output, for nobody else to see; its errors reach this terminal.
pub(crate) fn printed(mut command: Command) -> Result<String, Failure> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().doing(|| format!("start {}", shown(&command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure::new(format!("{} ended with {}", shown(&command), output.status)))
    }
}

/// Becomes the program where the system can do that, so that signals reach it alone; else waits for it.
pub(crate) fn hand_over(command: &mut Command) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = command.exec();
        Err(Failure::new(format!("could not start {}: {error}", shown(command))))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().doing(|| format!("start {}", shown(command)))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("{} ended with {status}", shown(command))))
        }
    }
}

/// The first of these programs that `PATH` holds.
pub(crate) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().find_map(|folder| program_in(folder, name)))
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// A program that writes into a pipe cannot see the terminal behind it; this tells.
fn colour_as_here(command: &mut Command) {
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("FORCE_COLOR", "1").env("CARGO_TERM_COLOR", "always");
    } else {
        command.env("NO_COLOR", "1");
    }
}

/// A line without the escape sequences that colour it.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            // A control sequence ends with its first letter; everything up to there is a parameter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    plain
}

enum Source {
    Output,
    Errors,
}

struct Line {
    source: Source,
    text: String,
}

fn lines_of(child: &mut Child) -> Receiver<Line> {
    let (sender, receiver) = channel();
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || forward(pipe, &sender, || Source::Output));
    }
    if let Some(pipe) = child.stderr.take() {
        thread::spawn(move || forward(pipe, &sender, || Source::Errors));
    }
    receiver
}

fn forward(pipe: impl Read, sender: &Sender<Line>, source: impl Fn() -> Source) {
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if sender.send(Line { source: source(), text }).is_err() {
            return;
        }
        bytes.clear();
    }
}

/// Shows a line where it came from. A closed terminal is no reason to stop counting.
fn show(line: &Line) {
    let shown = match line.source {
        Source::Output => std::io::stdout().write_all(line.text.as_bytes()),
        Source::Errors => std::io::stderr().write_all(line.text.as_bytes()),
    };
    drop(shown);
}

fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_away_and_text_is_kept() {
        assert_eq!(without_colours("\u{1b}[32;1m  Tests \u{1b}[0m 3 passed"), "  Tests  3 passed");
        assert_eq!(without_colours("plain [3] m"), "plain [3] m");
        assert_eq!(without_colours("cut off \u{1b}[1"), "cut off ");
    }

    #[test]
    fn watching_hands_over_every_line_of_both_streams_and_the_verdict() {
        let mut seen = Vec::new();
        let version = cargo(["--version"]);
        assert!(watch(version, |line| seen.push(line.to_owned())).expect("cargo starts"));
        assert!(seen.iter().any(|line| line.starts_with("cargo ")), "{seen:?}");

        let mut seen = Vec::new();
        let nonsense = cargo(["no-such-command-of-cargo"]);
        assert!(!watch(nonsense, |line| seen.push(line.to_owned())).expect("cargo starts"));
        assert!(seen.iter().any(|line| line.contains("no-such-command-of-cargo")), "{seen:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_stray_child_that_keeps_the_pipe_open_hangs_nothing() {
        // The shell ends at once; its child keeps the pipe until this test kills it by its number.
        let mut stray = String::new();
        let mut shell = Command::new("sh");
        shell.args(["-c", "tail -f /dev/null & echo $!"]);
        assert!(watch(shell, |line| stray = line.to_owned()).expect("sh starts"));
        assert!(answer("kill", &[&stray]).is_some(), "the child {stray} was still there");
    }

    #[test]
    fn programs_are_found_on_the_path_in_the_order_asked() {
        let found = on_path(&["no-such-program-anywhere", "cargo"]).expect("cargo is on the path");
        assert_eq!(found.file_stem(), Some(OsStr::new("cargo")));
        assert_eq!(on_path(&["no-such-program-anywhere"]), None);
    }
}
