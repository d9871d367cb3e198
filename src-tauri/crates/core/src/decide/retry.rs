//! Whether a failed attempt is followed by another one, and after how long.

use crate::job::Runtime;

/// The longest pause between two attempts.
const LONGEST_MS: u64 = 3_600_000;

/// Milliseconds until the next attempt after `attempt` attempts (1 = the first has just failed), doubling each time;
/// none when no attempt is left. Only failures that may pass are worth asking about.
#[must_use]
pub fn retry_after_ms(runtime: Option<&Runtime>, attempt: u32) -> Option<u64> {
    let runtime = runtime?;
    if attempt >= runtime.max_attempts.unwrap_or(1) {
        return None;
    }
    let first = runtime.retry_backoff_ms.unwrap_or(1_000);
    let doublings = attempt.saturating_sub(1).min(32);
    Some(first.saturating_mul(1 << doublings).min(LONGEST_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_until_no_attempt_is_left() {
        let runtime =
            Runtime { max_attempts: Some(4), retry_backoff_ms: Some(500), ..Runtime::default() };
        let pauses: Vec<_> =
            (1..=4).map(|attempt| retry_after_ms(Some(&runtime), attempt)).collect();
        assert_eq!(pauses, [Some(500), Some(1_000), Some(2_000), None]);
    }

    #[test]
    fn is_off_by_default() {
        assert_eq!(retry_after_ms(None, 1), None);
        assert_eq!(retry_after_ms(Some(&Runtime::default()), 1), None);
    }
}
