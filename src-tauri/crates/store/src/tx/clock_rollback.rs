//! Adjustment after a clock rollback.
//!
//! Whatever waits for an instant that the wrong clock set would wait for the length of the jump. Deliveries are tried now,
//! approvals and grants keep their lifetime, and runs created later than now count as created now, or they would stay the
//! newest. Never changes when runs began and ended: that is what the clock showed.
//! Pitfall: leaving the end of quiet hours that an approval waits for; the lifetime would begin there.

use rouse_core::UnixMs;

use crate::sql::{Durability, Store, StoreError, at_most};
use crate::tables::approvals::shift_approvals;
use crate::tables::grants::shift_grants;

pub(crate) const SHIFT_RUNS: &str = "UPDATE runs SET created_at = $1 WHERE created_at > $1";
pub(crate) const SHIFT_PENDING: &str = concat!(
    "UPDATE outbox SET next_attempt_at = $1, created_at = ",
    at_most!("created_at", "$1"),
    " WHERE next_attempt_at > $1 AND (created_at > $1 OR next_attempt_at > $2)"
);
pub(crate) const SHIFT_HELD: &str = concat!(
    "UPDATE outbox SET created_at = $1, held_until = ",
    at_most!("held_until", "$1"),
    " WHERE state = 'held' AND created_at > $1"
);

impl Store {
    /// Adjusts runs, approvals, grants and deliveries to a clock that was set back to `now`; two attempts of a delivery are at
    /// most `max_retry_ms` apart. Returns whether there were any. Events `approval`.
    pub async fn adjust_after_clock_rollback(
        &self,
        max_retry_ms: i64,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let action = "adjust after the clock rollback";
        let mut tx = self.begin(action, Durability::Full, now).await?;
        let runs = tx.execute(sqlx::query(SHIFT_RUNS).bind(now.0)).await?;
        let has_approvals = shift_approvals(&mut tx).await?;
        let has_grants = shift_grants(&mut tx).await?;
        let latest_retry = now.plus_ms(max_retry_ms);
        let pending = sqlx::query(SHIFT_PENDING).bind(now.0).bind(latest_retry.0);
        let pending = tx.execute(pending).await?;
        let held = tx.execute(sqlx::query(SHIFT_HELD).bind(now.0)).await?;
        let has_any = runs + pending + held > 0 || has_approvals || has_grants;
        if has_any {
            tx.commit().await?;
        } else {
            tx.roll_back().await?;
        }
        Ok(has_any)
    }
}
