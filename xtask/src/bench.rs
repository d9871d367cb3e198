//! `cargo xtask bench`: the figures that Rouse promises to hold.
//!
//! Owns only that everything measured is an optimised build. What is measured, and against which figure, stands in the
//! benchmark program of the `tests` crate; with `--peers`, other schedulers are measured beside it instead.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::{peers, process};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    if let Some((wish, rest)) = arguments.split_first()
        && wish == "--peers"
    {
        return crate::none(rest).and_then(|()| peers::run());
    }
    let arguments = crate::after_dashes(arguments)?;
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
