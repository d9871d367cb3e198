//! The table `incidents`: causes of failures, from the first failure to the first success.
//!
//! Written only as part of the write that ends a run, or that changes its job: a crash leaves either
//! both or none. Whether a failure is a new cause is decided outside. One could get this wrong by
//! ending an incident in a write of its own: the job would start afresh and its incident would not.

use std::collections::HashMap;

use rouse_core::decide::ToldRun;
use rouse_core::incident::{Incident, IncidentEnd, IncidentStep};
use rouse_core::{JobId, Run, RunId, RunState, UnixMs};
use sqlx::sqlite::SqliteRow;

use crate::row::{Columns, json_list};
use crate::write::Write;
use crate::{Store, StoreError};

macro_rules! incident_columns {
    () => {
        "id, job_id, class, cause, opened_at, closed_at, closed_how, count, first_run, last_run, last_at,
         paused_because"
    };
}

pub(crate) const OPEN_OF: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM incidents WHERE coalesce(job_id, '') = ?1 AND closed_at IS NULL ORDER BY last_at DESC, id DESC"
);
// Few incidents are young, and only a failure asks; an index would cost more than it saves.
const RECOVERED: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM (SELECT * FROM incidents ORDER BY id DESC LIMIT 500)
     WHERE coalesce(job_id, '') = ?1 AND closed_at >= ?2 AND closed_how = 'recovered' ORDER BY closed_at DESC"
);
pub(crate) const WITH_OPEN: &str =
    "SELECT DISTINCT coalesce(job_id, '') FROM incidents WHERE closed_at IS NULL";
pub(crate) const OPEN_OF_MANY: &str = concat!(
    "SELECT ",
    incident_columns!(),
    " FROM incidents WHERE coalesce(job_id, '') IN (SELECT value FROM json_each(?1)) AND closed_at IS NULL
      ORDER BY last_at DESC, id DESC"
);
/// What `Incident::keeps_off` says, of many runs.
pub(crate) const TOLD_RUNS: &str = "SELECT id, job_id, job_name, state,
        EXISTS (SELECT 1 FROM incidents JOIN jobs ON jobs.id = runs.job_id
            WHERE coalesce(incidents.job_id, '') = coalesce(runs.job_id, '') AND jobs.enabled = 0
                AND incidents.closed_at IS NULL AND incidents.paused_because IS NOT NULL AND incidents.closed_how IS NOT 'resumed')
    FROM runs WHERE id IN (SELECT value FROM json_each(?1))";
const OPEN: &str = "INSERT INTO incidents
        (job_id, class, cause, opened_at, count, first_run, last_run, last_at)
    VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5, ?4)";
// How it had ended stays: that is how one is known that came back.
const COME_BACK: &str = "UPDATE incidents
    SET count = count + 1, last_run = ?2, last_at = ?3, closed_at = NULL, closed_how = 'recovered',
        paused_because = NULL
    WHERE id = ?1";
const GO_ON: &str = "UPDATE incidents SET count = count + 1, last_run = ?2, last_at = ?3
    WHERE id = ?1 AND closed_at IS NULL";
pub(crate) const END: &str = "UPDATE incidents SET closed_at = ?2, closed_how = ?3
    WHERE coalesce(job_id, '') = ?1 AND closed_at IS NULL";
/// One that had paused its job is over when a run goes well: that is still to be told.
const TAKE_UP: &str = "UPDATE incidents
    SET closed_at = CASE WHEN paused_because IS NULL THEN ?2 END, closed_how = 'resumed'
    WHERE coalesce(job_id, '') = ?1 AND closed_at IS NULL";
const END_TAKEN_UP: &str = "UPDATE incidents SET closed_at = ?2
    WHERE coalesce(job_id, '') = ?1 AND closed_at IS NULL AND closed_how = 'resumed'";
pub(crate) const BLAME: &str = "UPDATE incidents SET paused_because = ?3
    WHERE coalesce(job_id, '') = ?1 AND closed_at IS NULL AND last_run = ?2";

impl Store {
    /// The open incidents of a job, or of the heartbeat, the newest failure first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn open_incidents(&self, job: Option<&JobId>) -> Result<Vec<Incident>, StoreError> {
        let query = sqlx::query(OPEN_OF).bind(key(job));
        self.list("read the incidents", query, read).await
    }

    /// The incidents that a job, or the heartbeat, has recovered from since then, the newest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn recovered_incidents(
        &self,
        job: Option<&JobId>,
        since: UnixMs,
    ) -> Result<Vec<Incident>, StoreError> {
        let query = sqlx::query(RECOVERED).bind(key(job)).bind(since.0);
        self.list("read the incidents", query, read).await
    }

    /// The jobs that have an open incident.
    ///
    /// # Errors
    /// `Read`.
    pub async fn jobs_with_incidents(&self) -> Result<Vec<JobId>, StoreError> {
        let query = sqlx::query(WITH_OPEN);
        self.list("read the incidents", query, |row| Columns::of(row).id(JobId::new)).await
    }

    /// How these runs have ended and whether an incident keeps their jobs off; one that is gone is left out.
    ///
    /// # Errors
    /// `Read`.
    pub async fn told_runs(&self, runs: &[RunId]) -> Result<HashMap<RunId, ToldRun>, StoreError> {
        let query = sqlx::query(TOLD_RUNS).bind(json_list(runs.iter().map(RunId::as_str)));
        let read = |row: &SqliteRow| {
            let mut columns = Columns::of(row);
            let id = columns.id(RunId::new)?;
            let (job_id, job_name) = (columns.some_id(JobId::new)?, columns.get()?);
            let (state, is_paused) = (columns.word(RunState::from_name)?, columns.get()?);
            Ok((id, ToldRun { job_id, job_name, state, is_paused }))
        };
        Ok(self.list("read the runs", query, read).await?.into_iter().collect())
    }

    /// The open incidents of many jobs, the newest failure first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn open_incidents_of(&self, jobs: &[JobId]) -> Result<Vec<Incident>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let query = sqlx::query(OPEN_OF_MANY).bind(json_list(jobs.iter().map(JobId::as_str)));
        self.list("read the incidents", query, read).await
    }
}

/// Carries out what the end of `run` does, as part of a write.
pub(crate) async fn follow(
    write: &mut Write,
    run: &Run,
    step: &IncidentStep,
) -> Result<(), StoreError> {
    let now = write.now();
    let query = match step {
        IncidentStep::Nothing => return Ok(()),
        IncidentStep::Opens { class, cause } => {
            let taken_up = sqlx::query(END_TAKEN_UP).bind(key(run.job_id.as_ref())).bind(now.0);
            write.run(taken_up).await?;
            sqlx::query(OPEN)
                .bind(run.job_id.as_ref().map(JobId::as_str))
                .bind(class.as_str())
                .bind(cause.as_str())
                .bind(now.0)
                .bind(run.id.as_str())
        }
        IncidentStep::GoesOn { id } => {
            sqlx::query(GO_ON).bind(*id).bind(run.id.as_str()).bind(now.0)
        }
        IncidentStep::ComesBack { id, .. } => {
            sqlx::query(COME_BACK).bind(*id).bind(run.id.as_str()).bind(now.0)
        }
        IncidentStep::Recovers { .. } => {
            return end(write, run.job_id.as_ref(), IncidentEnd::Recovered).await;
        }
    };
    write.run(query).await?;
    Ok(())
}

/// Ends all open incidents of a job, as part of a write.
pub(crate) async fn end(
    write: &mut Write,
    job: Option<&JobId>,
    how: IncidentEnd,
) -> Result<(), StoreError> {
    let query = sqlx::query(END).bind(key(job)).bind(write.now().0).bind(how.name());
    write.run(query).await?;
    Ok(())
}

/// Somebody has switched the job on again: a next failure is told anew, as part of a write.
pub(crate) async fn take_up(write: &mut Write, job: &JobId) -> Result<(), StoreError> {
    let query = sqlx::query(TAKE_UP).bind(job.as_str()).bind(write.now().0);
    write.run(query).await?;
    Ok(())
}

/// Writes down that a job was switched off because of the incident that `run` belongs to.
pub(crate) async fn blame(
    write: &mut Write,
    job: &JobId,
    run: &RunId,
    reason: &str,
) -> Result<(), StoreError> {
    let query = sqlx::query(BLAME).bind(job.as_str()).bind(run.as_str()).bind(reason);
    write.run(query).await?;
    Ok(())
}

/// How a job stands in the index; the heartbeat, which is none, as nothing.
fn key(job: Option<&JobId>) -> &str {
    job.map_or("", JobId::as_str)
}

fn read(row: &SqliteRow) -> sqlx::Result<Incident> {
    let mut columns = Columns::of(row);
    let (id, job_id) = (columns.get()?, columns.some_id(JobId::new)?);
    let (class, cause, opened_at) = (columns.get()?, columns.get()?, columns.instant()?);
    let (closed_at, how) = (columns.some_instant()?, columns.some_word(IncidentEnd::from_name)?);
    Ok(Incident {
        id,
        job_id,
        class,
        cause,
        opened_at,
        closed: closed_at.zip(how),
        came_back: closed_at.is_none() && how == Some(IncidentEnd::Recovered),
        taken_up: closed_at.is_none() && how == Some(IncidentEnd::Resumed),
        count: columns.count()?,
        first_run: columns.id(RunId::new)?,
        last_run: columns.id(RunId::new)?,
        last_at: columns.instant()?,
        paused_because: columns.get()?,
    })
}
