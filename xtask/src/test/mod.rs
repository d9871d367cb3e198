//! `cargo xtask test`: every check of the project, in one order, ending in one line.
//!
//! Owns the arguments and the run as a whole. Refuses to stop at the first failure: a person who waited for the build
//! wants to hear everything that is wrong. One could get it wrong by printing after the last line; whoever reads the
//! result by machine reads that line.

mod counts;
mod ledger;
mod step;
mod work;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::progress::Steps;
use crate::system::Consent;
use ledger::Ledger;
use step::Step;

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    consent: Consent,
    list: bool,
    /// Empty: everything.
    only: Vec<Step>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self { consent: Consent::Ask, list: false, only: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--yes" | "-y" => options.consent = Consent::Given,
                "--list" => options.list = true,
                "--only" => options.only.push(step_named(rest.next().map_or("", String::as_str))?),
                other => return Err(Failure::new(format!("`test` knows no argument `{other}`"))),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    if options.list {
        Step::ALL.iter().for_each(|step| println!("{:12}{}", step.name(), step.title()));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen =
        if options.only.is_empty() { Step::ALL.to_vec() } else { Step::with_needs(&options.only) };
    let mut steps = Steps::of(chosen.len());
    let ledger = Ledger::of(&chosen, |step| {
        let watch = steps.begin(&format!("{} ({})", step.title(), step.name()));
        let verdict = work::perform(step, options.consent);
        (verdict, watch.took())
    });
    println!("\n{}", ledger.overview());
    Ok(if ledger.total().failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn step_named(name: &str) -> Result<Step, Failure> {
    Step::named(name).ok_or_else(|| {
        let names: Vec<_> = Step::ALL.iter().map(|step| step.name()).collect();
        Failure::new(format!("there is no step `{name}`; the steps are {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, Failure> {
        Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn steps_can_be_chosen_by_name() {
        let options = parse(&["--only", "fmt", "--only", "rust", "--yes"]).expect("understood");
        assert_eq!(
            options,
            Options { consent: Consent::Given, list: false, only: vec![Step::Fmt, Step::Rust] }
        );
        assert!(parse(&["--list"]).expect("understood").list);
    }

    #[test]
    fn a_step_that_does_not_exist_is_named_with_those_that_do() {
        let failure = parse(&["--only", "lint"]).expect_err("no such step").to_string();
        assert!(failure.contains("`lint`") && failure.contains("ui-lint"), "{failure}");
        assert!(parse(&["--only"]).is_err());
    }
}
