//! `cargo xtask torture`, `fuzz` and `soak`: long runs of test proofs.
//!
//! Owns the long counts, and the environment variables that carry them. Each proof is a test that `cargo xtask test`
//! runs in its short form. Pitfall: separate code for the long form would rot.

use std::process::ExitCode;
use std::time::Duration;

use crate::error::ChoreError;
use crate::progress::Stopwatch;
use crate::{paths, process};

/// Name, package, test program, test, and the long count.
type Proof = (&'static str, &'static str, &'static str, &'static str, u64);

/// All cases.
const ALL: u64 = 1_000_000;

const PROOFS: &[Proof] = &[
    ("worlds", "rouse-scheduler", "proofs", "million_job_days", 2_500),
    ("cuts", "rouse-scheduler", "proofs", "power_cut_keeps", 10_000),
    ("errors", "rouse-scheduler", "proofs", "failed_disk_call", 1),
    ("lives", "rouse-scheduler", "proofs", "power_cuts_lose_no_slot", 1_000),
    ("kills", "rouse-tests", "programs", "kill_before_any_file_change", ALL),
    ("agents", "rouse-tests", "programs", "kills::agent::", ALL),
    ("reminders", "rouse-tests", "programs", "kills::reminder::", ALL),
    ("calls", "rouse-tests", "whole", "fingerprint::", 100_000),
    ("load", "rouse-tests", "programs", "random_kills_under_load", 1_000),
];
const FUZZ_PROOF: Proof = ("noise", "rouse-tests", "noise", "", 20_000);
const SOAK: Proof = ("soak", "rouse-tests", "programs", "ten_jobs_a_second", 0);
/// The proofs over all calls of a program, which can start at a given call.
const RESUMABLE_PROOFS: [&str; 3] = ["kills", "agents", "reminders"];
/// Runs per second of a soak.
const RUNS_A_SECOND: u64 = 10;

/// The options of a proof chore.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProofOptions {
    names: Vec<String>,
    count: Option<u64>,
    seed: Option<u64>,
    from: Option<u64>,
    duration: Option<Duration>,
}

/// `cargo xtask torture [<proof>]… [--count N] [--seed S] [--from N]`: `--from` starts a resumable proof at a given
/// call.
pub(crate) fn torture(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    let options = ProofOptions::parse_torture(arguments)?;
    let is_selected = |proof: &&Proof| {
        options.names.is_empty() || options.names.iter().any(|name| name == proof.0)
    };
    for proof in PROOFS.iter().filter(is_selected) {
        let from = options.from.unwrap_or(1);
        run(proof, options.count.unwrap_or(proof.4), options.seed.unwrap_or(1), from)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The fuzz targets in `fuzz/`, which are also the folders of the corpus.
const FUZZ_TARGETS: [&str; 7] =
    ["jobs", "patches", "cron", "durations", "imports", "settings", "frames"];

/// `cargo xtask fuzz [--for 10m] [--seed S]`: uses cargo-fuzz if installed, with the time divided between targets;
/// else repeats the test harness with new seeds.
pub(crate) fn fuzz(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    let options = ProofOptions::parse_fuzz(arguments)?;
    let duration = options.duration.unwrap_or(Duration::from_secs(600));
    if has_cargo_fuzz() {
        println!("Using cargo-fuzz (coverage-guided). Findings are written to fuzz/artifacts.");
        return fuzz_by_coverage(duration, options.seed.unwrap_or(1));
    }
    println!("Using the test harness; cargo-fuzz is not installed (cargo install cargo-fuzz).");
    let watch = Stopwatch::start();
    let mut seed = options.seed.unwrap_or(1);
    while watch.elapsed() < duration {
        run(&FUZZ_PROOF, FUZZ_PROOF.4, seed, 1)?;
        seed += 1;
    }
    Ok(ExitCode::SUCCESS)
}

fn has_cargo_fuzz() -> bool {
    process::cargo(["fuzz", "--version"]).output().is_ok_and(|answer| answer.status.success())
}

/// Reads the committed corpus and writes new inputs outside the repository. Runs without a sanitizer, which needs a
/// nightly compiler; no target covers unsafe code.
fn fuzz_by_coverage(duration: Duration, seed: u64) -> Result<ExitCode, ChoreError> {
    let seconds = (duration.as_secs() / FUZZ_TARGETS.len() as u64).max(1);
    for target in FUZZ_TARGETS {
        let mut command = process::cargo(["fuzz", "run", "--sanitizer", "none"]);
        command.args(["--target-dir", "target/fuzz", target]);
        let corpus = paths::root().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)
            .map_err(|error| ChoreError::new(format!("{}: {error}", corpus.display())))?;
        command.arg(corpus).arg(paths::root().join("tests/fixtures/noise").join(target));
        command.args(["--", &format!("-max_total_time={seconds}"), &format!("-seed={seed}")]);
        process::run(command)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `cargo xtask soak [--for 10m]`.
pub(crate) fn soak(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    let options = ProofOptions::parse_soak(arguments)?;
    let seconds = options.duration.unwrap_or(Duration::from_secs(600)).as_secs();
    run(&SOAK, seconds * RUNS_A_SECOND, 1, 1)?;
    Ok(ExitCode::SUCCESS)
}

fn run(proof: &Proof, count: u64, seed: u64, from: u64) -> Result<(), ChoreError> {
    let (_, _, program, test, _) = proof;
    // Builds the whole workspace; another package selection changes features and recompiles everything.
    process::run(process::cargo(["build", "--workspace", "--bins", "--tests"]))?;
    let mut command =
        process::cargo(["test", "--workspace", "--test", program, "--", test, "--nocapture"]);
    command.env("ROUSE_BIN", paths::program("rouse")).envs(proof_variables(count, seed, from));
    println!("{}", reproduction(proof, count, seed, from));
    process::run(command)
}

/// The environment variables with count, seed and start.
fn proof_variables(count: u64, seed: u64, from: u64) -> [(&'static str, String); 3] {
    [("ROUSE_PROOF_COUNT", count), ("ROUSE_SEED", seed), ("ROUSE_PROOF_FROM", from)]
        .map(|(name, number)| (name, number.to_string()))
}

/// The line that reproduces a failure: the test and its variables.
fn reproduction(
    (_, package, program, test, _): &Proof,
    count: u64,
    seed: u64,
    from: u64,
) -> String {
    let variables =
        proof_variables(count, seed, from).map(|(name, value)| format!("{name}={value}"));
    format!("{package} {program} {test} {}", variables.join(" "))
}

impl ProofOptions {
    fn parse_torture(arguments: &[String]) -> Result<Self, ChoreError> {
        let options = Self::parse(arguments)?.accept_only(&["--count", "--seed", "--from"])?;
        let known = |name: &String| PROOFS.iter().any(|proof| proof.0 == name.as_str());
        if let Some(unknown) = options.names.iter().find(|name| !known(name)) {
            let names: Vec<_> = PROOFS.iter().map(|proof| proof.0).collect();
            let names = names.join(", ");
            return Err(ChoreError::new(format!(
                "unknown proof `{unknown}`; the proofs are {names}"
            )));
        }
        options.check_from()
    }

    fn parse_fuzz(arguments: &[String]) -> Result<Self, ChoreError> {
        Self::parse(arguments)?.without_names()?.accept_only(&["--for", "--seed"])
    }

    fn parse_soak(arguments: &[String]) -> Result<Self, ChoreError> {
        Self::parse(arguments)?.without_names()?.accept_only(&["--for"])
    }

    fn parse(arguments: &[String]) -> Result<Self, ChoreError> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value =
                || rest.next().ok_or_else(|| ChoreError::new(format!("{argument} needs a value")));
            match argument.as_str() {
                "--count" => options.count = Some(number(value()?)?),
                "--seed" => options.seed = Some(number(value()?)?),
                "--from" => options.from = Some(number(value()?)?),
                "--for" => options.duration = Some(parse_duration(value()?)?),
                name if !name.starts_with('-') => options.names.push(name.to_owned()),
                other => return Err(ChoreError::new(format!("unknown argument `{other}`"))),
            }
        }
        Ok(options)
    }

    /// Refuses options without effect.
    fn accept_only(self, known: &[&str]) -> Result<Self, ChoreError> {
        let given = [
            ("--count", self.count.is_some()),
            ("--seed", self.seed.is_some()),
            ("--from", self.from.is_some()),
            ("--for", self.duration.is_some()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && !known.contains(name)) {
            None => Ok(self),
            Some((name, _)) => {
                Err(ChoreError::new(format!("{name} has no effect here; use {}", known.join(", "))))
            }
        }
    }

    fn check_from(self) -> Result<Self, ChoreError> {
        let can = |name: &String| RESUMABLE_PROOFS.contains(&name.as_str());
        if self.from.is_none() || (!self.names.is_empty() && self.names.iter().all(can)) {
            return Ok(self);
        }
        let names = RESUMABLE_PROOFS.join(", ");
        Err(ChoreError::new(format!(
            "--from works only for {names}; name at least one of these proofs"
        )))
    }

    fn without_names(self) -> Result<Self, ChoreError> {
        match self.names.first() {
            None => Ok(self),
            Some(name) => Err(ChoreError::new(format!("unknown argument `{name}`"))),
        }
    }
}

fn number(text: &str) -> Result<u64, ChoreError> {
    text.parse().map_err(|_| ChoreError::new(format!("`{text}` is not a number")))
}

/// `90s`, `10m`, `2h`.
fn parse_duration(text: &str) -> Result<Duration, ChoreError> {
    let (digits, unit) = text.split_at(text.len() - usize::from(text.ends_with(['s', 'm', 'h'])));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => {
            return Err(ChoreError::new(format!(
                "`{text}` is not a duration such as 90s, 10m or 2h"
            )));
        }
    };
    Ok(Duration::from_secs(number(digits)? * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<ProofOptions, ChoreError> {
        ProofOptions::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_parsed() {
        let words = ["cuts", "--count", "5", "--seed", "7", "--for", "2h", "--from", "9"];
        let options = parse(&words).expect("valid");
        let duration = Some(Duration::from_secs(7_200));
        let names = vec!["cuts".to_owned()];
        assert_eq!(
            options,
            ProofOptions { names, count: Some(5), seed: Some(7), from: Some(9), duration }
        );
        for refused in [&["--count"][..], &["--count", "many"], &["--for", "10"], &["--fast"]] {
            assert!(parse(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn options_without_effect_are_refused() {
        type Chore = fn(&[String]) -> Result<ProofOptions, ChoreError>;
        let (torture, fuzz, soak): (Chore, Chore, Chore) =
            (ProofOptions::parse_torture, ProofOptions::parse_fuzz, ProofOptions::parse_soak);
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (chore, proof_variables, expected) in [
            (fuzz, &["--from", "3"][..], "--from has no effect here"),
            (fuzz, &["--count", "3"], "use --for, --seed"),
            (soak, &["--from", "3"], "--from has no effect here; use --for"),
            (soak, &["--seed", "3"], "--seed has no effect here"),
            (torture, &["kills", "--for", "1h"], "--for has no effect here"),
            (torture, &["--from", "3"], "--from works only for kills, agents, reminders"),
            (torture, &["kills", "worlds", "--from", "3"], "--from works only for"),
        ] {
            let error = chore(&words(proof_variables)).expect_err("refused").to_string();
            assert!(error.contains(expected), "{proof_variables:?}: {error}");
        }
        for valid in [&["kills", "agents", "--from", "3"][..], &["worlds"], &[]] {
            assert!(torture(&words(valid)).is_ok(), "{valid:?}");
        }
        assert!(RESUMABLE_PROOFS.iter().all(|name| PROOFS.iter().any(|proof| proof.0 == *name)));
    }

    #[test]
    fn reproduction_names_the_start() {
        let line = reproduction(&PROOFS[4], 5, 7, 9);
        assert!(line.ends_with("ROUSE_PROOF_COUNT=5 ROUSE_SEED=7 ROUSE_PROOF_FROM=9"), "{line}");
    }

    #[test]
    fn both_harnesses_have_the_same_targets() {
        for target in FUZZ_TARGETS {
            let program = format!("fuzz/fuzz_targets/{target}.rs");
            for path in [program, format!("tests/fixtures/noise/{target}")] {
                assert!(paths::root().join(&path).exists(), "{path} is missing");
            }
        }
    }

    #[test]
    fn proof_names_are_unique() {
        for (position, proof) in PROOFS.iter().enumerate() {
            assert!(PROOFS[..position].iter().all(|other| other.0 != proof.0), "{}", proof.0);
        }
    }
}
