//! Retries of a model call within a run, after a truncated answer.
//!
//! Owns the decision and the pause. Never waits out an outage: the scheduler does that (`Outcome::waits_for`), without a
//! permit and across restarts. Pitfall: retrying after a person has read a part of the answer; a second answer would not
//! continue the first.

use std::time::Duration;

use rouse_core::model::ProviderError;

/// The most calls of a model for a turn.
const MAX_CALLS: u32 = 3;

/// The longest pause within a run.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pause before the second call; four times as long before the third.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The pause before the next call after `calls` calls; none when the turn has failed. `is_read` is whether a person has
/// read a part of the answer.
pub(crate) fn pause_before_retry(
    calls: u32,
    error: &ProviderError,
    is_read: bool,
) -> Option<Duration> {
    let has_broken_off = error.is_transient() && !error.is_outage();
    if !has_broken_off || is_read || calls >= MAX_CALLS {
        return None;
    }
    let pause = error.retry_after.unwrap_or(FIRST_PAUSE * 4_u32.pow(calls - 1));
    (pause <= LONGEST_PAUSE).then_some(pause)
}

/// Waits.
#[expect(
    clippy::disallowed_methods,
    reason = "waiting before a provider is asked again is the work itself"
)]
pub(crate) async fn pause(wait: Duration) {
    tokio::time::sleep(wait).await;
}

#[cfg(test)]
mod tests {
    use rouse_core::model::ProviderErrorKind as Kind;

    use super::*;

    #[test]
    fn broken_answer_is_retried_with_growing_pauses() {
        let error = ProviderError::new(Kind::Truncated, "x");
        let pauses: Vec<_> =
            (1..=3).map(|calls| pause_before_retry(calls, &error, false)).collect();
        assert_eq!(pauses, [Some(Duration::from_secs(1)), Some(Duration::from_secs(4)), None]);
        assert_eq!(pause_before_retry(1, &error, true), None, "a person has read a part");
    }

    #[test]
    fn outage_and_permanent_error_are_not_retried_in_the_run() {
        for kind in [
            Kind::RateLimited,
            Kind::Overloaded,
            Kind::Network,
            Kind::Unanswered,
            Kind::NotRunning,
            Kind::Auth,
            Kind::BadRequest,
            Kind::Refused,
            Kind::TooLarge,
        ] {
            assert_eq!(
                pause_before_retry(1, &ProviderError::new(kind, "x"), false),
                None,
                "{kind:?}"
            );
        }
    }
}
