//! When a model is asked again within the same run.
//!
//! Owns the decision as a pure function, and the waiting. It never asks again once a person has read a part of the answer,
//! because the second answer would not continue the first, and never waits longer than a minute: a longer wait belongs to
//! the job's own retries, which survive a restart and are told of it.

use std::time::Duration;

use rouse_core::model::{ProviderError, ProviderErrorKind};

/// How often a model is asked for one turn, the first time included.
const ATTEMPTS: u32 = 3;

/// The wait before the second attempt when the provider names none; four times as long before the third.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait within a run.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before asking again after `attempt` attempts; none when that is no use. `shown` is whether
/// somebody has read a part of the answer.
pub(crate) fn wait_before_next(
    attempt: u32,
    error: &ProviderError,
    shown: bool,
) -> Option<Duration> {
    // What does not run on this computer will not within seconds, and nobody should wait to hear of it.
    let is_futile = !error.may_pass() || error.kind == ProviderErrorKind::NotRunning;
    if shown || attempt >= ATTEMPTS || is_futile {
        return None;
    }
    let wait = error.retry_after.unwrap_or(FIRST_WAIT * 4_u32.pow(attempt - 1));
    (wait <= LONGEST_WAIT).then_some(wait)
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

    fn error(kind: Kind, retry_after: Option<u64>) -> ProviderError {
        ProviderError {
            retry_after: retry_after.map(Duration::from_secs),
            ..ProviderError::new(kind, "x")
        }
    }

    #[test]
    fn waits_longer_each_time_and_then_gives_up() {
        let waits: Vec<_> = (1..=3)
            .map(|attempt| wait_before_next(attempt, &error(Kind::Server, None), false))
            .collect();
        assert_eq!(waits, [Some(Duration::from_secs(1)), Some(Duration::from_secs(4)), None]);
    }

    #[test]
    fn the_provider_s_wish_wins_unless_it_is_too_long() {
        for (wish, expected) in
            [(0, Some(0)), (7, Some(7)), (60, Some(60)), (61, None), (3_600, None)]
        {
            let wait = wait_before_next(1, &error(Kind::RateLimited, Some(wish)), false);
            assert_eq!(wait, expected.map(Duration::from_secs), "{wish}");
        }
    }

    #[test]
    fn nothing_is_asked_again_after_the_first_word_or_when_it_cannot_help() {
        assert_eq!(wait_before_next(1, &error(Kind::Truncated, None), true), None);
        for kind in [Kind::Auth, Kind::BadRequest, Kind::Refused, Kind::TooLarge, Kind::NotRunning]
        {
            assert_eq!(wait_before_next(1, &error(kind, Some(1)), false), None, "{kind:?}");
        }
    }
}
