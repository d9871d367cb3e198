//! The table `causes`: what fired a run that no slot asked for.
//!
//! Owns the promise that an event fires a job at most once: its id is unique per job for ever, and run and cause are
//! inserted in the transaction that makes the event a fact (the end of the run before, the queued line, the accepted
//! call). A crash leaves either both or none, so a chain of jobs loses no link and doubles none. A run that makes up for
//! another one has the same cause, without its id.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{Cause, Job, JobId, Run, RunId, UnixMs};
use serde_json::{Value, json};

use crate::claims::remember_ended;
use crate::due::{DueJob, load_columns};
use crate::jobs::{JobRow, job_columns};
use crate::row::{Columns, json_list};
use crate::run_events::{finished_event, run_event};
use crate::runs::insert_runs;
use crate::walk::Walk;
use crate::webhooks::remember;
use crate::write::{Durability, Write};
use crate::{Store, StoreError, WebhookCall};

/// A run that an event fired: `Queued`, or `Skipped` with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Fired {
    /// The run.
    pub run: Run,
    /// The event.
    pub cause: Cause,
}

impl Fired {
    /// The run whose end the event was.
    pub(crate) fn of_run(&self) -> Option<&str> {
        self.cause.fields.get("runId").and_then(Value::as_str)
    }
}

pub(crate) const WITH_LOAD: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", ",
    load_columns!(),
    " FROM jobs WHERE id IN (SELECT value FROM json_each(?1)) AND enabled = 1"
);
pub(crate) const LISTENING: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE definition ->> '$.schedule.kind' = 'event' AND enabled = 1"
);
pub(crate) const OF_RUN: &str = "SELECT cause FROM causes WHERE run_id = ?1";
pub(crate) const KNOWN: &str = "SELECT asked.key FROM json_each(?1) AS asked
    WHERE EXISTS (SELECT 1 FROM causes
        WHERE job_id = asked.value ->> 0 AND id = asked.value ->> 1 AND id IS NOT NULL)";
const INSERT: &str = "INSERT INTO causes (run_id, job_id, id, cause)
    SELECT value ->> 0, value ->> 1, value ->> 2, value -> 3 FROM jsonb_each(?1)";
const COPY: &str = "INSERT INTO causes (run_id, job_id, id, cause)
    SELECT ?2, job_id, NULL, cause FROM causes WHERE run_id = ?1";

impl Store {
    /// Enabled jobs that wait for events. One whose definition cannot be read is logged and left out.
    ///
    /// # Errors
    /// `Read`.
    pub async fn listening_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let rows = self.list("read the event jobs", sqlx::query(LISTENING), JobRow::read).await?;
        Ok(rows.into_iter().filter_map(readable).collect())
    }

    /// Of these jobs those that are enabled, each with what it is busy with.
    ///
    /// # Errors
    /// `Read`.
    pub async fn jobs_with_load(&self, ids: &[JobId]) -> Result<Vec<DueJob>, StoreError> {
        let query = sqlx::query(WITH_LOAD).bind(json_list(ids.iter().map(JobId::as_str)));
        let rows = self.list("read the jobs", query, |row| {
            let mut columns = Columns::of(row);
            Ok((JobRow::take(&mut columns)?, columns.count()?, columns.count()?))
        });
        let jobs = rows.await?.into_iter().filter_map(|(row, queued, active)| {
            readable(row).map(|job| DueJob::of(job, queued, active))
        });
        Ok(jobs.collect())
    }

    /// What fired a run; none when a slot or a person did.
    ///
    /// # Errors
    /// `Read`.
    pub async fn cause(&self, run: &RunId) -> Result<Option<Cause>, StoreError> {
        let query = sqlx::query(OF_RUN).bind(run.as_str());
        let cause = self.one("read the cause", query, |row| Columns::of(row).json()).await?;
        Ok(cause.as_ref().and_then(Cause::from_json))
    }

    /// Inserts what a call of a webhook fired, and remembers the key of the call; answers the runs that are new.
    ///
    /// # Errors
    /// `Write`: nothing was inserted.
    pub async fn fire(
        &self,
        fired: &[Fired],
        call: Option<&WebhookCall>,
        now: UnixMs,
    ) -> Result<HashSet<RunId>, StoreError> {
        let mut write = self.write("save what the webhook fired", Durability::Full, now).await?;
        let inserted = insert_fired(&mut write, fired).await?;
        if let Some(call) = call {
            remember(&mut write, call).await?;
        }
        write.commit().await?;
        Ok(inserted)
    }
}

fn readable(row: JobRow) -> Option<Job> {
    row.readable("a job hears of no event")
}

/// Inserts what an event fired as part of a write; answers the runs that are new. Events `run`, and `cron` `finished`
/// for those that are final at once.
pub(crate) async fn insert_fired(
    write: &mut Write,
    fired: &[Fired],
) -> Result<HashSet<RunId>, StoreError> {
    if fired.is_empty() {
        return Ok(HashSet::new());
    }
    let known = known(write, fired).await?;
    let new = fired.iter().enumerate().filter(|(index, _)| !known.contains(index));
    let new: Vec<&Fired> = new.map(|(_, fired)| fired).collect();
    let runs: Vec<&Run> = new.iter().map(|fired| &fired.run).collect();
    let inserted = insert_runs(write, &runs).await?;
    let is_new = |fired: &&&Fired| inserted.contains(&fired.run.id);
    let causes = new.iter().filter(is_new).map(|Fired { run, cause }| {
        let job_id = run.job_id.as_ref().map(JobId::as_str);
        json!([run.id.as_str(), job_id, cause.id, cause.to_json()])
    });
    let causes = Value::Array(causes.collect()).to_string();
    let runs = || new.iter().filter(is_new).map(|fired| &fired.run);
    let mut walk = Walk::default();
    walk.add(INSERT, |values| values.bind(causes));
    remember_ended(&mut walk, runs().filter(|run| run.state.is_final()));
    write.go(walk).await?;
    for run in runs() {
        write.event(EventKind::Run, run_event(run));
        if let Some(job_id) = run.job_id.as_ref().filter(|_| run.state.is_final()) {
            write.event(EventKind::Cron, finished_event(run, job_id, None));
        }
    }
    Ok(runs().map(|run| run.id.clone()).collect())
}

/// Which of them their jobs were fired by before.
async fn known(write: &mut Write, fired: &[Fired]) -> Result<HashSet<usize>, StoreError> {
    let asked = fired
        .iter()
        .map(|Fired { run, cause }| json!([run.job_id.as_ref().map(JobId::as_str), cause.id]));
    let query = sqlx::query(KNOWN).bind(Value::Array(asked.collect()).to_string());
    let known = write.list(query, |row| Columns::of(row).count()).await?;
    Ok(known.into_iter().map(|index| index as usize).collect())
}

/// What fired `of` is what `to` works on, too; as part of a write.
pub(crate) async fn copy_cause(
    write: &mut Write,
    of: &RunId,
    to: &RunId,
) -> Result<(), StoreError> {
    write.run(sqlx::query(COPY).bind(of.as_str()).bind(to.as_str())).await?;
    Ok(())
}
