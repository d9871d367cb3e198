//! The command line: arguments and environment as the parser gets them.
//!
//! Owns what holds for every command: a flag takes a value that begins with `-`, and text that is not UTF-8 is refused
//! with its place. Never reads what a flag means. Pitfall: a flag without its value must not take the next flag for it,
//! so a value that is the name of a flag of the same command is refused unless it is written with `=`.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory as _, FromArgMatches as _};

use crate::exit::Failure;
use crate::{Cli, output};

/// Columns of a help text when the terminal does not know its width.
const HELP_COLUMNS: usize = 100;

/// Parses the arguments of this process.
///
/// # Errors
/// The parser's complaint, or the help that was asked for.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command();
    refuse_flag_as_value(&mut command, arguments)?;
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The whole command, as parser, help and completions see it.
pub(crate) fn command() -> Command {
    let command = taking_hyphens(Cli::command());
    if output::is_width_unknown() { command.term_width(HELP_COLUMNS) } else { command }
}

/// Lets each flag of `command` and its subcommands take a value that begins with `-`.
fn taking_hyphens(command: Command) -> Command {
    command
        .mut_args(|arg| if takes_next(&arg) { arg.allow_hyphen_values(true) } else { arg })
        .mut_subcommands(taking_hyphens)
}

/// Whether `arg` is a flag whose value is the next argument.
fn takes_next(arg: &Arg) -> bool {
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
        } else if let Some(flag) = flag_of(command, argument).filter(|flag| takes_next(flag)) {
            let value = arguments.next();
            let is_flag = |value| {
                value == "--help" || flag_of(command, value).or(flag_of(root, value)).is_some()
            };
            if value.is_some_and(is_flag) {
                let mut error = clap::Error::new(ErrorKind::InvalidValue);
                let named = ContextValue::String(named(flag));
                error.insert(ContextKind::InvalidArg, named);
                error.insert(ContextKind::InvalidValue, ContextValue::String(String::new()));
                return Err(error.format(root));
            }
        }
    }
    Ok(())
}

/// The flag with its value as help shows it: `--name <TEXT>`.
fn named(flag: &Arg) -> String {
    let value = flag.get_value_names().and_then(<[_]>::first);
    let value = value.map_or_else(|| flag.get_id().as_str().to_uppercase(), ToString::to_string);
    format!("--{} <{value}>", flag.get_long().unwrap_or_default())
}

/// The flag that `argument` is, without a value of its own.
fn flag_of<'c>(command: &'c Command, argument: &OsStr) -> Option<&'c Arg> {
    let name = argument.to_str()?.strip_prefix("--")?;
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// The complaint about the first argument that is not UTF-8.
pub(crate) fn argument_not_utf8(arguments: &[OsString]) -> Option<String> {
    let (place, argument) =
        arguments.iter().enumerate().find(|(_, argument)| argument.to_str().is_none())?;
    Some(format!(
        "Argument {place} is not UTF-8 text: `{}`. Rouse reads text as UTF-8: check the encoding of your terminal or script.",
        argument.to_string_lossy()
    ))
}

/// Refuses a variable that Rouse reads and cannot: taking it for unset would use other data or other settings.
///
/// # Errors
/// The name of the variable and what to do.
pub(crate) fn check_environment() -> Result<(), Failure> {
    match rouse_host::variable_not_utf8(|name| std::env::var_os(name)) {
        Some(complaint) => Err(Failure::input(complaint)),
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
    fn value_that_begins_with_hyphen_is_taken() {
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
        let said = parsed(&["runs", "list", "--limit", "-1"]).expect_err("not a number of runs");
        assert!(said.contains("invalid value '-1'"), "{said}");
    }

    #[test]
    fn flag_without_value_does_not_take_the_next_flag() {
        for line in [
            &["cron", "add", "--manual", "--name", "--message", "x"][..],
            &["cron", "add", "--name", "--manual", "--message", "x"],
            &["cron", "add", "--name", "--json", "--manual", "--message", "x"],
            &["cron", "add", "--name", "--help"],
        ] {
            let said = parsed(line).expect_err("no name");
            assert!(said.contains("a value is required for '--name <TEXT>'"), "{said}");
        }
        assert!(parsed(&["cron", "add", "--manual", "--name=--message", "--message", "x"]).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn argument_not_utf8_is_named_by_place() {
        use std::os::unix::ffi::OsStringExt as _;

        let name = OsString::from_vec(b"caf\xe9".to_vec());
        let line = ["rouse".into(), "wake".into(), name];
        let said = argument_not_utf8(&line).expect("refused");
        assert!(said.starts_with("Argument 2 is not UTF-8 text: `caf\u{fffd}`."), "{said}");
        assert!(parse(&line).is_err());
    }
}
