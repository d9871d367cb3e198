//! `cargo xtask bench`: the figures that Rouse promises to hold.
//!
//! Owns only that everything measured is an optimised build. What is measured, and against which figure, stands in the
//! benchmark program of the `tests` crate.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let mut bench = process::cargo([
        "run",
        "--release",
        "--package",
        "rouse-tests",
        "--bin",
        "rouse-bench",
        "--",
    ]);
    bench.args(arguments);
    process::run(bench)?;
    Ok(ExitCode::SUCCESS)
}
