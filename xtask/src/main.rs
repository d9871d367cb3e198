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
mod process;
mod progress;
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
  bench [-- <arguments>]
            measure, on an optimised build
  bundle [-- <arguments for tauri build>]
            make the installers of this system
  types     write the gateway's types as TypeScript into ui/src/platform/gen
  icons     draw icons/*.png, .ico and .icns from icons/src/*.svg

  --yes     install missing system packages without asking";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
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
    match chore.as_str() {
        "run" => run::run(&run::Options::parse(rest)?),
        "test" => test::run(&test::Options::parse(rest)?),
        "bench" => bench::run(after_dashes(rest)?),
        "bundle" => bundle::run(after_dashes(rest)?),
        "types" => types::run(),
        "icons" => icons::run(),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(Failure::new(format!("there is no chore `{other}`\n\n{USAGE}"))),
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
