//! Rate limits of inbound hooks: a burst of calls, then one call per interval.
//!
//! Owns one instant per name on the monotonic clock, at which the name is idle again. Only authenticated calls count, so
//! an unauthenticated caller can neither use up the limit of a hook nor grow the map. In memory only: a restart resets the
//! limit, and jobs limit their own work by stored policies (overlap, cooldown, `Idempotency-Key`).
//! Pitfall: persisting the limit, which costs a write per call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One rate limit for each name.
#[derive(Debug)]
pub(super) struct CallRateLimit {
    burst: u32,
    interval: Duration,
    idle_at: Mutex<HashMap<String, Duration>>,
}

impl CallRateLimit {
    /// The limit of each hook.
    pub(super) fn of_hooks() -> Self {
        Self { burst: 60, interval: Duration::from_secs(1), idle_at: Mutex::default() }
    }

    /// Counts a call of `name` at the monotonic instant `now`.
    ///
    /// # Errors
    /// The time until the next allowed call, if the limit is reached. The call does not count then.
    pub(super) fn count_call(&self, name: &str, now: Duration) -> Result<(), Duration> {
        let mut idle_at = self.idle_at.lock().unwrap_or_else(PoisonError::into_inner);
        idle_at.retain(|_, at| *at > now);
        let at = idle_at.get(name).copied().unwrap_or(now);
        let wait = (at - now).checked_sub(self.interval * (self.burst - 1));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                idle_at.insert(name.to_owned(), at + self.interval);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_sixty_calls_then_one_per_second() {
        let (limit, start) = (CallRateLimit::of_hooks(), Duration::from_secs(100));
        for call in 0..60 {
            assert_eq!(limit.count_call("a", start), Ok(()), "{call}");
        }
        assert_eq!(limit.count_call("a", start), Err(Duration::from_secs(1)));
        assert_eq!(limit.count_call("b", start), Ok(()), "another hook has a limit of its own");
        let later = start + Duration::from_secs(1);
        assert_eq!(limit.count_call("a", later), Ok(()));
        assert!(limit.count_call("a", later).is_err());
        let much_later = start + Duration::from_secs(200);
        assert!((0..60).all(|_| limit.count_call("a", much_later).is_ok()));
        assert!(limit.count_call("a", much_later).is_err());
    }

    #[test]
    fn idle_hook_is_removed() {
        let limit = CallRateLimit::of_hooks();
        limit.count_call("a", Duration::ZERO).expect("the first call");
        limit.count_call("b", Duration::from_secs(5)).expect("the first call");
        assert_eq!(limit.idle_at.lock().expect("not poisoned").len(), 1);
    }
}
