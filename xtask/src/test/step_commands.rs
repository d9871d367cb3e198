//! The commands of each step of `cargo xtask test`.
//!
//! Owns the command lines. Every cargo call covers the whole workspace, because another package selection changes
//! features and recompiles libraries. For the same reason built programs start from the target directory instead of
//! `cargo run`.

use std::process::Command;

use super::check_counts::{CheckCounts, Reporter};
use super::report::StepVerdict;
use super::step::CheckStep;
use crate::error::ChoreError;
use crate::progress::ChoreOutcome;
use crate::system::{self, Consent, Requirement};
use crate::{mcp_peers, paths, process, types, ui};

/// Runs a step. An error is printed and counts as a failure.
pub(crate) fn perform(step: CheckStep, consent: Consent) -> StepVerdict {
    let verdict = match step {
        CheckStep::Packages => install_packages(consent).map(|_| single_check(true)),
        CheckStep::Fmt => run_check(process::cargo(["fmt", "--all", "--check"])),
        CheckStep::UiInstall => ui::install().map(|_| single_check(true)),
        CheckStep::UiFmt => run_check(process::npm(["run", "format:check"])),
        CheckStep::UiBuild => ui::build().map(|_| single_check(true)),
        CheckStep::UiLint => run_check(process::npm(["run", "lint"])),
        CheckStep::UiTypes => run_check(process::npm(["run", "typecheck"])),
        CheckStep::UiTests => run_counted(Reporter::Vitest, process::npm(["test"])),
        CheckStep::Clippy => clippy(),
        CheckStep::Build => run_check(process::cargo(["build", "--workspace", "--all-targets"])),
        CheckStep::Types => types::check().map(|()| single_check(true)),
        CheckStep::Peers => mcp_peers::install().map(|_| single_check(true)),
        CheckStep::Rust => rust(),
        CheckStep::DocTests => run_counted(
            Reporter::CargoTest,
            process::cargo(["test", "--workspace", "--doc", "--no-fail-fast"]),
        ),
        CheckStep::Docs => docs(),
        CheckStep::E2e => e2e(),
    };
    verdict.unwrap_or_else(|error| {
        eprintln!("      {error}");
        single_check(false)
    })
}

fn install_packages(consent: Consent) -> Result<ChoreOutcome, ChoreError> {
    install_components()?;
    let requirements: Vec<Requirement> =
        Requirement::APP.iter().chain(Requirement::TESTS).copied().collect();
    let outcome = system::ensure(&requirements, consent)?;
    system::check_node()?;
    Ok(outcome)
}

/// Adds rustfmt and clippy to a minimal Rust installation.
fn install_components() -> Result<(), ChoreError> {
    let has = |tool| process::try_output("cargo", &[tool, "--version"]).is_some();
    if has("fmt") && has("clippy") {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["component", "add", "rustfmt", "clippy"]);
    process::run(add)
}

/// Runs the Rust tests with nextest (a process per test) or cargo test (a thread per test). Tests that need the
/// screen take turns.
fn rust() -> Result<StepVerdict, ChoreError> {
    let with_nextest = process::try_output("cargo", &["nextest", "--version"]).is_some();
    let (reporter, mut tests) = if with_nextest {
        (
            Reporter::Nextest,
            process::cargo([
                "nextest",
                "run",
                "--workspace",
                "--no-fail-fast",
                "--no-tests",
                "pass",
            ]),
        )
    } else {
        (
            Reporter::CargoTest,
            process::cargo([
                "test",
                "--workspace",
                "--lib",
                "--bins",
                "--tests",
                "--examples",
                "--no-fail-fast",
            ]),
        )
    };
    set_program_paths(&mut tests);
    run_counted(reporter, tests)
}

/// Runs clippy and checks the lock file of the separate `fuzz` workspace.
fn clippy() -> Result<StepVerdict, ChoreError> {
    process::run(process::cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    fuzz_lock()?;
    Ok(single_check(true))
}

fn fuzz_lock() -> Result<(), ChoreError> {
    let manifest = "fuzz/Cargo.toml";
    // `cargo tree` resolves only this system's packages; `metadata` would fetch those of all systems.
    let tree = ["tree", "--locked", "--manifest-path", manifest, "--depth", "0"];
    process::run(process::cargo(tree)).map_err(|error| {
        ChoreError::new(format!(
            "{error}\n      if fuzz/Cargo.lock is out of date: cargo update --workspace --manifest-path {manifest}"
        ))
    })
}

fn docs() -> Result<StepVerdict, ChoreError> {
    let mut docs = process::cargo(["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "--deny warnings");
    run_check(docs)
}

fn e2e() -> Result<StepVerdict, ChoreError> {
    let Some(browser) = system::browser() else {
        return if cfg!(target_os = "linux") {
            Err(ChoreError::new("no Chromium or Chrome was found"))
        } else {
            Ok(StepVerdict::Unsupported("no Chromium or Chrome was found on this system"))
        };
    };
    let mut tests = process::npm(["run", "e2e"]);
    tests.env("ROUSE_CHROMIUM", browser);
    set_program_paths(&mut tests);
    run_counted(Reporter::Playwright, tests)
}

/// Sets the paths of the built programs.
fn set_program_paths(tests: &mut Command) {
    tests.env("ROUSE_BIN", paths::program("rouse"));
    tests.env("ROUSE_DESKTOP_BIN", paths::program("rouse-desktop"));
    tests.env("ROUSE_PEERS", paths::target().join("mcp-peers"));
}

/// A command that counts as a single check.
fn run_check(command: Command) -> Result<StepVerdict, ChoreError> {
    process::run(command)?;
    Ok(single_check(true))
}

/// A command that reports its own counts.
fn run_counted(reporter: Reporter, command: Command) -> Result<StepVerdict, ChoreError> {
    let mut counts = CheckCounts::default();
    let succeeded = process::watch(command, |line| counts += reporter.parse(line))?;
    Ok(StepVerdict::Counted(counts.corrected(succeeded)))
}

fn single_check(succeeded: bool) -> StepVerdict {
    StepVerdict::Counted(CheckCounts::single(succeeded))
}
