//! The history of a job: results, usage and states of the newest runs.
//!
//! Runs survive their job, so the history also restores the state of a job that was deleted and comes back.
//! Pitfall: trusting what a client states about a job's past.

use std::collections::HashMap;

use rouse_core::job::JobState;
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, RunState, UnixMs};
use serde_json::Value;

use crate::sql::{
    Store, StoreError, from_columns, json_array_of, json_items, json_list, unindexed,
};

// Runs cancelled before the start were cancelled by the deletion.
pub(crate) const NEWEST_ENDED: &str = concat!(
    "SELECT state, coalesce(error, reason), started_at, finished_at FROM runs
    WHERE job_id = $1 AND finished_at IS NOT NULL AND NOT (",
    unindexed!("state"),
    " = 'cancelled' AND started_at IS NULL)
    ORDER BY created_at DESC, seq DESC LIMIT 100"
);
pub(crate) const LATEST_SLOT: &str = "SELECT max(at) FROM (
    SELECT max(slot_at) AS at FROM runs WHERE job_id = $1 AND slot_at <= $2
    UNION ALL SELECT max(through_at) FROM pruned_slots WHERE job_id = $1 AND through_at <= $2)";
// The `+` keeps SQLite on the index of the job.
pub(crate) const LAST_RESULT: &str = concat!(
    "SELECT result FROM runs
    WHERE job_id = $1 AND ",
    unindexed!("state"),
    " = 'succeeded' AND result IS NOT NULL
    ORDER BY created_at DESC, seq DESC LIMIT 1"
);
pub(crate) const NEWEST_RESULTS: &str = concat!(
    "SELECT id, created_at, result FROM runs
    WHERE job_id = $1 AND ",
    unindexed!("state"),
    " = 'succeeded' AND result IS NOT NULL
    ORDER BY created_at DESC, seq DESC LIMIT $2"
);
pub(crate) const RECENT_USAGE: &str = concat!(
    "SELECT input_tokens, cached_input_tokens, output_tokens, cost_micro_usd FROM runs
    WHERE job_id = $1 AND ",
    unindexed!("state"),
    " IN ('succeeded', 'nothingToReport', 'failed', 'timedOut')
        AND (input_tokens + output_tokens > 0 OR cost_micro_usd > 0)
    ORDER BY created_at DESC, seq DESC LIMIT $2"
);
// A short index scan per job. A window function would read every run of the jobs.
pub(crate) const RECENT_STATES: &str = concat!(
    "SELECT asked.value,
        (SELECT ",
    json_array_of!("state"),
    " FROM
            (SELECT state FROM runs WHERE job_id = asked.value ORDER BY created_at DESC, seq DESC LIMIT $1))
    FROM ",
    json_items!("$2"),
    " AS asked"
);

/// The end of a run, as far as stored with the job.
struct PastEnd {
    state: RunState,
    error: Option<String>,
    started_at: Option<UnixMs>,
    finished_at: UnixMs,
}

from_columns!(PastEnd: state, error, started_at, finished_at);

impl Store {
    /// The job state that results from the newest runs under this id.
    pub async fn state_from_runs(&self, job: &JobId) -> Result<JobState, StoreError> {
        let query = sqlx::query(NEWEST_ENDED).bind(job.as_str());
        Ok(state_after(&self.fetch_all("read the history of the job", query).await?))
    }

    /// The latest slot up to `now` that a job of this id has or had a row for.
    pub async fn latest_slot(
        &self,
        job: &JobId,
        now: UnixMs,
    ) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(LATEST_SLOT).bind(job.as_str()).bind(now.0);
        self.fetch_or_default("read the latest slot of the job", query).await
    }

    /// The newest result of the job's succeeded runs.
    pub async fn last_result(&self, job: &JobId) -> Result<Option<Value>, StoreError> {
        let query = sqlx::query(LAST_RESULT).bind(job.as_str());
        self.fetch_optional("read the last result", query).await
    }

    /// The newest results of the job's succeeded runs: run, creation, result.
    pub async fn newest_results(
        &self,
        job: &JobId,
        limit: u32,
    ) -> Result<Vec<(RunId, UnixMs, Value)>, StoreError> {
        let query = sqlx::query(NEWEST_RESULTS).bind(job.as_str()).bind(limit);
        self.fetch_all("read the newest results", query).await
    }

    /// The newest `limit` states of each job, the newest last; jobs without runs are left out.
    pub async fn recent_states(
        &self,
        jobs: &[JobId],
        limit: u32,
    ) -> Result<HashMap<JobId, Vec<RunState>>, StoreError> {
        let query =
            sqlx::query(RECENT_STATES).bind(limit).bind(json_list(jobs.iter().map(JobId::as_str)));
        let rows: Vec<(JobId, Value)> = self.fetch_all("read the recent runs", query).await?;
        let recent = rows.into_iter().map(|(job, newest_first)| {
            let names = newest_first.as_array().into_iter().flatten().rev();
            // States that this binary does not know are left out.
            let states = names.filter_map(|name| RunState::from_name(name.as_str()?));
            (job, states.collect::<Vec<_>>())
        });
        Ok(recent.filter(|(_, states)| !states.is_empty()).collect())
    }

    /// The usage of the newest ended runs of a job that used anything, the newest first.
    pub async fn recent_usage(&self, job: &JobId, limit: u32) -> Result<Vec<Usage>, StoreError> {
        let query = sqlx::query(RECENT_USAGE).bind(job.as_str()).bind(limit);
        self.fetch_all("read the recent usage", query).await
    }
}

/// The job state after these ends, the newest first.
fn state_after(ends: &[PastEnd]) -> JobState {
    let Some(newest) = ends.first() else { return JobState::default() };
    let conclusive = ends.iter().filter(|end| {
        end.state.is_failure()
            || matches!(end.state, RunState::Succeeded | RunState::NothingToReport)
    });
    let failures = conclusive.take_while(|end| end.state.is_failure()).count();
    JobState {
        last_run_at: ends.iter().find_map(|end| end.started_at),
        last: Some(newest.state).into(),
        last_error: newest.error.clone(),
        last_duration_ms: newest
            .started_at
            .filter(|_| newest.state != RunState::Interrupted)
            .map(|at| newest.finished_at.since(at).max(0)),
        consecutive_failures: u32::try_from(failures).unwrap_or(u32::MAX),
        ..JobState::default()
    }
}
