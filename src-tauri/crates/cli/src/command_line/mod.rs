//! The command line: arguments and environment before any command runs.
//!
//! Owns the rules of every command: a flag accepts a value that begins with `-`, and text that is not UTF-8 is refused
//! with its position. Never interprets a flag. Pitfall: a flag without a value must not take the next flag as the
//! value, so the name of a flag of the same command is accepted only after `=`.

mod usage_error;

pub(crate) use usage_error::report_usage_error;

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands;
use crate::render::table::is_width_unknown;
use crate::resolve::error::CliError;

/// Wakes agents on time.
///
/// Exit codes: 0 done · 1 failed · 2 wrong usage or input · 3 Rouse is not running or does not answer · 4 not found ·
/// 5 refused in the present state.
#[derive(Debug, Parser)]
#[command(name = "rouse", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print the answer as JSON, and an error as a line of JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Use Rouse on another computer over SSH: user@host, or a name of `[computers.NAME]` [default: this computer]
    #[arg(long, value_name = "COMPUTER")]
    pub(crate) on: Option<String>,
    #[command(subcommand)]
    pub(crate) command: commands::Command,
}

/// Prints the help with the rarely used flags.
const HELP_ALL: &str = "--help-all";

/// Columns of a help text when the terminal reports no width.
const HELP_COLUMNS: usize = 100;

/// Parses the arguments of this process.
///
/// # Errors
/// The parser's error, or the requested help.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command();
    let mut arguments = arguments.to_vec();
    for argument in arguments.iter_mut().filter(|argument| *argument == HELP_ALL) {
        command = show_all_flags(command);
        *argument = "--help".into();
    }
    refuse_flag_as_value(&mut command, &arguments)?;
    let matches = command.try_get_matches_from_mut(&arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The root command of parser, help and completions.
pub(crate) fn command() -> Command {
    let command = allow_hyphen_values(Cli::command());
    if is_width_unknown() { command.term_width(HELP_COLUMNS) } else { command }
}

/// Lets each flag of `command` and the subcommands accept a value that begins with `-`.
fn allow_hyphen_values(command: Command) -> Command {
    command
        .mut_args(|arg| if takes_next_argument(&arg) { arg.allow_hyphen_values(true) } else { arg })
        .mut_subcommands(allow_hyphen_values)
}

/// Shows the hidden flags of `command` and the subcommands.
fn show_all_flags(command: Command) -> Command {
    command.mut_args(|arg| arg.hide(false)).mut_subcommands(show_all_flags)
}

/// Whether `arg` is a flag that takes the next argument as value.
fn takes_next_argument(arg: &Arg) -> bool {
    let has_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    has_value && !arg.is_positional() && !arg.is_require_equals_set()
}

/// Refuses `--name --message x`: the value of `--name` is missing.
fn refuse_flag_as_value(root: &mut Command, arguments: &[OsString]) -> Result<(), clap::Error> {
    let mut command = &*root;
    let mut arguments = arguments.iter().skip(1).map(OsString::as_os_str);
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            return Ok(());
        }
        if let Some(sub) = argument.to_str().and_then(|name| command.find_subcommand(name)) {
            command = sub;
        } else if let Some(flag) =
            find_flag(command, argument).filter(|flag| takes_next_argument(flag))
        {
            let value = arguments.next();
            let is_flag = |value| {
                value == "--help" || find_flag(command, value).or(find_flag(root, value)).is_some()
            };
            if value.is_some_and(is_flag) {
                let mut error = clap::Error::new(ErrorKind::InvalidValue);
                error.insert(ContextKind::InvalidArg, ContextValue::String(usage_of(flag)));
                error.insert(ContextKind::InvalidValue, ContextValue::String(String::new()));
                return Err(error.format(root));
            }
        }
    }
    Ok(())
}

/// Flag and value, as in the help: `--name <TEXT>`.
fn usage_of(flag: &Arg) -> String {
    let value = flag.get_value_names().and_then(<[_]>::first);
    let value = value.map_or_else(|| flag.get_id().as_str().to_uppercase(), ToString::to_string);
    format!("--{} <{value}>", flag.get_long().unwrap_or_default())
}

/// The flag named by `argument`, without `=VALUE`.
fn find_flag<'c>(command: &'c Command, argument: &OsStr) -> Option<&'c Arg> {
    let name = argument.to_str()?.strip_prefix("--")?;
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// Refuses environment variables of Rouse that are not UTF-8: as unset, other data or settings would apply.
///
/// # Errors
/// The name of the variable and the fix.
pub(crate) fn check_environment() -> Result<(), CliError> {
    match rouse_host::variable_not_utf8(|name| std::env::var_os(name)) {
        Some(message) => Err(CliError::input(message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<String, String> {
        let line: Vec<OsString> = std::iter::once(&"rouse").chain(line).map(Into::into).collect();
        parse(&line).map(|cli| format!("{:?}", cli.command)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_of_every_command_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn value_with_leading_hyphen_is_accepted() {
        for line in [
            &["cron", "add", "--manual", "--message", "- milk\n- eggs"][..],
            &["cron", "add", "--manual", "--message", "--- begin"],
            &["cron", "add", "--manual", "--message", "-1"],
            &["cron", "edit", "x", "--description", "-"],
            &["wake", "--text", "-5 degrees outside"],
            &["secrets", "list"],
        ] {
            assert!(parsed(line).is_ok(), "{line:?}: {:?}", parsed(line));
        }
        let error = parsed(&["runs", "list", "--limit", "-1"]).expect_err("not a number of runs");
        assert!(error.contains("invalid value '-1'"), "{error}");
    }

    #[test]
    fn flag_without_value_does_not_take_next_flag() {
        for line in [
            &["cron", "add", "--manual", "--name", "--message", "x"][..],
            &["cron", "add", "--name", "--manual", "--message", "x"],
            &["cron", "add", "--name", "--json", "--manual", "--message", "x"],
            &["cron", "add", "--name", "--help"],
        ] {
            let error = parsed(line).expect_err("no name");
            assert!(error.contains("a value is required for '--name <TEXT>'"), "{error}");
        }
        assert!(parsed(&["cron", "add", "--manual", "--name=--message", "--message", "x"]).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn argument_not_utf8_is_named_by_position() {
        use std::os::unix::ffi::OsStringExt as _;

        use super::usage_error::utf8_error;

        let name = OsString::from_vec(b"caf\xe9".to_vec());
        let line = ["rouse".into(), "wake".into(), name];
        let error = utf8_error(&line).expect("refused");
        assert!(error.starts_with("Argument 2 is not UTF-8 text: `caf\u{fffd}`."), "{error}");
        assert!(parse(&line).is_err());
    }

    #[test]
    fn computer_stands_before_the_command_only() {
        let computer = |line: &[&str]| {
            let line: Vec<OsString> =
                std::iter::once(&"rouse").chain(line).map(Into::into).collect();
            parse(&line).map(|cli| cli.on).map_err(|error| error.kind())
        };
        let late = ["cron", "add", "--after", "x", "--on", "failure", "--message", "y"];
        assert_eq!(computer(&late), Ok(None));
        let both = [&["--on", "box"], &late[..]].concat();
        assert_eq!(computer(&both), Ok(Some("box".to_owned())));
        assert_eq!(computer(&["runs", "--on", "box"]), Err(ErrorKind::UnknownArgument));
        assert_eq!(computer(&["--on", "--json", "runs"]), Err(ErrorKind::InvalidValue));
    }

    #[test]
    fn aliases_parse_as_their_commands() {
        for (alias, command) in [
            (&["jobs"][..], &["cron"][..]),
            (&["jobs", "list", "--all"], &["cron", "list", "--all"]),
            (&["cron", "ls"], &["cron", "list"]),
            (&["cron", "delete", "x"], &["cron", "rm", "x"]),
            (&["cron", "remove", "x"], &["cron", "rm", "x"]),
            (
                &["cron", "new", "--manual", "--message", "x"],
                &["cron", "add", "--manual", "--message", "x"],
            ),
            (
                &["cron", "create", "--manual", "--message", "x"],
                &["cron", "add", "--manual", "--message", "x"],
            ),
        ] {
            assert!(parsed(command).is_ok(), "{command:?}");
            assert_eq!(parsed(alias), parsed(command), "{alias:?}");
        }
        assert_eq!(parsed(&["stop"]).as_deref(), Ok("Stop"));
        let help = Cli::command().render_long_help().to_string();
        assert!(!help.contains("  stop") && !help.contains("  jobs"), "{help}");
    }
}
