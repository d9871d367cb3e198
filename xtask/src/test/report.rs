//! The results of all steps, and the last line.
//!
//! Owns the rule that a step with a failed dependency does not run and counts as failed, while independent steps
//! continue. Pitfall: not counting a blocked step would hide the tests behind a broken build.

use std::time::Duration;

use super::check_counts::CheckCounts;
use super::step::CheckStep;
use crate::progress::seconds;

/// The verdict of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepVerdict {
    Counted(CheckCounts),
    /// Impossible on this system; not counted.
    Unsupported(&'static str),
    /// Not run, because this dependency failed.
    Blocked(CheckStep),
}

impl StepVerdict {
    fn counts(&self) -> CheckCounts {
        match self {
            Self::Counted(counts) => *counts,
            Self::Unsupported(_) => CheckCounts::default(),
            Self::Blocked(_) => CheckCounts::single(false),
        }
    }
}

/// The verdicts in order.
#[derive(Debug, Default)]
pub(crate) struct TestReport {
    entries: Vec<(CheckStep, StepVerdict, Duration)>,
}

impl TestReport {
    /// Runs the steps in order. A failed step blocks only its dependents.
    pub(crate) fn run(
        steps: &[CheckStep],
        mut perform: impl FnMut(CheckStep) -> (StepVerdict, Duration),
    ) -> Self {
        let mut report = Self::default();
        for step in steps.iter().copied() {
            let (verdict, elapsed) = match report.failed_dependency(step) {
                Some(dependency) => (StepVerdict::Blocked(dependency), Duration::ZERO),
                None => perform(step),
            };
            report.entries.push((step, verdict, elapsed));
        }
        report
    }

    pub(crate) fn total(&self) -> CheckCounts {
        let mut total = CheckCounts::default();
        for (_, verdict, _) in &self.entries {
            total += verdict.counts();
        }
        total
    }

    /// A line per step, then `N passed, N failed`.
    pub(crate) fn overview(&self) -> String {
        let lines =
            self.entries.iter().map(|(step, verdict, elapsed)| step_line(*step, verdict, *elapsed));
        let CheckCounts { passed, failed } = self.total();
        format!("{}\n\n{passed} passed, {failed} failed", lines.collect::<Vec<_>>().join("\n"))
    }

    fn failed_dependency(&self, step: CheckStep) -> Option<CheckStep> {
        let has_failed = |dependency: &&CheckStep| {
            self.entries
                .iter()
                .any(|(done, verdict, _)| done == *dependency && verdict.counts().failed > 0)
        };
        step.dependencies().iter().find(has_failed).copied()
    }
}

fn step_line(step: CheckStep, verdict: &StepVerdict, elapsed: Duration) -> String {
    let outcome = match verdict {
        StepVerdict::Counted(CheckCounts { passed, failed: 0 }) => {
            format!("ok      {passed} in {}", seconds(elapsed))
        }
        StepVerdict::Counted(CheckCounts { passed, failed }) => {
            format!("FAILED  {failed}, passed {passed}, in {}", seconds(elapsed))
        }
        StepVerdict::Unsupported(reason) => format!("skipped {reason}"),
        StepVerdict::Blocked(dependency) => {
            format!("FAILED  not run, because `{}` failed", dependency.name())
        }
    };
    format!("  {:12}{outcome}", step.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs all steps; `failing` steps fail. Returns the report and the performed steps.
    fn run_with_failing(failing: &[CheckStep]) -> (TestReport, Vec<CheckStep>) {
        let mut performed = Vec::new();
        let report = TestReport::run(CheckStep::ALL, |step| {
            performed.push(step);
            (StepVerdict::Counted(CheckCounts::single(!failing.contains(&step))), Duration::ZERO)
        });
        (report, performed)
    }

    #[test]
    fn failed_build_blocks_and_counts_its_dependents() {
        let (report, performed) = run_with_failing(&[CheckStep::Build]);
        for blocked in [CheckStep::Types, CheckStep::Rust, CheckStep::DocTests, CheckStep::E2e] {
            assert!(!performed.contains(&blocked), "{blocked:?}");
        }
        assert!(performed.contains(&CheckStep::Docs));
        assert_eq!(report.total().failed, 5);
    }

    #[test]
    fn blocked_step_blocks_its_dependents() {
        let (report, performed) = run_with_failing(&[CheckStep::UiInstall]);
        let independent =
            [CheckStep::Packages, CheckStep::Fmt, CheckStep::UiInstall, CheckStep::Peers];
        assert_eq!(performed, independent);
        assert_eq!(report.total(), CheckCounts { passed: 3, failed: CheckStep::ALL.len() - 3 });
    }

    #[test]
    fn independent_steps_continue() {
        let (report, performed) = run_with_failing(&[
            CheckStep::Packages,
            CheckStep::Fmt,
            CheckStep::UiLint,
            CheckStep::Clippy,
        ]);
        assert_eq!(performed.len(), CheckStep::ALL.len());
        assert_eq!(report.total().failed, 4);
    }

    #[test]
    fn last_line_excludes_unsupported_steps() {
        let report =
            TestReport::run(
                &[CheckStep::Fmt, CheckStep::Rust, CheckStep::E2e],
                |step| match step {
                    CheckStep::Rust => (
                        StepVerdict::Counted(CheckCounts { passed: 41, failed: 2 }),
                        Duration::ZERO,
                    ),
                    CheckStep::E2e => (StepVerdict::Unsupported("no browser"), Duration::ZERO),
                    _ => (StepVerdict::Counted(CheckCounts::single(true)), Duration::ZERO),
                },
            );
        assert_eq!(report.overview().lines().last(), Some("42 passed, 2 failed"));
        assert!(report.overview().contains("skipped no browser"));
    }
}
