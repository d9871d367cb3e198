//! What a clock that was ahead has left.
//!
//! Whatever waits for an instant that such a clock has named would wait for the length of the step. It is taken as near as
//! it was when it was made: a delivery is tried now, and there is as much time for an answer as there was. And what was
//! made later than now was made by now, or it would be the newest until then. A grant is good for as long as it was given,
//! and one that has ended stays so, whatever is shown afterwards. It refuses to touch when a run began and
//! ended, which is what the clock showed. One could get it wrong by leaving the end of quiet hours that a question waits
//! for as it is: its time would be counted from there.

use rouse_core::UnixMs;

use crate::approvals::take_questions_nearer;
use crate::grants::take_grants_nearer;
use crate::write::Durability;
use crate::{Store, StoreError};

pub(crate) const RUNS: &str = "UPDATE runs SET created_at = ?1 WHERE created_at > ?1";
pub(crate) const PENDING: &str =
    "UPDATE outbox SET next_attempt_at = ?1, created_at = min(created_at, ?1)
    WHERE state = 'pending' AND next_attempt_at > ?1 AND (created_at > ?1 OR next_attempt_at > ?2)";
pub(crate) const HELD: &str = "UPDATE outbox SET created_at = ?1, held_until = min(held_until, ?1)
    WHERE state = 'held' AND created_at > ?1";

impl Store {
    /// Takes what a clock has left that was set back to `now`: runs, questions and deliveries, no two attempts of which are
    /// farther apart than `longest_pause_ms`. Answers whether there was anything. Events `approval`.
    ///
    /// # Errors
    /// `Write`: nothing was taken.
    pub async fn take_nearer(
        &self,
        longest_pause_ms: i64,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let mut write =
            self.write("take what the clock has left nearer", Durability::Full, now).await?;
        let runs = write.run(sqlx::query(RUNS).bind(now.0)).await?.rows_affected();
        // Before what is held: that says since when the time for an answer counts.
        let questions = take_questions_nearer(&mut write).await?;
        let grants = take_grants_nearer(&mut write).await?;
        let farthest = now.plus_ms(longest_pause_ms);
        let pending = sqlx::query(PENDING).bind(now.0).bind(farthest.0);
        let pending = write.run(pending).await?.rows_affected();
        let held = write.run(sqlx::query(HELD).bind(now.0)).await?.rows_affected();
        let is_any = runs + pending + held > 0 || questions || grants;
        match is_any {
            true => write.commit().await?,
            false => write.undo().await?,
        }
        Ok(is_any)
    }
}
