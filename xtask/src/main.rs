//! `cargo xtask`: set-up and chores on Linux, macOS and Windows.
//!
//! Owns the README's commands `run` and `test` and all other chores, one file each. Never contains product rules:
//! those live in tests that the chores run. Pitfall: adding dependencies, which slow down a first start.
#![expect(clippy::print_stdout, reason = "a command line tool speaks on standard output")]

mod bench;
mod bundle;
mod error;
mod build_stamp;
mod paths;
mod icons;
mod python;
mod peers;
mod mcp_peers;
mod process;
mod progress;
mod proofs;
mod run;
mod script_engine;
mod sha256;
mod system;
mod test;
mod types;
mod ui;

use std::process::ExitCode;

use error::ChoreError;

const USAGE: &str = "\
cargo xtask <chore>

  run [--yes] [-- <arguments for Rouse>]
            install missing packages, build, and start Rouse (without a display: `rouse serve`)
  test [--list] [--only <step>]... [--yes]
            run every check; the last line reads `N passed, N failed`
  bench [--peers] [-- <parts>]
            measure an optimised build (about nine minutes); parts: next, downtime, replan,
            claim_finish, mass_claim, lateness, agent_turn, first_token, parallel_runs, large_write,
            server_calls, server_memory, server_tokens, wasm_calls, wasm_memory, load, command,
            burst, memory, outbox;
            --peers compares with other schedulers (twelve minutes)
  torture [<proof>]... [--count N] [--seed S] [--from N]
            run simulation, power cuts, disk errors and kills for hours instead of seconds; kills,
            agents and reminders can start at a given call (--from)
  fuzz [--for 10m] [--seed S]
            fuzz every parser of input text
  soak [--for 10m]
            run ten jobs a second; memory, open files and the log must stay flat
  bundle [-- <arguments for tauri build>]
            build the installers of this system
  types     write the gateway's TypeScript types to ui/src/platform/gen
  script-engine [--check]
            build the component that runs JavaScript tools, and its SHA-256 file; --check only
            compares both
  icons     draw icons/*.png, .ico and .icns from icons/src/*.svg

  --yes     install missing system packages without asking";

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nxtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    let Some((chore, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    if is_help_request(arguments) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    match chore.as_str() {
        "run" => run::run(&run::RunOptions::parse(rest)?),
        "test" => test::run(&test::TestOptions::parse(rest)?),
        "bench" => bench::run(rest),
        "torture" => proofs::torture(rest),
        "fuzz" => proofs::fuzz(rest),
        "soak" => proofs::soak(rest),
        "bundle" => bundle::run(after_dashes(rest)?),
        "types" => refuse_arguments(rest).and_then(|()| types::run()),
        "script-engine" => script_engine::run(rest),
        "icons" => refuse_arguments(rest).and_then(|()| icons::run()),
        other => Err(ChoreError::new(format!("unknown chore `{other}`\n\n{USAGE}"))),
    }
}

/// Whether the arguments ask for help, anywhere before `--`. Such a request runs no chore.
fn is_help_request(arguments: &[String]) -> bool {
    let mut before_dashes = arguments.iter().take_while(|argument| *argument != "--");
    before_dashes.any(|argument| argument == "--help" || argument == "-h")
        || arguments.first().is_some_and(|chore| chore == "help")
}

/// Refuses arguments of a chore without arguments.
fn refuse_arguments(arguments: &[String]) -> Result<(), ChoreError> {
    match arguments.first() {
        None => Ok(()),
        Some(other) => Err(ChoreError::new(format!("unknown argument `{other}`"))),
    }
}

/// The arguments after `--`; refuses arguments before.
fn after_dashes(arguments: &[String]) -> Result<&[String], ChoreError> {
    match arguments.split_first() {
        None => Ok(&[]),
        Some((dashes, rest)) if dashes == "--" => Ok(rest),
        Some((other, _)) => Err(ChoreError::new(format!(
            "unknown argument `{other}`; put forwarded arguments after `--`"
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
    fn help_request_runs_no_chore() {
        for arguments in [&["help"][..], &["--help"], &["types", "--help"], &["run", "--yes", "-h"]]
        {
            assert!(is_help_request(&words(arguments)), "{arguments:?}");
        }
        for arguments in [&["run"][..], &["run", "--", "--help"], &["test", "--only", "fmt"]] {
            assert!(!is_help_request(&words(arguments)), "{arguments:?}");
        }
    }

    #[test]
    fn unknown_argument_is_refused() {
        assert!(refuse_arguments(&words(&["--no-such-argument"])).is_err());
        assert!(refuse_arguments(&[]).is_ok());
        assert!(after_dashes(&words(&["-v", "--"])).is_err());
    }

    #[test]
    fn forwarded_arguments_follow_the_dashes() {
        assert_eq!(after_dashes(&words(&["--", "-v"])).expect("valid"), ["-v"]);
        assert!(after_dashes(&[]).expect("valid").is_empty());
    }
}
