//! `cargo xtask`: set-up and chores, the same on Linux, macOS and Windows.
//!
//! Owns the two commands of the README (`run`, `test`) and the chores around them. Refuses to know what Rouse does: it
//! installs, builds, starts and counts, and every rule about the product lives in a test that it merely runs. One file
//! a chore, so that a new chore touches this file in two places and no other chore at all. One could get it wrong by
//! giving it dependencies: it would then be the slowest part of a first start.
#![expect(clippy::print_stdout, reason = "a command line tool speaks on standard output")]

mod bench;
mod bundle;
mod failure;
mod freshness;
mod house;
mod icons;
mod peers;
mod process;
mod progress;
mod proofs;
mod run;
mod system;
mod test;
mod types;
mod ui;

use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "\
cargo xtask <chore>

  run [--yes] [-- <arguments for Rouse>]
            install what is missing, build, and start Rouse (without a display: `rouse serve`)
  test [--list] [--only <step>]... [--yes]
            run every check; the last line reads `N passed, N failed`
  bench [--peers] [-- <arguments>]
            measure, on an optimised build (about nine minutes); arguments choose parts: next, year_off, plan,
            turnover, crowd, lateness, agent_turn, first_token, parallel_runs, large_write, load, command,
            burst, memory; with --peers, beside other schedulers (about twelve minutes)
  torture [<proof>]... [--count N] [--seed S] [--from N]
            simulation, power cuts, disk errors and kills, for hours instead of seconds; kills, agents
            and reminders can begin at a call (--from)
  fuzz [--for 10m] [--seed S]
            noise at every door where text comes in
  soak [--for 10m]
            ten jobs a second; memory, open files and the log must stay flat
  bundle [-- <arguments for tauri build>]
            make the installers of this system
  types     write the gateway's types as TypeScript into ui/src/platform/gen
  icons     draw icons/*.png, .ico and .icns from icons/src/*.svg

  --yes     install missing system packages without asking";

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode, Failure> {
    let Some((chore, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    if asks_for_help(arguments) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    match chore.as_str() {
        "run" => run::run(&run::Options::parse(rest)?),
        "test" => test::run(&test::Options::parse(rest)?),
        "bench" => bench::run(rest),
        "torture" => proofs::torture(rest),
        "fuzz" => proofs::fuzz(rest),
        "soak" => proofs::soak(rest),
        "bundle" => bundle::run(after_dashes(rest)?),
        "types" => none(rest).and_then(|()| types::run()),
        "icons" => none(rest).and_then(|()| icons::run()),
        other => Err(Failure::new(format!("there is no chore `{other}`\n\n{USAGE}"))),
    }
}

/// True for `help`, and for a wish for help anywhere before `--`: whoever asks must not set anything off.
fn asks_for_help(arguments: &[String]) -> bool {
    let mut ours = arguments.iter().take_while(|argument| *argument != "--");
    ours.any(|argument| argument == "--help" || argument == "-h")
        || arguments.first().is_some_and(|chore| chore == "help")
}

/// For chores that take no arguments.
fn none(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(other) => Err(Failure::new(format!("unknown argument `{other}`"))),
    }
}

/// What follows `--`; anything before it is an argument that nobody here understands.
fn after_dashes(arguments: &[String]) -> Result<&[String], Failure> {
    match arguments.split_first() {
        None => Ok(&[]),
        Some((dashes, rest)) if dashes == "--" => Ok(rest),
        Some((other, _)) => Err(Failure::new(format!(
            "unknown argument `{other}`; arguments to pass on come after `--`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn asking_for_help_sets_nothing_off() {
        for wish in [&["help"][..], &["--help"], &["types", "--help"], &["run", "--yes", "-h"]] {
            assert!(asks_for_help(&words(wish)), "{wish:?}");
        }
        for deed in [&["run"][..], &["run", "--", "--help"], &["test", "--only", "fmt"]] {
            assert!(!asks_for_help(&words(deed)), "{deed:?}");
        }
    }

    #[test]
    fn an_argument_that_nobody_understands_is_refused() {
        assert!(none(&words(&["--no-such-argument"])).is_err());
        assert!(none(&[]).is_ok());
        assert!(after_dashes(&words(&["-v", "--"])).is_err());
    }

    #[test]
    fn arguments_to_pass_on_follow_the_dashes() {
        assert_eq!(after_dashes(&words(&["--", "-v"])).expect("understood"), ["-v"]);
        assert!(after_dashes(&[]).expect("understood").is_empty());
    }
}
