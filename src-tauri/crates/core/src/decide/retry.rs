//! Whether a failed attempt is followed by another one, and after how long.
//!
//! The pause doubles, and each run adds a little of its own: what many jobs lost together (a network that was away) they
//! must not all ask for again in the same millisecond. The addition follows from the run's id, so that the same run
//! always waits the same, and a pause is never shorter than the job says.

use crate::RunId;
use crate::job::Runtime;
use crate::stable_hash::stable_hash;

/// The longest pause between two attempts, before what the run adds.
const LONGEST_MS: u64 = 3_600_000;
/// A run adds less than one part in so many.
const JITTER_PART: u64 = 4;

/// Milliseconds until the next attempt of `run` after `attempt` attempts (1 = the first has just failed), doubling each
/// time; none when no attempt is left. Only failures that may pass are worth asking about.
#[must_use]
pub fn retry_after_ms(runtime: Option<&Runtime>, attempt: u32, run: &RunId) -> Option<u64> {
    let runtime = runtime?;
    if attempt >= runtime.max_attempts.unwrap_or(1) {
        return None;
    }
    let first = runtime.retry_backoff_ms.unwrap_or(1_000);
    let doublings = attempt.saturating_sub(1).min(32);
    let pause = first.saturating_mul(1 << doublings).min(LONGEST_MS);
    Some(pause + jitter(pause / JITTER_PART, attempt, run))
}

/// From nothing to just under `most`.
fn jitter(most: u64, attempt: u32, run: &RunId) -> u64 {
    match most {
        0 => 0,
        most => stable_hash(format!("{run}/{attempt}").as_bytes()) % most,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn runtime(first_ms: u64) -> Runtime {
        Runtime { max_attempts: Some(4), retry_backoff_ms: Some(first_ms), ..Runtime::default() }
    }

    fn pause(first_ms: u64, attempt: u32, run: &str) -> Option<u64> {
        retry_after_ms(Some(&runtime(first_ms)), attempt, &RunId::new(run))
    }

    #[test]
    fn doubles_until_no_attempt_is_left() {
        for (attempt, least) in [(1, 500), (2, 1_000), (3, 2_000)] {
            let pause = pause(500, attempt, "run-1").expect("an attempt is left");
            assert!((least..least + least / 4).contains(&pause), "{attempt}: {pause}");
        }
        assert_eq!(pause(500, 4, "run-1"), None);
    }

    #[test]
    fn every_run_waits_its_own_time_and_always_the_same() {
        let pauses: HashSet<_> = (0..100).map(|run| pause(60_000, 1, &run.to_string())).collect();
        assert!(pauses.len() > 90, "{} different pauses", pauses.len());
        assert_eq!(pause(60_000, 2, "run-1"), pause(60_000, 2, "run-1"));
        assert_ne!(pause(60_000, 1, "run-1"), pause(60_000, 1, "run-2"));
    }

    #[test]
    fn the_longest_pause_has_an_end() {
        let pause = pause(u64::MAX, 3, "run-1").expect("an attempt is left");
        assert!((LONGEST_MS..LONGEST_MS + LONGEST_MS / 4).contains(&pause), "{pause}");
    }

    #[test]
    fn no_pause_stays_no_pause() {
        assert_eq!(pause(0, 3, "run-1"), Some(0));
    }

    #[test]
    fn is_off_by_default() {
        let run = RunId::new("run-1");
        assert_eq!(retry_after_ms(None, 1, &run), None);
        assert_eq!(retry_after_ms(Some(&Runtime::default()), 1, &run), None);
    }
}
