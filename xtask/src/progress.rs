//! What the person sees while a chore works: numbered steps, and how long each took.
//!
//! Owns the wording of step lines and the only stopwatch of the chores. Refuses colours and cursor tricks: the same
//! lines go to a terminal and to a log. One could get it wrong by staying silent before something slow; the title is
//! therefore printed before the work begins.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How a step of a chore ended when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing had changed, so nothing was done.
    AlreadyFresh,
    /// The work was done.
    Made,
}

/// Measures how long something took.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "chores run outside Rouse and only show how long they took"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn took(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The numbered steps of one chore.
pub(crate) struct Steps {
    total: usize,
    begun: usize,
}

impl Steps {
    pub(crate) fn of(total: usize) -> Self {
        Self { total, begun: 0 }
    }

    /// Prints the title of the next step.
    pub(crate) fn begin(&mut self, title: &str) -> Stopwatch {
        self.begun += 1;
        println!("\n[{}/{}] {title}", self.begun, self.total);
        Stopwatch::start()
    }

    /// Runs one step and says how it ended.
    pub(crate) fn step(
        &mut self,
        title: &str,
        work: impl FnOnce() -> Result<Done, Failure>,
    ) -> Result<(), Failure> {
        let watch = self.begin(title);
        match work()? {
            Done::AlreadyFresh => println!("      nothing to do"),
            Done::Made => println!("      done in {}", seconds(watch.took())),
        }
        Ok(())
    }
}

/// A duration as people read it in a build log.
pub(crate) fn seconds(took: Duration) -> String {
    let whole = took.as_secs();
    if whole < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_change_their_unit_at_a_minute() {
        assert_eq!(seconds(Duration::from_millis(59_940)), "59.9 s");
        assert_eq!(seconds(Duration::from_secs(60)), "1 min 00 s");
        assert_eq!(seconds(Duration::from_millis(754_900)), "12 min 34 s");
    }
}
