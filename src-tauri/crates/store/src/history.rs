//! What the runs of a job say about it.
//!
//! Owns the facts of a job that comes back: its row went when it was deleted, its runs did not. It refuses to look at
//! more than its newest runs. One could get it wrong by taking what a client says of a job's past for true.

use rouse_core::job::JobState;
use rouse_core::{JobId, RunState, UnixMs};

use crate::row::Columns;
use crate::{Store, StoreError};

// What was cancelled before it began was so because the job went.
pub(crate) const NEWEST: &str =
    "SELECT state, coalesce(error, reason), started_at, finished_at FROM runs
    WHERE job_id = ?1 AND finished_at IS NOT NULL AND NOT (+state = 'cancelled' AND started_at IS NULL)
    ORDER BY created_at DESC, seq DESC LIMIT 100";

// Whichever is newer of those that have a row and those that had one.
pub(crate) const NEWEST_SLOT: &str = "SELECT max(at) FROM (
    SELECT max(slot_at) AS at FROM runs WHERE job_id = ?1 AND slot_at <= ?2
    UNION ALL SELECT max(through_at) FROM pruned_slots WHERE job_id = ?1 AND through_at <= ?2)";

/// The end of a run, as far as a job remembers it.
struct End {
    state: RunState,
    error: Option<String>,
    started_at: Option<UnixMs>,
    finished_at: UnixMs,
}

impl Store {
    /// What the newest runs under this id leave in the state of their job; nothing when there are none.
    ///
    /// # Errors
    /// `Read`.
    pub async fn remembered_state(&self, job: &JobId) -> Result<JobState, StoreError> {
        let query = sqlx::query(NEWEST).bind(job.as_str());
        let ends = self.list("read what a job did before", query, |row| {
            let mut columns = Columns::of(row);
            Ok(End {
                state: columns.word(RunState::from_name)?,
                error: columns.get()?,
                started_at: columns.some_instant()?,
                finished_at: columns.instant()?,
            })
        });
        Ok(state_after(&ends.await?))
    }

    /// The newest slot up to `now` that a job of this id has or had a row for.
    ///
    /// # Errors
    /// `Read`.
    pub async fn newest_slot(
        &self,
        job: &JobId,
        now: UnixMs,
    ) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(NEWEST_SLOT).bind(job.as_str()).bind(now.0);
        let newest =
            self.one("read the newest slot of a job", query, |row| Columns::of(row).some_instant());
        Ok(newest.await?.flatten())
    }
}

/// The state that these ends leave, the newest first.
fn state_after(ends: &[End]) -> JobState {
    let Some(newest) = ends.first() else { return JobState::default() };
    let tells = ends.iter().filter(|end| {
        end.state.is_failure()
            || matches!(end.state, RunState::Succeeded | RunState::NothingToReport)
    });
    let failures = tells.take_while(|end| end.state.is_failure()).count();
    JobState {
        last_run_at: ends.iter().find_map(|end| end.started_at),
        last_state: Some(newest.state),
        last_error: newest.error.clone(),
        last_duration_ms: newest
            .started_at
            .filter(|_| newest.state != RunState::Interrupted)
            .map(|at| newest.finished_at.since(at).max(0)),
        consecutive_failures: u32::try_from(failures).unwrap_or(u32::MAX),
        ..JobState::default()
    }
}
