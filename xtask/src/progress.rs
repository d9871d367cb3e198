//! Progress output: numbered steps and their durations.
//!
//! Owns the step lines and the stopwatch of the chores. Never uses colours or cursor movement, because the same lines
//! go to a log. Pitfall: silence before slow work; a title is printed before its step starts.

use std::time::{Duration, Instant};

use crate::error::ChoreError;

/// The outcome of a successful step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChoreOutcome {
    /// Everything was up to date.
    UpToDate,
    /// The work was done.
    Done,
}

/// Measures a duration.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "chores run outside Rouse and only show how long they took"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The numbered steps of a chore.
pub(crate) struct Steps {
    total: usize,
    started: usize,
}

impl Steps {
    pub(crate) fn of(total: usize) -> Self {
        Self { total, started: 0 }
    }

    /// Prints the title of the next step.
    pub(crate) fn begin(&mut self, title: &str) -> Stopwatch {
        self.started += 1;
        println!("\n[{}/{}] {title}", self.started, self.total);
        Stopwatch::start()
    }

    /// Runs a step and prints its outcome.
    pub(crate) fn step(
        &mut self,
        title: &str,
        perform: impl FnOnce() -> Result<ChoreOutcome, ChoreError>,
    ) -> Result<(), ChoreError> {
        let watch = self.begin(title);
        match perform()? {
            ChoreOutcome::UpToDate => println!("      nothing to do"),
            ChoreOutcome::Done => println!("      done in {}", seconds(watch.elapsed())),
        }
        Ok(())
    }
}

/// A duration for a build log.
pub(crate) fn seconds(elapsed: Duration) -> String {
    let total_seconds = elapsed.as_secs();
    if total_seconds < 60 {
        format!("{:.1} s", elapsed.as_secs_f64())
    } else {
        format!("{} min {:02} s", total_seconds / 60, total_seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_unit_changes_at_a_minute() {
        assert_eq!(seconds(Duration::from_millis(59_940)), "59.9 s");
        assert_eq!(seconds(Duration::from_secs(60)), "1 min 00 s");
        assert_eq!(seconds(Duration::from_millis(754_900)), "12 min 34 s");
    }
}
