//! Rate limit of inbound hooks: a burst of sixty calls, then one call per second.
//!
//! Owns one instant per hook on the monotonic clock, at which the hook is idle again. Only authenticated calls count, so an
//! unauthenticated caller can neither use up the limit of a hook nor grow the map. In memory only: a restart resets the limit,
//! and jobs limit their own work by stored policies (overlap, cooldown, `Idempotency-Key`).
//! Pitfall: persisting the limit, which costs a write per call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const BURST: u32 = 60;
const INTERVAL: Duration = Duration::from_secs(1);

/// The rate limits of all hooks.
#[derive(Debug, Default)]
pub(super) struct HookRateLimit(Mutex<HashMap<String, Duration>>);

impl HookRateLimit {
    /// Counts a call of hook `name` at the monotonic instant `now`.
    ///
    /// # Errors
    /// The time until the next allowed call, if the limit is reached. The call does not count then.
    pub(super) fn count_call(&self, name: &str, now: Duration) -> Result<(), Duration> {
        let mut idle_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle_at.retain(|_, at| *at > now);
        let at = idle_at.get(name).copied().unwrap_or(now);
        let wait = (at - now).checked_sub(INTERVAL * (BURST - 1));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                idle_at.insert(name.to_owned(), at + INTERVAL);
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
        let (limit, start) = (HookRateLimit::default(), Duration::from_secs(100));
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
        let limit = HookRateLimit::default();
        limit.count_call("a", Duration::ZERO).expect("the first call");
        limit.count_call("b", Duration::from_secs(5)).expect("the first call");
        assert_eq!(limit.0.lock().expect("not poisoned").len(), 1);
    }
}
