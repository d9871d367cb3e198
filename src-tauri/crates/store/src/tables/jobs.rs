//! The table `jobs`: definitions, and columns that change independently.
//!
//! The columns (enabled, next slot, revision, newest run) are the truth; the stored definition omits these fields. An edit
//! writes the definition and the next slot, the end of a run writes the rest. Never computes a next slot.
//! Pitfall: writing a state that was read before the transaction.

use rouse_core::event::EventKind;
use rouse_core::incident::CONDITION;
use rouse_core::{Job, JobId, Run, RunState, UnixMs};
use serde_json::{Map, Value, json};

use super::event_data::disabled_event;
use super::job_row::{JobRow, definition_of, job_columns};
use crate::sql::{
    Batch, FromColumns, RowReader, Store, StoreError, Transaction, by_index, in_json_list,
    json_list, json_rows,
};

/// Numbers of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    /// All jobs.
    pub all: u32,
    /// Enabled jobs.
    pub enabled: u32,
    /// Jobs whose newest finished runs failed, or whose results could not be checked, enabled or not.
    pub failing: u32,
}

const IS_DISABLED: &str = "SELECT enabled = 0 FROM jobs WHERE id = $1";
pub(crate) const GET: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1");
const INSERT: &str = "INSERT INTO jobs (id, name, enabled, revision, next_run_at, last_run_at, last_state, last_error,
        last_duration_ms, consecutive_failures, definition, decided_until, settled_until)
    VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = concat!(
    "UPDATE jobs SET name = $2, revision = revision + 1, next_run_at = $4, definition = $5, decided_until = $6,
        settled_until = $7,
        consecutive_failures = CASE WHEN enabled < $3 THEN 0 ELSE consecutive_failures END, enabled = $3
     WHERE id = $1 RETURNING ",
    job_columns!()
);
const DELETE: &str = concat!("DELETE FROM jobs WHERE id = $1 RETURNING ", job_columns!());
pub(crate) const COUNT: &str =
    "SELECT count(*), sum(enabled), count(*) FILTER (WHERE consecutive_failures > 0) +
        (SELECT count(DISTINCT healthy.id) FROM incidents JOIN jobs AS healthy ON healthy.id = coalesce(incidents.job_id, '')
         WHERE incidents.closed_at IS NULL AND incidents.closed_how IS DISTINCT FROM 'resumed' AND healthy.consecutive_failures = 0
            AND (incidents.class = $1 OR incidents.paused_because IS NOT NULL AND healthy.enabled = 0))
    FROM jobs";
const IDS: &str = "SELECT id FROM jobs";
const EXISTS: &str = "SELECT 1 FROM jobs WHERE id = $1";
/// The index of the list contains all names, but no definitions.
const OTHER_NAMED: &str = concat!(
    "SELECT 1 FROM ",
    by_index!("jobs", "jobs_listed"),
    " WHERE name = $1 AND id <> $2 LIMIT 1"
);
const DISABLE: &str =
    "UPDATE jobs SET enabled = 0, next_run_at = NULL, revision = revision + 1 WHERE id = $1";
pub(crate) const SET_LAST_RUN_AT: &str =
    concat!("UPDATE jobs SET last_run_at = $1 WHERE id ", in_json_list!("$2"));
pub(crate) const SET_LAST_STATES: &str = concat!(
    "UPDATE jobs SET last_state = ended.state, last_error = ended.error, last_duration_ms = NULL FROM ",
    json_rows!("$1": 0 => "job", 1 => "state", 2 => "error"),
    " AS ended WHERE jobs.id = ended.job"
);

impl FromColumns<'_> for JobCounts {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        // The sums are NULL in an empty table.
        let (all, enabled, failing) = row.read::<(_, Option<u32>, Option<u32>)>()?;
        Ok(Self { all, enabled: enabled.unwrap_or_default(), failing: failing.unwrap_or_default() })
    }
}

impl Store {
    /// One job.
    ///
    /// # Errors
    /// `Unreadable`.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        let row = self.fetch_optional("read the job", sqlx::query(GET).bind(id.as_str())).await?;
        row.map(JobRow::into_job).transpose()
    }

    /// Whether the job exists, readable or not.
    pub async fn has_job(&self, id: &JobId) -> Result<bool, StoreError> {
        self.exists("look for the job", sqlx::query(EXISTS).bind(id.as_str())).await
    }

    /// Whether a job other than `except` has exactly this name. Names are not unique.
    pub async fn has_other_job_named(
        &self,
        name: &str,
        except: &JobId,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(OTHER_NAMED).bind(name).bind(except.as_str());
        self.exists("look for a job of this name", query).await
    }

    /// The ids of all jobs, readable or not.
    pub async fn job_ids(&self) -> Result<Vec<JobId>, StoreError> {
        self.fetch_all("list the jobs", sqlx::query(IDS)).await
    }

    /// The numbers of jobs.
    pub async fn job_counts(&self) -> Result<JobCounts, StoreError> {
        self.fetch_or_default("count the jobs", sqlx::query(COUNT).bind(CONDITION)).await
    }
}

/// Inserts a job; false if the id is taken.
pub(crate) async fn insert_job(tx: &mut Transaction, job: &Job) -> Result<bool, StoreError> {
    let state = &job.state;
    let query = sqlx::query(INSERT)
        .bind(job.id.as_str())
        .bind(job.name.as_str())
        .bind(job.enabled)
        .bind(state.next_run_at.map(|at| at.0))
        .bind(state.last_run_at.map(|at| at.0))
        .bind(state.last.state.map(RunState::name))
        .bind(state.last_error.as_deref())
        .bind(state.last_duration_ms)
        .bind(state.consecutive_failures)
        .bind(definition_of(job))
        .bind(state.decided.until.map(|at| at.0))
        .bind(state.decided.settled_until.map(|at| at.0));
    Ok(tx.execute(query).await? > 0)
}

/// Replaces the definition and the next slot of a job. Enabling resets the consecutive failures, or the next failure would
/// pause the job again.
pub(crate) async fn update_job(
    tx: &mut Transaction,
    job: &Job,
) -> Result<Option<JobRow>, StoreError> {
    let query = sqlx::query(UPDATE)
        .bind(job.id.as_str())
        .bind(job.name.as_str())
        .bind(job.enabled)
        .bind(job.state.next_run_at.map(|at| at.0))
        .bind(definition_of(job))
        .bind(job.state.decided.until.map(|at| at.0))
        .bind(job.state.decided.settled_until.map(|at| at.0));
    tx.fetch_optional(query).await
}

pub(crate) async fn delete_job(
    tx: &mut Transaction,
    id: &JobId,
) -> Result<Option<JobRow>, StoreError> {
    tx.fetch_optional(sqlx::query(DELETE).bind(id.as_str())).await
}

pub(crate) async fn job_exists(tx: &mut Transaction, id: &JobId) -> Result<bool, StoreError> {
    tx.exists(sqlx::query(EXISTS).bind(id.as_str())).await
}

pub(crate) async fn is_job_disabled(tx: &mut Transaction, id: &JobId) -> Result<bool, StoreError> {
    let disabled = tx.fetch_optional(sqlx::query(IS_DISABLED).bind(id.as_str())).await?;
    Ok(disabled.unwrap_or(false))
}

/// Disables a job; false if missing. The last error stays. Event `cron` `updated` with the reason as `error`.
pub(crate) async fn disable_job(
    tx: &mut Transaction,
    id: &JobId,
    reason: &str,
) -> Result<bool, StoreError> {
    if tx.execute(sqlx::query(DISABLE).bind(id.as_str())).await? == 0 {
        return Ok(false);
    }
    tx.emit(EventKind::Cron, disabled_event(id, reason));
    Ok(true)
}

/// Adds the instant at which the newest runs of these jobs began.
pub(crate) fn add_last_run_at<'j>(
    batch: &mut Batch,
    jobs: impl Iterator<Item = &'j JobId>,
    at: UnixMs,
) {
    let jobs = json_list(jobs.map(JobId::as_str));
    batch.add(SET_LAST_RUN_AT, |values| values.bind(at.0).bind(jobs));
}

/// Adds the state of the newest of these final runs of each job, unless there are none.
pub(crate) fn add_last_states<'r>(batch: &mut Batch, ended: impl Iterator<Item = &'r Run>) {
    let mut newest = Map::new();
    for run in ended {
        if let Some(job_id) = &run.job_id {
            let row = json!([job_id.as_str(), run.state.name(), run.reason]);
            newest.insert(job_id.to_string(), row);
        }
    }
    if newest.is_empty() {
        return;
    }
    let rows = Value::Array(newest.into_iter().map(|(_, row)| row).collect());
    batch.add(SET_LAST_STATES, |values| values.bind(rows.to_string()));
}
