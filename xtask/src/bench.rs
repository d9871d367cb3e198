//! `cargo xtask bench`: the benchmarks of Rouse.
//!
//! Owns the optimised builds of the measured programs. The benchmark program in the `tests` crate defines the
//! measurements and their limits. With `--peers`, other schedulers are measured too.

use std::process::ExitCode;

use crate::error::ChoreError;
use crate::{peers, process};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    if let Some((option, rest)) = arguments.split_first()
        && option == "--peers"
    {
        return crate::refuse_arguments(rest).and_then(|()| peers::run());
    }
    let arguments = crate::after_dashes(arguments)?;
    process::run(process::cargo([
        "build",
        "--release",
        "--package",
        "rouse-cli",
        "--package",
        "rouse-desktop",
        "--package",
        "rouse-testkit",
    ]))?;
    let mut bench =
        process::cargo(["bench", "--package", "rouse-tests", "--bench", "promises", "--"]);
    bench.args(arguments);
    process::run(bench)?;
    Ok(ExitCode::SUCCESS)
}
