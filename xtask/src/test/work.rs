//! How each step of `cargo xtask test` is done.
//!
//! Owns the command lines. Refuses more than one choice of packages: every cargo call names the whole workspace, because
//! another choice means other features and compiles the same libraries a second time. For the same reason built
//! programs are started from the target directory instead of through `cargo run`.

use std::process::Command;

use super::counts::{Counts, Reporter};
use super::ledger::Verdict;
use super::step::Step;
use crate::failure::Failure;
use crate::progress::Done;
use crate::system::{self, Consent, Need};
use crate::{house, process, types, ui};

/// Does one step. What stops it is printed here and counts as one failure.
pub(crate) fn perform(step: Step, consent: Consent) -> Verdict {
    let done = match step {
        Step::Packages => packages(consent).map(|_| alone(true)),
        Step::Fmt => judge(process::cargo(["fmt", "--all", "--check"])),
        Step::UiInstall => ui::install().map(|_| alone(true)),
        Step::UiBuild => ui::build().map(|_| alone(true)),
        Step::UiLint => judge(process::npm(["run", "lint"])),
        Step::UiTypes => judge(process::npm(["run", "typecheck"])),
        Step::UiTests => count(Reporter::Vitest, process::npm(["test"])),
        Step::Clippy => clippy(),
        Step::Build => judge(process::cargo(["build", "--workspace", "--all-targets"])),
        Step::Types => types::check().map(|()| alone(true)),
        Step::Rust => rust(),
        Step::DocTests => count(
            Reporter::CargoTest,
            process::cargo(["test", "--workspace", "--doc", "--no-fail-fast"]),
        ),
        Step::Docs => docs(),
        Step::E2e => e2e(),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("      {failure}");
        alone(false)
    })
}

fn packages(consent: Consent) -> Result<Done, Failure> {
    components()?;
    let needs: Vec<Need> = Need::APP.iter().chain(Need::TESTS).copied().collect();
    let done = system::ensure(&needs, consent)?;
    system::check_node()?;
    Ok(done)
}

/// A minimal Rust has neither formatter nor linter; rustup can add them.
fn components() -> Result<(), Failure> {
    let has = |tool| process::answer("cargo", &[tool, "--version"]).is_some();
    if has("fmt") && has("clippy") {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["component", "add", "rustfmt", "clippy"]);
    process::run(add)
}

/// With nextest each test is a process of its own, without it a thread; those that need the screen for themselves take
/// turns either way.
fn rust() -> Result<Verdict, Failure> {
    let with_nextest = process::answer("cargo", &["nextest", "--version"]).is_some();
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
    name_programs(&mut tests);
    count(reporter, tests)
}

/// And that the lock file of `fuzz` is up to date: it is a workspace of its own, which nothing here builds.
fn clippy() -> Result<Verdict, Failure> {
    process::run(process::cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    fuzz_lock()?;
    Ok(alone(true))
}

fn fuzz_lock() -> Result<(), Failure> {
    let manifest = "fuzz/Cargo.toml";
    // Reads what this system would build, and builds nothing; `metadata` would fetch the packages of every system.
    let tree = ["tree", "--locked", "--manifest-path", manifest, "--depth", "0"];
    process::run(process::cargo(tree)).map_err(|failure| {
        Failure::new(format!(
            "{failure}\n      if fuzz/Cargo.lock is out of date: cargo update --workspace --manifest-path {manifest}"
        ))
    })
}

fn docs() -> Result<Verdict, Failure> {
    let mut docs = process::cargo(["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "--deny warnings");
    judge(docs)
}

fn e2e() -> Result<Verdict, Failure> {
    let Some(browser) = system::browser() else {
        return if cfg!(target_os = "linux") {
            Err(Failure::new("no Chromium or Chrome was found"))
        } else {
            Ok(Verdict::NotHere("no Chromium or Chrome was found on this system"))
        };
    };
    let mut tests = process::npm(["run", "e2e"]);
    tests.env("ROUSE_CHROMIUM", browser);
    name_programs(&mut tests);
    count(Reporter::Playwright, tests)
}

/// Tests that start real programs take exactly these.
fn name_programs(tests: &mut Command) {
    tests.env("ROUSE_BIN", house::program("rouse"));
    tests.env("ROUSE_DESKTOP_BIN", house::program("rouse-desktop"));
}

/// A check that counts as one.
fn judge(command: Command) -> Result<Verdict, Failure> {
    process::run(command)?;
    Ok(alone(true))
}

/// A program that counts its own checks.
fn count(reporter: Reporter, command: Command) -> Result<Verdict, Failure> {
    let mut counts = Counts::default();
    let succeeded = process::watch(command, |line| counts += reporter.read(line))?;
    Ok(Verdict::Counted(counts.judged(succeeded)))
}

fn alone(succeeded: bool) -> Verdict {
    Verdict::Counted(Counts::one(succeeded))
}
