//! `cargo xtask torture`, `fuzz` and `soak`: the proofs of the tests, for longer.
//!
//! Owns how long is long, and by which variables a proof hears of it. Refuses to know what is proven: each proof is a
//! test that `cargo xtask test` runs in its short form, and fails the same way here. One could get it wrong by giving
//! the long form code of its own: it would rot unseen.

use std::process::ExitCode;
use std::time::Duration;

use crate::failure::Failure;
use crate::progress::Stopwatch;
use crate::{house, process};

/// Name, package, test program, test, and the count of the long form.
type Proof = (&'static str, &'static str, &'static str, &'static str, u64);

/// As many as there are.
const ALL: u64 = 1_000_000;

const PROOFS: &[Proof] = &[
    ("worlds", "rouse-scheduler", "proofs", "a_million_job_days", 2_500),
    ("cuts", "rouse-scheduler", "proofs", "whatever_a_power_cut_leaves", 10_000),
    ("errors", "rouse-scheduler", "proofs", "no_call_that_fails", 1),
    ("lives", "rouse-scheduler", "proofs", "many_lives_and_power_cuts", 1_000),
    ("kills", "rouse-tests", "programs", "a_kill_before_any_change", ALL),
    ("agents", "rouse-tests", "programs", "kills::agent::", ALL),
    ("reminders", "rouse-tests", "programs", "kills::woken::", ALL),
    ("calls", "rouse-tests", "whole", "approved::", 100_000),
    ("load", "rouse-tests", "programs", "kills_at_random_under_load", 1_000),
];
const NOISE: Proof = ("noise", "rouse-tests", "noise", "", 20_000);
const SOAK: Proof = ("soak", "rouse-tests", "programs", "ten_jobs_a_second", 0);
/// The proofs that go through all calls of a program, and so can begin at one of them.
const IN_PARTS: [&str; 3] = ["kills", "agents", "reminders"];
/// Runs that a soak makes in a second.
const RUNS_A_SECOND: u64 = 10;

/// What the person asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    count: Option<u64>,
    seed: Option<u64>,
    from: Option<u64>,
    lasts: Option<Duration>,
}

/// `cargo xtask torture [<proof>]… [--count N] [--seed S] [--from N]`: a proof that goes through all calls of a program
/// can be run in parts, from a call on.
pub(crate) fn torture(arguments: &[String]) -> Result<ExitCode, Failure> {
    let options = Options::of_torture(arguments)?;
    let wanted = |proof: &&Proof| {
        options.names.is_empty() || options.names.iter().any(|name| name == proof.0)
    };
    for proof in PROOFS.iter().filter(wanted) {
        let from = options.from.unwrap_or(1);
        run(proof, options.count.unwrap_or(proof.4), options.seed.unwrap_or(1), from)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The doors, as both harnesses name them: programs of `fuzz/` and folders of the corpus.
const DOORS: [&str; 7] = ["jobs", "patches", "cron", "durations", "imports", "settings", "frames"];

/// `cargo xtask fuzz [--for 10m] [--seed S]`: with cargo-fuzz where it is there, each door for its part of the time; else
/// round after round of the tests, each with another seed.
pub(crate) fn fuzz(arguments: &[String]) -> Result<ExitCode, Failure> {
    let options = Options::of_fuzz(arguments)?;
    let lasts = options.lasts.unwrap_or(Duration::from_secs(600));
    if has_cargo_fuzz() {
        println!("With cargo-fuzz: coverage leads the way. What it finds is in fuzz/artifacts.");
        return fuzz_by_coverage(lasts, options.seed.unwrap_or(1));
    }
    println!("With the tests' own harness: there is no cargo-fuzz (cargo install cargo-fuzz).");
    let watch = Stopwatch::start();
    let mut seed = options.seed.unwrap_or(1);
    while watch.took() < lasts {
        run(&NOISE, NOISE.4, seed, 1)?;
        seed += 1;
    }
    Ok(ExitCode::SUCCESS)
}

fn has_cargo_fuzz() -> bool {
    process::cargo(["fuzz", "--version"]).output().is_ok_and(|answer| answer.status.success())
}

/// The committed corpus is read, and what is learnt beyond it stays out of the repository. Without a sanitizer, which only
/// a nightly compiler has: no door is behind unsafe code of this house.
fn fuzz_by_coverage(lasts: Duration, seed: u64) -> Result<ExitCode, Failure> {
    let seconds = (lasts.as_secs() / DOORS.len() as u64).max(1);
    for door in DOORS {
        let mut command = process::cargo(["fuzz", "run", "--sanitizer", "none"]);
        command.args(["--target-dir", "target/fuzz", door]);
        let learnt = house::root().join("fuzz/corpus").join(door);
        std::fs::create_dir_all(&learnt)
            .map_err(|error| Failure::new(format!("{}: {error}", learnt.display())))?;
        command.arg(learnt).arg(house::root().join("tests/fixtures/noise").join(door));
        command.args(["--", &format!("-max_total_time={seconds}"), &format!("-seed={seed}")]);
        process::run(command)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `cargo xtask soak [--for 10m]`.
pub(crate) fn soak(arguments: &[String]) -> Result<ExitCode, Failure> {
    let options = Options::of_soak(arguments)?;
    let seconds = options.lasts.unwrap_or(Duration::from_secs(600)).as_secs();
    run(&SOAK, seconds * RUNS_A_SECOND, 1, 1)?;
    Ok(ExitCode::SUCCESS)
}

fn run(proof: &Proof, count: u64, seed: u64, from: u64) -> Result<(), Failure> {
    let (_, _, program, test, _) = proof;
    // The whole workspace, because another choice of packages means other features and compiles everything again.
    process::run(process::cargo(["build", "--workspace", "--bins", "--tests"]))?;
    let mut command =
        process::cargo(["test", "--workspace", "--test", program, "--", test, "--nocapture"]);
    command.env("ROUSE_BIN", house::program("rouse")).envs(asked(count, seed, from));
    println!("{}", repeated_by(proof, count, seed, from));
    process::run(command)
}

/// By which variables a proof hears how much is asked of it.
fn asked(count: u64, seed: u64, from: u64) -> [(&'static str, String); 3] {
    [("ROUSE_PROOF_COUNT", count), ("ROUSE_SEED", seed), ("ROUSE_PROOF_FROM", from)]
        .map(|(name, number)| (name, number.to_string()))
}

/// What repeats a failure: the test, and all that it is told.
fn repeated_by((_, package, program, test, _): &Proof, count: u64, seed: u64, from: u64) -> String {
    let told = asked(count, seed, from).map(|(name, value)| format!("{name}={value}"));
    format!("{package} {program} {test} {}", told.join(" "))
}

impl Options {
    fn of_torture(arguments: &[String]) -> Result<Self, Failure> {
        let options = Self::parse(arguments)?.taking(&["--count", "--seed", "--from"])?;
        let known = |name: &String| PROOFS.iter().any(|proof| proof.0 == name.as_str());
        if let Some(unknown) = options.names.iter().find(|name| !known(name)) {
            let names: Vec<_> = PROOFS.iter().map(|proof| proof.0).collect();
            let names = names.join(", ");
            return Err(Failure::new(format!("no proof `{unknown}`; there are {names}")));
        }
        options.beginning_where_it_can()
    }

    fn of_fuzz(arguments: &[String]) -> Result<Self, Failure> {
        Self::parse(arguments)?.without_names()?.taking(&["--for", "--seed"])
    }

    fn of_soak(arguments: &[String]) -> Result<Self, Failure> {
        Self::parse(arguments)?.without_names()?.taking(&["--for"])
    }

    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value =
                || rest.next().ok_or_else(|| Failure::new(format!("{argument} wants a value")));
            match argument.as_str() {
                "--count" => options.count = Some(number(value()?)?),
                "--seed" => options.seed = Some(number(value()?)?),
                "--from" => options.from = Some(number(value()?)?),
                "--for" => options.lasts = Some(duration(value()?)?),
                name if !name.starts_with('-') => options.names.push(name.to_owned()),
                other => return Err(Failure::new(format!("unknown argument `{other}`"))),
            }
        }
        Ok(options)
    }

    /// That nothing was asked for which would have no effect.
    fn taking(self, known: &[&str]) -> Result<Self, Failure> {
        let given = [
            ("--count", self.count.is_some()),
            ("--seed", self.seed.is_some()),
            ("--from", self.from.is_some()),
            ("--for", self.lasts.is_some()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && !known.contains(name)) {
            None => Ok(self),
            Some((name, _)) => Err(Failure::new(format!(
                "{name} has no effect here; this takes {}",
                known.join(", ")
            ))),
        }
    }

    fn beginning_where_it_can(self) -> Result<Self, Failure> {
        let can = |name: &String| IN_PARTS.contains(&name.as_str());
        if self.from.is_none() || (!self.names.is_empty() && self.names.iter().all(can)) {
            return Ok(self);
        }
        let names = IN_PARTS.join(", ");
        Err(Failure::new(format!("--from has an effect on {names} alone; name one of them")))
    }

    fn without_names(self) -> Result<Self, Failure> {
        match self.names.first() {
            None => Ok(self),
            Some(name) => Err(Failure::new(format!("unknown argument `{name}`"))),
        }
    }
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::new(format!("`{text}` is not a number")))
}

/// `90s`, `10m`, `2h`.
fn duration(text: &str) -> Result<Duration, Failure> {
    let (digits, unit) = text.split_at(text.len() - usize::from(text.ends_with(['s', 'm', 'h'])));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => {
            return Err(Failure::new(format!("`{text}` is not a duration such as 90s, 10m or 2h")));
        }
    };
    Ok(Duration::from_secs(number(digits)? * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, Failure> {
        Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let words = ["cuts", "--count", "5", "--seed", "7", "--for", "2h", "--from", "9"];
        let options = parse(&words).expect("understood");
        let lasts = Some(Duration::from_secs(7_200));
        let names = vec!["cuts".to_owned()];
        assert_eq!(options, Options { names, count: Some(5), seed: Some(7), from: Some(9), lasts });
        for refused in [&["--count"][..], &["--count", "many"], &["--for", "10"], &["--fast"]] {
            assert!(parse(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn what_would_have_no_effect_is_refused_before_anything_is_built() {
        type Chore = fn(&[String]) -> Result<Options, Failure>;
        let (torture, fuzz, soak): (Chore, Chore, Chore) =
            (Options::of_torture, Options::of_fuzz, Options::of_soak);
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (chore, asked, said) in [
            (fuzz, &["--from", "3"][..], "--from has no effect here"),
            (fuzz, &["--count", "3"], "this takes --for, --seed"),
            (soak, &["--from", "3"], "--from has no effect here; this takes --for"),
            (soak, &["--seed", "3"], "--seed has no effect here"),
            (torture, &["kills", "--for", "1h"], "--for has no effect here"),
            (torture, &["--from", "3"], "--from has an effect on kills, agents, reminders alone"),
            (torture, &["kills", "worlds", "--from", "3"], "--from has an effect on"),
        ] {
            let why = chore(&words(asked)).expect_err("refused").to_string();
            assert!(why.contains(said), "{asked:?}: {why}");
        }
        for fine in [&["kills", "agents", "--from", "3"][..], &["worlds"], &[]] {
            assert!(torture(&words(fine)).is_ok(), "{fine:?}");
        }
        assert!(IN_PARTS.iter().all(|name| PROOFS.iter().any(|proof| proof.0 == *name)));
    }

    #[test]
    fn a_failure_is_repeated_from_where_it_began() {
        let line = repeated_by(&PROOFS[4], 5, 7, 9);
        assert!(line.ends_with("ROUSE_PROOF_COUNT=5 ROUSE_SEED=7 ROUSE_PROOF_FROM=9"), "{line}");
    }

    #[test]
    fn both_harnesses_know_the_same_doors() {
        for door in DOORS {
            let program = format!("fuzz/fuzz_targets/{door}.rs");
            for path in [program, format!("tests/fixtures/noise/{door}")] {
                assert!(house::root().join(&path).exists(), "{path} is not there");
            }
        }
    }

    #[test]
    fn every_proof_has_a_name_of_its_own() {
        for (place, proof) in PROOFS.iter().enumerate() {
            assert!(PROOFS[..place].iter().all(|other| other.0 != proof.0), "{}", proof.0);
        }
    }
}
