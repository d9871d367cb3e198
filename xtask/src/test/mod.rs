//! `cargo xtask test`: every check of the project, ending in one summary line.
//!
//! Owns the arguments and the whole run. Never stops at the first failure: a person who waited for the build wants
//! all results. Pitfall: output after the last line, which scripts parse.

mod check_counts;
mod report;
mod step;
mod step_commands;

use std::process::ExitCode;

use crate::error::ChoreError;
use crate::progress::Steps;
use crate::system::Consent;
use report::TestReport;
use step::CheckStep;

/// The options of `test`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestOptions {
    consent: Consent,
    list: bool,
    /// The selected steps; empty for all.
    only: Vec<CheckStep>,
}

impl TestOptions {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, ChoreError> {
        let mut options = Self { consent: Consent::Ask, list: false, only: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--yes" | "-y" => options.consent = Consent::Given,
                "--list" => options.list = true,
                "--only" => options.only.push(parse_step(rest.next().map_or("", String::as_str))?),
                other => {
                    return Err(ChoreError::new(format!("unknown argument `{other}` of `test`")));
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(options: &TestOptions) -> Result<ExitCode, ChoreError> {
    if options.list {
        CheckStep::ALL.iter().for_each(|step| println!("{:12}{}", step.name(), step.title()));
        return Ok(ExitCode::SUCCESS);
    }
    let selected = if options.only.is_empty() {
        CheckStep::ALL.to_vec()
    } else {
        CheckStep::with_dependencies(&options.only)
    };
    let mut steps = Steps::of(selected.len());
    let report = TestReport::run(&selected, |step| {
        let watch = steps.begin(&format!("{} ({})", step.title(), step.name()));
        let verdict = step_commands::perform(step, options.consent);
        (verdict, watch.elapsed())
    });
    println!("\n{}", report.overview());
    Ok(if report.total().failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse_step(name: &str) -> Result<CheckStep, ChoreError> {
    CheckStep::by_name(name).ok_or_else(|| {
        let names: Vec<_> = CheckStep::ALL.iter().map(|step| step.name()).collect();
        ChoreError::new(format!("unknown step `{name}`; the steps are {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<TestOptions, ChoreError> {
        TestOptions::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn steps_are_selected_by_name() {
        let options = parse(&["--only", "fmt", "--only", "rust", "--yes"]).expect("valid");
        assert_eq!(
            options,
            TestOptions {
                consent: Consent::Given,
                list: false,
                only: vec![CheckStep::Fmt, CheckStep::Rust]
            }
        );
        assert!(parse(&["--list"]).expect("valid").list);
    }

    #[test]
    fn unknown_step_is_refused_with_the_known_steps() {
        let error = parse(&["--only", "lint"]).expect_err("no such step").to_string();
        assert!(error.contains("`lint`") && error.contains("ui-lint"), "{error}");
        assert!(parse(&["--only"]).is_err());
    }
}
