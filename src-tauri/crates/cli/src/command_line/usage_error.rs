//! Errors about the command line itself.
//!
//! Keeps the parser's text, adds a hint about unquoted patterns, and prints JSON with `--json`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::render::error::report_error;
use crate::resolve::error::CliError;

/// Prints the parser's error or the requested help, and returns the exit code.
pub(crate) fn report_usage_error(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let args: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let json = args.iter().any(|arg| arg == "--json");
    if let Some(message) = utf8_error(arguments).filter(|_| error.kind() == ErrorKind::InvalidUtf8)
    {
        return report_error(&CliError::input(message), json);
    }
    let hint = unquoted_pattern_hint(&args).or_else(|| late_computer_hint(&args));
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let lines = text.lines().chain(hint).map(str::to_owned);
        let lines = lines.filter(|line| !line.is_empty()).collect();
        return report_error(&CliError::Input(lines), true);
    }
    // If the terminal cannot be written, the exit code remains.
    let _ = error.print();
    if let Some(hint) = hint {
        anstream::eprintln!("\n{hint}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// The error about the first argument that is not UTF-8.
pub(super) fn utf8_error(arguments: &[OsString]) -> Option<String> {
    let (position, argument) =
        arguments.iter().enumerate().find(|(_, argument)| argument.to_str().is_none())?;
    Some(format!(
        "Argument {position} is not UTF-8 text: `{}`. Rouse reads text as UTF-8: check the encoding of your terminal or script.",
        argument.to_string_lossy()
    ))
}

/// The hint for a pattern without quotes: the shell splits it into words and replaces `*` by file names.
fn unquoted_pattern_hint(args: &[String]) -> Option<&'static str> {
    let at = args.iter().position(|arg| arg == "--cron")?;
    let is_field = |arg: Option<&String>| arg.is_some_and(|arg| !arg.contains([' ', '-', '@']));
    let is_split = is_field(args.get(at + 1)) && is_field(args.get(at + 2));
    is_split.then_some("Put the pattern in quotes: --cron \"0 3 * * *\"")
}

/// The hint for `--on` behind a command, where it is unknown or means an outcome.
fn late_computer_hint(args: &[String]) -> Option<&'static str> {
    let is_late = args.iter().skip(2).any(|arg| arg == "--on" || arg.starts_with("--on="));
    let is_early = args.get(1).is_some_and(|arg| arg == "--on" || arg.starts_with("--on="));
    (is_late && !is_early)
        .then_some("Another computer stands before the command: rouse --on COMPUTER cron list")
}

#[cfg(test)]
mod tests {
    use super::{late_computer_hint, unquoted_pattern_hint};

    #[test]
    fn hint_names_the_place_of_the_computer() {
        let has_hint = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            late_computer_hint(&args).is_some()
        };
        assert!(has_hint(&["rouse", "cron", "list", "--on", "box"]));
        assert!(has_hint(&["rouse", "runs", "--on=box"]));
        assert!(!has_hint(&["rouse", "--on", "box", "cron", "lst"]));
        assert!(!has_hint(&["rouse", "cron", "lst"]));
    }

    #[test]
    fn hint_appears_only_for_a_split_pattern() {
        let has_hint = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            unquoted_pattern_hint(&args).is_some()
        };
        assert!(has_hint(&["cron", "add", "--cron", "0", "3", "*", "*", "*"]));
        assert!(has_hint(&["cron", "add", "--cron", "*/5", "notes.md", "--message", "x"]));
        assert!(!has_hint(&["cron", "add", "--cron", "0 3 * * *", "--message", "x", "y"]));
        assert!(!has_hint(&["cron", "add", "--cron", "@daily", "x"]));
        assert!(!has_hint(&["cron", "add", "--message", "x", "y"]));
    }
}
