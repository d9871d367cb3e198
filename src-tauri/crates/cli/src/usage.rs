//! What is said of a command line that cannot be read.
//!
//! The parser's own words stay; this adds what a shell did to the line before, which the parser cannot know, and says it
//! as JSON where that was asked for.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::command_line::argument_not_utf8;
use crate::exit::Failure;

/// Prints the complaint about a command line, or the help that was asked for, and returns the exit code.
pub(crate) fn refuse(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let args: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let not_utf8 = argument_not_utf8(arguments).filter(|_| error.kind() == ErrorKind::InvalidUtf8);
    if let Some(complaint) = not_utf8 {
        return Failure::input(complaint).report(args.iter().any(|arg| arg == "--json"));
    }
    let hint = unquoted_pattern(&args);
    if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
        let words = error.render().to_string();
        let lines = words.lines().chain(hint).map(str::to_owned);
        return Failure::Input(lines.filter(|line| !line.is_empty()).collect()).report(true);
    }
    // Nobody is left to be told where the words cannot be written.
    let _ = error.print();
    if let Some(hint) = hint {
        anstream::eprintln!("\n{hint}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// A pattern without quotes: the shell hands it over in pieces, and files in the place of `*`.
fn unquoted_pattern(args: &[String]) -> Option<&'static str> {
    let at = args.iter().position(|arg| arg == "--cron")?;
    let is_piece = |arg: Option<&String>| arg.is_some_and(|arg| !arg.contains([' ', '-', '@']));
    let in_pieces = is_piece(args.get(at + 1)) && is_piece(args.get(at + 2));
    in_pieces.then_some("Put the pattern in quotes: --cron \"0 3 * * *\"")
}

#[cfg(test)]
mod tests {
    use super::unquoted_pattern;

    #[test]
    fn a_pattern_in_pieces_is_told_from_a_whole_one() {
        let is_told = |args: &[&str]| {
            unquoted_pattern(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
                .is_some()
        };
        assert!(is_told(&["cron", "add", "--cron", "0", "3", "*", "*", "*"]));
        assert!(is_told(&["cron", "add", "--cron", "*/5", "notes.md", "--message", "x"]));
        assert!(!is_told(&["cron", "add", "--cron", "0 3 * * *", "--message", "x", "y"]));
        assert!(!is_told(&["cron", "add", "--cron", "@daily", "x"]));
        assert!(!is_told(&["cron", "add", "--message", "x", "y"]));
    }
}
