//! How often a hook may be called: sixty times at once, then once a second.
//!
//! One instant per name says when it would be idle again, measured by the monotonic clock. Only who may call is counted:
//! a stranger can neither use up somebody's share nor make this grow. It is not kept over a restart: it holds off a flood
//! at the door, while each job holds off a flood of work by rules that are in the store (overlap, cool-down,
//! `Idempotency-Key`). Keeping it would be a write for every call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const AT_ONCE: u32 = 60;
const BETWEEN: Duration = Duration::from_secs(1);

/// The pace of every hook.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<HashMap<String, Duration>>);

impl Pace {
    /// Counts a call of `name` at the monotonic instant `now`.
    ///
    /// # Errors
    /// How long to wait when it is one too many; then it does not count.
    pub(super) fn admit(&self, name: &str, now: Duration) -> Result<(), Duration> {
        let mut idle_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle_at.retain(|_, at| *at > now);
        let at = idle_at.get(name).copied().unwrap_or(now);
        let ahead = (at - now).checked_sub(BETWEEN * (AT_ONCE - 1));
        match ahead.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                idle_at.insert(name.to_owned(), at + BETWEEN);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_at_once_and_then_one_a_second() {
        let (pace, start) = (Pace::default(), Duration::from_secs(100));
        for call in 0..60 {
            assert_eq!(pace.admit("a", start), Ok(()), "{call}");
        }
        assert_eq!(pace.admit("a", start), Err(Duration::from_secs(1)));
        assert_eq!(pace.admit("b", start), Ok(()), "another hook has its own share");
        let later = start + Duration::from_secs(1);
        assert_eq!(pace.admit("a", later), Ok(()));
        assert!(pace.admit("a", later).is_err());
        let much_later = start + Duration::from_secs(200);
        assert!((0..60).all(|_| pace.admit("a", much_later).is_ok()));
        assert!(pace.admit("a", much_later).is_err());
    }

    #[test]
    fn an_idle_hook_is_forgotten() {
        let pace = Pace::default();
        pace.admit("a", Duration::ZERO).expect("the first call");
        pace.admit("b", Duration::from_secs(5)).expect("the first call");
        assert_eq!(pace.0.lock().expect("not poisoned").len(), 1);
    }
}
