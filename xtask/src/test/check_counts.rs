//! Counts of passed and failed checks, parsed from test output.
//!
//! Owns the parsing of four summary formats. The exit code overrides a summary: a failed program has at least one
//! failure. Pitfall: loose matching; test output contains numbers and summaries of other programs.

use std::ops::AddAssign;

/// Passed and failed checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl CheckCounts {
    /// A single check, by its exit code.
    pub(crate) fn single(succeeded: bool) -> Self {
        Self { passed: usize::from(succeeded), failed: usize::from(!succeeded) }
    }

    /// The counts, corrected by the exit code.
    pub(crate) fn corrected(self, succeeded: bool) -> Self {
        match (succeeded, self) {
            (true, Self { passed: 0, failed: 0 }) => Self::single(true),
            (false, Self { passed, failed: 0 }) => Self { passed, failed: 1 },
            _ => self,
        }
    }
}

impl AddAssign for CheckCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The format of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reporter {
    CargoTest,
    Nextest,
    Vitest,
    Playwright,
}

impl Reporter {
    /// The counts of a line; zero for most lines.
    pub(crate) fn parse(self, line: &str) -> CheckCounts {
        self.summary(line).unwrap_or_default()
    }

    fn summary(self, line: &str) -> Option<CheckCounts> {
        match self {
            // test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
            Self::CargoTest => {
                let (_, parts) = line.strip_prefix("test result: ")?.split_once(". ")?;
                Some(sum(parts.split("; "), &["failed"]))
            }
            //      Summary [   1.204s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 2 skipped
            Self::Nextest => {
                let (_, parts) =
                    line.trim_start().strip_prefix("Summary [")?.split_once(" run: ")?;
                Some(sum(parts.split(", "), &["failed", "exec failed", "timed out"]))
            }
            //       Tests  1 failed | 11 passed | 2 skipped (14)
            Self::Vitest => {
                Some(sum(line.trim_start().strip_prefix("Tests  ")?.split(" | "), &["failed"]))
            }
            //   1 failed
            //   11 passed (4.2s)
            Self::Playwright => {
                let part = line
                    .strip_prefix("  ")
                    .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))?;
                Some(sum(std::iter::once(part), &["failed", "interrupted", "did not run"]))
            }
        }
    }
}

/// Sums parts such as `10 passed (1 slow)`; other words are ignored.
fn sum<'a>(parts: impl Iterator<Item = &'a str>, failures: &[&str]) -> CheckCounts {
    let mut counts = CheckCounts::default();
    for part in parts {
        let Some((number, word)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        let word = word.split(" (").next().unwrap_or(word);
        if word == "passed" || word == "flaky" {
            counts.passed += number;
        } else if failures.contains(&word) {
            counts.failed += number;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reporter: Reporter, output: &str, passed: usize, failed: usize) {
        let mut counts = CheckCounts::default();
        for line in output.lines() {
            counts += reporter.parse(line);
        }
        assert_eq!(counts, CheckCounts { passed, failed });
    }

    #[test]
    fn cargo_test_sums_all_binaries() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      running 5 tests\ntest result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.10s\n";
        check(Reporter::CargoTest, output, 5, 2);
    }

    #[test]
    fn nextest_counts_all_failure_kinds() {
        check(
            Reporter::Nextest,
            "     Summary [   0.012s] 12 tests run: 12 passed, 3 skipped",
            12,
            0,
        );
        let bad = "     Summary [  61.204s] 14 tests run: 10 passed (1 slow, 1 leaky), 2 failed, 1 exec failed, 1 timed out, 0 skipped";
        check(Reporter::Nextest, bad, 10, 4);
        check(Reporter::Nextest, "     Summary [   0.1s] 1 test run: 1 passed", 1, 0);
        check(Reporter::Nextest, "     Summary [   0.1s] 3/12 tests run: 2 passed, 1 failed", 2, 1);
        check(
            Reporter::Nextest,
            "        PASS [   0.1s] rouse-core Summary of 12 tests run: 12 passed",
            0,
            0,
        );
    }

    #[test]
    fn vitest_counts_tests_not_files() {
        let output = " Test Files  1 failed | 3 passed (4)\n      Tests  3 failed | 12 passed | 1 skipped (16)\n   Duration  1.2s\n";
        check(Reporter::Vitest, output, 12, 3);
        check(Reporter::Vitest, "      Tests  2 passed (2)", 2, 0);
    }

    #[test]
    fn playwright_counts_unrun_tests_as_failed() {
        let output = "  1 failed\n    [chromium] › e2e/jobs.spec.ts:3:1 › 12 passed\n  1 flaky\n  2 did not run\n  5 skipped\n  7 passed (4.2s)\n";
        check(Reporter::Playwright, output, 8, 3);
    }

    #[test]
    fn exit_code_overrides_the_summary() {
        assert_eq!(
            CheckCounts { passed: 3, failed: 0 }.corrected(false),
            CheckCounts { passed: 3, failed: 1 }
        );
        assert_eq!(
            CheckCounts { passed: 3, failed: 2 }.corrected(false),
            CheckCounts { passed: 3, failed: 2 }
        );
        assert_eq!(CheckCounts::default().corrected(true), CheckCounts { passed: 1, failed: 0 });
        assert_eq!(
            CheckCounts { passed: 3, failed: 0 }.corrected(true),
            CheckCounts { passed: 3, failed: 0 }
        );
    }
}
