//! The backoff while no model can answer, or at a tool's rate limit.
//!
//! Owns the growing pauses within an attempt and their total; the run then resumes from the journal. Never reads a
//! clock: the waited time stands in the run's row.
//! Pitfall: calling a provider earlier than `Retry-After`; the run fails instead when that exceeds the rest.

use std::time::Duration;

use crate::RunId;
use crate::text::stable_hash;

/// The first pause.
const FIRST: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(120);

/// Jitter adds less than one `JITTER_PART`th, so runs that failed together do not retry together.
const JITTER_PART: u64 = 8;

/// The pause before `run` calls the models again after having `waited`; none when `patience` is used up or the
/// provider's `retry_after` exceeds the rest.
#[must_use]
pub fn model_backoff(
    waited: Duration,
    patience: Duration,
    retry_after: Option<Duration>,
    run: &RunId,
) -> Option<Duration> {
    let left = patience.checked_sub(waited).filter(|left| !left.is_zero())?;
    // Each pause is as long as all earlier pauses: 5, 5, 10, 20, 40, 80, 120, 120 … seconds.
    let pause = waited.clamp(FIRST, LONGEST).min(left);
    let pause = pause + jitter(pause, waited, run);
    match retry_after {
        Some(wish) if wish > left => None,
        wish => Some(pause.max(wish.unwrap_or_default())),
    }
}

fn jitter(pause: Duration, waited: Duration, run: &RunId) -> Duration {
    let most = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX) / JITTER_PART;
    let hash = stable_hash(format!("{run}/{}", waited.as_millis()).as_bytes());
    Duration::from_millis(hash.checked_rem(most).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(900);

    fn pause(waited: u64, retry_after: Option<u64>) -> Option<u64> {
        let waited = Duration::from_secs(waited);
        let retry_after = retry_after.map(Duration::from_secs);
        let pause = model_backoff(waited, PATIENCE, retry_after, &RunId::new("run-1"));
        pause.map(|pause| pause.as_secs())
    }

    #[test]
    fn pauses_grow_until_patience_is_used_up() {
        let (mut waited, mut pauses) = (Duration::ZERO, Vec::new());
        while let Some(pause) = model_backoff(waited, PATIENCE, None, &RunId::new("run-1")) {
            pauses.push(pause.as_secs());
            waited += pause;
        }
        assert!(pauses.starts_with(&[5, 5]), "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= 135), "{pauses:?}");
        assert!((900..1_040).contains(&waited.as_secs()), "{waited:?}: {pauses:?}");
    }

    #[test]
    fn retry_after_wins_while_patience_lasts() {
        assert_eq!(pause(0, Some(300)), Some(300));
        assert_eq!(pause(700, Some(201)), None);
        assert_eq!(pause(900, None), None);
    }

    #[test]
    fn run_without_patience_never_waits() {
        let none = model_backoff(Duration::ZERO, Duration::ZERO, None, &RunId::new("run-1"));
        assert_eq!(none, None);
    }
}
