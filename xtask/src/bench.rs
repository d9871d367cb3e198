//! `cargo xtask bench`: the figures that Rouse promises to hold.
//!
//! Owns only that everything measured is an optimised build. What is measured, and against which figure, stands in the
//! benchmark program of the `tests` crate.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    process::run(process::cargo([
        "build",
        "--release",
        "--package",
        "rouse-cli",
        "--package",
        "rouse-desktop",
    ]))?;
    let mut bench =
        process::cargo(["bench", "--package", "rouse-tests", "--bench", "promises", "--"]);
    bench.args(arguments);
    process::run(bench)?;
    Ok(ExitCode::SUCCESS)
}
