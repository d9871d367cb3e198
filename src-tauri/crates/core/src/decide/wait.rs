//! How long a run waits for a model that cannot answer for now, or for a tool's rate limit.
//!
//! Such a wait ends no attempt: the run goes on afterwards from its journal, in the same attempt. Owns the growing pauses
//! and their total. Never reads a clock: what a run has waited so far stands in its row. Pitfall: a provider that asks for
//! more time than is left must not be asked again before; the run fails then and says so.

use std::time::Duration;

use crate::RunId;
use crate::stable_hash::stable_hash;

/// The first pause before the models are asked again.
const FIRST: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(120);

/// A run adds less than one part in so many, so that runs which failed together do not ask together.
const JITTER_PART: u64 = 8;

/// The pause before `run` asks its models again, when it has `waited` for them so far; none when its `patience` is used up,
/// or the provider asks for longer (`retry_after`) than is left of it.
#[must_use]
pub fn model_pause(
    waited: Duration,
    patience: Duration,
    retry_after: Option<Duration>,
    run: &RunId,
) -> Option<Duration> {
    let left = patience.checked_sub(waited).filter(|left| !left.is_zero())?;
    // Each pause is as long as all before it: 5, 5, 10, 20, 40, 80, 120, 120 … seconds.
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
        let pause = model_pause(waited, PATIENCE, retry_after, &RunId::new("run-1"));
        pause.map(|pause| pause.as_secs())
    }

    #[test]
    fn pauses_grow_until_the_patience_is_used_up() {
        let (mut waited, mut pauses) = (Duration::ZERO, Vec::new());
        while let Some(pause) = model_pause(waited, PATIENCE, None, &RunId::new("run-1")) {
            pauses.push(pause.as_secs());
            waited += pause;
        }
        assert!(pauses.starts_with(&[5, 5]), "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= 135), "{pauses:?}");
        assert!((900..1_040).contains(&waited.as_secs()), "{waited:?}: {pauses:?}");
    }

    #[test]
    fn wish_of_the_provider_wins_while_patience_lasts() {
        assert_eq!(pause(0, Some(300)), Some(300));
        assert_eq!(pause(700, Some(201)), None);
        assert_eq!(pause(900, None), None);
    }

    #[test]
    fn run_without_patience_never_waits() {
        let none = model_pause(Duration::ZERO, Duration::ZERO, None, &RunId::new("run-1"));
        assert_eq!(none, None);
    }
}
