//! The table `incidents`: causes of failures, from the first failure to the first success.
//!
//! Written only in the transaction that ends a run or changes its job. Never decides whether a failure is a new cause.
//! Pitfall: closing an incident in a separate transaction; a crash in between resets the job but not the incident.

use std::collections::HashMap;

use rouse_core::decide::DigestRun;
use rouse_core::incident::{Incident, IncidentEnd, IncidentStep};
use rouse_core::{JobId, Run, RunId, UnixMs};

use crate::sql::{
    FromColumns, RowReader, Store, StoreError, Transaction, from_columns, in_json_list, json_list,
};

/// The columns that `Incident` reads, in order.
macro_rules! incident_columns {
    () => {
        "id, job_id, class, cause, opened_at, closed_at, closed_how, count, first_run, last_run, last_at,
         paused_because"
    };
}

pub(crate) const OPEN_OF_JOB: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM incidents WHERE coalesce(job_id, '') = $1 AND closed_at IS NULL ORDER BY last_at DESC, id DESC"
);
// Few incidents are recent, and only failures query them; an index would not pay off.
const RECOVERED: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM (SELECT * FROM incidents ORDER BY id DESC LIMIT 500)
     WHERE coalesce(job_id, '') = $1 AND closed_at >= $2 AND closed_how = 'recovered' ORDER BY closed_at DESC"
);
pub(crate) const JOBS_WITH_OPEN: &str =
    "SELECT DISTINCT coalesce(job_id, '') FROM incidents WHERE closed_at IS NULL";
pub(crate) const OPEN_OF_JOBS: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM incidents WHERE coalesce(job_id, '') ",
    in_json_list!("$1"),
    " AND closed_at IS NULL
      ORDER BY last_at DESC, id DESC"
);
/// The last column is `Incident::keeps_job_disabled` in SQL, for many runs.
pub(crate) const ANNOUNCED_RUNS: &str = concat!(
    "SELECT id, job_id, job_name, state,
        EXISTS (SELECT 1 FROM incidents JOIN jobs ON jobs.id = runs.job_id
            WHERE coalesce(incidents.job_id, '') = coalesce(runs.job_id, '') AND jobs.enabled = 0
                AND incidents.closed_at IS NULL AND incidents.paused_because IS NOT NULL AND incidents.closed_how IS DISTINCT FROM 'resumed')
    FROM runs WHERE id ",
    in_json_list!("$1")
);
const OPEN: &str = "INSERT INTO incidents
        (job_id, class, cause, opened_at, count, first_run, last_run, last_at)
    VALUES ($1, $2, $3, $4, 1, $5, $5, $4)";
// `closed_how` stays and marks an incident that recurred.
const REOPEN: &str = "UPDATE incidents
    SET count = count + 1, last_run = $2, last_at = $3, closed_at = NULL, closed_how = 'recovered',
        paused_because = NULL
    WHERE id = $1";
const CONTINUE: &str = "UPDATE incidents SET count = count + 1, last_run = $2, last_at = $3
    WHERE id = $1 AND closed_at IS NULL";
pub(crate) const CLOSE: &str = "UPDATE incidents SET closed_at = $2, closed_how = $3
    WHERE coalesce(job_id, '') = $1 AND closed_at IS NULL";
/// An incident that paused its job stays open until a run succeeds: its recovery is to be announced.
const RESUME: &str = "UPDATE incidents
    SET closed_at = CASE WHEN paused_because IS NULL THEN $2 END, closed_how = 'resumed'
    WHERE coalesce(job_id, '') = $1 AND closed_at IS NULL";
const CLOSE_RESUMED: &str = "UPDATE incidents SET closed_at = $2
    WHERE coalesce(job_id, '') = $1 AND closed_at IS NULL AND closed_how = 'resumed'";
pub(crate) const SET_PAUSE_REASON: &str = "UPDATE incidents SET paused_because = $3
    WHERE coalesce(job_id, '') = $1 AND closed_at IS NULL AND last_run = $2";

impl FromColumns<'_> for Incident {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (id, job_id) = row.read()?;
        let (class, cause, opened_at) = row.read()?;
        let (closed_at, closed_how) = row.read()?;
        Ok(Self {
            id,
            job_id,
            class,
            cause,
            opened_at,
            closed: Option::zip(closed_at, closed_how),
            came_back: closed_at.is_none() && closed_how == Some(IncidentEnd::Recovered),
            taken_up: closed_at.is_none() && closed_how == Some(IncidentEnd::Resumed),
            count: row.read()?,
            first_run: row.read()?,
            last_run: row.read()?,
            last_at: row.read()?,
            paused_because: row.read()?,
        })
    }
}

from_columns!(DigestRun: job_id, job_name, state, is_paused);

impl Store {
    /// The open incidents of a job, or of the heartbeat, the newest failure first.
    pub async fn open_incidents(&self, job: Option<&JobId>) -> Result<Vec<Incident>, StoreError> {
        self.fetch_all("read the incidents", sqlx::query(OPEN_OF_JOB).bind(key_of(job))).await
    }

    /// The open incidents of many jobs, the newest failure first.
    pub async fn open_incidents_of(&self, jobs: &[JobId]) -> Result<Vec<Incident>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let query = sqlx::query(OPEN_OF_JOBS).bind(json_list(jobs.iter().map(JobId::as_str)));
        self.fetch_all("read the incidents", query).await
    }

    /// The incidents that a job, or the heartbeat, recovered from since `since`, the newest first.
    pub async fn recovered_incidents(
        &self,
        job: Option<&JobId>,
        since: UnixMs,
    ) -> Result<Vec<Incident>, StoreError> {
        let query = sqlx::query(RECOVERED).bind(key_of(job)).bind(since.0);
        self.fetch_all("read the incidents", query).await
    }

    /// The jobs with an open incident.
    pub async fn jobs_with_incidents(&self) -> Result<Vec<JobId>, StoreError> {
        self.fetch_all("read the incidents", sqlx::query(JOBS_WITH_OPEN)).await
    }

    /// The states of runs for a digest, and whether an incident has paused their jobs; missing runs are left out.
    pub async fn announced_runs(
        &self,
        runs: &[RunId],
    ) -> Result<HashMap<RunId, DigestRun>, StoreError> {
        let query = sqlx::query(ANNOUNCED_RUNS).bind(json_list(runs.iter().map(RunId::as_str)));
        let rows: Vec<(RunId, DigestRun)> = self.fetch_all("read the runs", query).await?;
        Ok(rows.into_iter().collect())
    }
}

/// Applies the incident step of a run's end.
pub(crate) async fn apply_incident_step(
    tx: &mut Transaction,
    run: &Run,
    step: &IncidentStep,
) -> Result<(), StoreError> {
    let now = tx.now();
    let job = run.job_id.as_ref();
    let query = match step {
        IncidentStep::Nothing => return Ok(()),
        IncidentStep::Opened { class, cause } => {
            tx.execute(sqlx::query(CLOSE_RESUMED).bind(key_of(job)).bind(now.0)).await?;
            sqlx::query(OPEN)
                .bind(job.map(JobId::as_str))
                .bind(class.as_str())
                .bind(cause.as_str())
                .bind(now.0)
                .bind(run.id.as_str())
        }
        IncidentStep::Recurred { id } => {
            sqlx::query(CONTINUE).bind(*id).bind(run.id.as_str()).bind(now.0)
        }
        IncidentStep::Reopened { id, .. } => {
            sqlx::query(REOPEN).bind(*id).bind(run.id.as_str()).bind(now.0)
        }
        IncidentStep::Resolved { .. } => {
            return close_incidents(tx, job, IncidentEnd::Recovered).await;
        }
    };
    tx.execute(query).await.map(drop)
}

/// Closes all open incidents of a job.
pub(crate) async fn close_incidents(
    tx: &mut Transaction,
    job: Option<&JobId>,
    end: IncidentEnd,
) -> Result<(), StoreError> {
    let query = sqlx::query(CLOSE).bind(key_of(job)).bind(tx.now().0).bind(end.name());
    tx.execute(query).await.map(drop)
}

/// Marks the incidents of a job that a person enabled again: the next failure is announced anew.
pub(crate) async fn resume_incidents(tx: &mut Transaction, job: &JobId) -> Result<(), StoreError> {
    tx.execute(sqlx::query(RESUME).bind(job.as_str()).bind(tx.now().0)).await.map(drop)
}

/// Writes why the incident of `run` paused its job.
pub(crate) async fn set_pause_reason(
    tx: &mut Transaction,
    job: &JobId,
    run: &RunId,
    reason: &str,
) -> Result<(), StoreError> {
    let query = sqlx::query(SET_PAUSE_REASON).bind(job.as_str()).bind(run.as_str()).bind(reason);
    tx.execute(query).await.map(drop)
}

/// The job in the index `incidents_open`; empty for the heartbeat.
fn key_of(job: Option<&JobId>) -> &str {
    job.map_or("", JobId::as_str)
}
