//! What every step came to, and the one line at the end.
//!
//! Owns the rule that a step whose needs failed does not run and counts as failed, while independent steps go on. Refuses
//! to print anything but the overview and the last line. One could get it wrong by counting a step that was blocked as
//! nothing: a broken build would then hide every test behind it.

use std::time::Duration;

use super::counts::Counts;
use super::step::Step;
use crate::progress::seconds;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Counted(Counts),
    /// Not possible on this system; counts as nothing.
    NotHere(&'static str),
    /// Not tried, because this step before it failed.
    Blocked(Step),
}

impl Verdict {
    fn counts(&self) -> Counts {
        match self {
            Self::Counted(counts) => *counts,
            Self::NotHere(_) => Counts::default(),
            Self::Blocked(_) => Counts::one(false),
        }
    }
}

/// The verdicts of a run, in its order.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<(Step, Verdict, Duration)>,
}

impl Ledger {
    /// Runs the steps one after the other; a failed step stops only those that need it.
    pub(crate) fn of(steps: &[Step], mut perform: impl FnMut(Step) -> (Verdict, Duration)) -> Self {
        let mut ledger = Self::default();
        for step in steps.iter().copied() {
            let (verdict, took) = match ledger.blocker_of(step) {
                Some(blocker) => (Verdict::Blocked(blocker), Duration::ZERO),
                None => perform(step),
            };
            ledger.entries.push((step, verdict, took));
        }
        ledger
    }

    pub(crate) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for (_, verdict, _) in &self.entries {
            total += verdict.counts();
        }
        total
    }

    /// One line a step, then `N passed, N failed`.
    pub(crate) fn overview(&self) -> String {
        let lines = self.entries.iter().map(|(step, verdict, took)| line_of(*step, verdict, *took));
        let Counts { passed, failed } = self.total();
        format!("{}\n\n{passed} passed, {failed} failed", lines.collect::<Vec<_>>().join("\n"))
    }

    fn blocker_of(&self, step: Step) -> Option<Step> {
        let broken = |need: &&Step| {
            self.entries
                .iter()
                .any(|(done, verdict, _)| done == *need && verdict.counts().failed > 0)
        };
        step.needs().iter().find(broken).copied()
    }
}

fn line_of(step: Step, verdict: &Verdict, took: Duration) -> String {
    let outcome = match verdict {
        Verdict::Counted(Counts { passed, failed: 0 }) => {
            format!("ok      {passed} in {}", seconds(took))
        }
        Verdict::Counted(Counts { passed, failed }) => {
            format!("FAILED  {failed}, passed {passed}, in {}", seconds(took))
        }
        Verdict::NotHere(reason) => format!("skipped {reason}"),
        Verdict::Blocked(blocker) => {
            format!("FAILED  not tried, because `{}` failed", blocker.name())
        }
    };
    format!("  {:12}{outcome}", step.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs everything; the named steps fail. Gives back the ledger and what was tried.
    fn run_with_failing(failing: &[Step]) -> (Ledger, Vec<Step>) {
        let mut tried = Vec::new();
        let ledger = Ledger::of(Step::ALL, |step| {
            tried.push(step);
            (Verdict::Counted(Counts::one(!failing.contains(&step))), Duration::ZERO)
        });
        (ledger, tried)
    }

    #[test]
    fn a_failed_build_blocks_its_dependents_and_counts_them() {
        let (ledger, tried) = run_with_failing(&[Step::Build]);
        for blocked in [Step::Types, Step::Rust, Step::DocTests, Step::E2e] {
            assert!(!tried.contains(&blocked), "{blocked:?}");
        }
        assert!(tried.contains(&Step::Docs));
        assert_eq!(ledger.total().failed, 5);
    }

    #[test]
    fn a_blocked_step_blocks_those_behind_it() {
        let (ledger, tried) = run_with_failing(&[Step::UiInstall]);
        assert_eq!(tried, [Step::Packages, Step::Fmt, Step::UiInstall]);
        assert_eq!(ledger.total(), Counts { passed: 2, failed: Step::ALL.len() - 2 });
    }

    #[test]
    fn independent_steps_go_on() {
        let (ledger, tried) =
            run_with_failing(&[Step::Packages, Step::Fmt, Step::UiLint, Step::Clippy]);
        assert_eq!(tried.len(), Step::ALL.len());
        assert_eq!(ledger.total().failed, 4);
    }

    #[test]
    fn the_last_line_is_plain_and_steps_that_cannot_run_count_for_nothing() {
        let ledger = Ledger::of(&[Step::Fmt, Step::Rust, Step::E2e], |step| match step {
            Step::Rust => (Verdict::Counted(Counts { passed: 41, failed: 2 }), Duration::ZERO),
            Step::E2e => (Verdict::NotHere("no browser"), Duration::ZERO),
            _ => (Verdict::Counted(Counts::one(true)), Duration::ZERO),
        });
        assert_eq!(ledger.overview().lines().last(), Some("42 passed, 2 failed"));
        assert!(ledger.overview().contains("skipped no browser"));
    }
}
