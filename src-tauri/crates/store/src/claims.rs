//! Due slots and their claims: the one transaction that makes runs out of slots.
//!
//! A claim moves a job to its next slot and inserts the runs for the slots that came, together and
//! on the disk before anything has an effect. Two things keep a slot from firing twice: the claim
//! counts only while the job still has the slot that it answers, and `(job, slot)` is unique in
//! `runs` for ever. All claims of a tick share the same few statements, however many they are. What
//! becomes of a slot is decided elsewhere and handed in.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{Job, JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use crate::causes::{Fired, insert_fired};
use crate::jobs::{JobRow, job_columns};
use crate::row::{Columns, json_list};
use crate::runs::{TOUCH_JOBS, finished_event, insert_runs, run_event, started_event};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// A job whose next slot has come.
#[derive(Debug, Clone, PartialEq)]
pub struct DueJob {
    /// The job.
    pub job: Job,
    /// Its runs that are queued.
    pub queued: u32,
    /// Its runs that are at work.
    pub active: u32,
}

/// One job's due slots and what becomes of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The job.
    pub job_id: JobId,
    /// The stored next slot that this answers. When the job has another one by now, the claim is
    /// dropped.
    pub slot_at: UnixMs,
    /// The next slot after it.
    pub next_run_at: Option<UnixMs>,
    /// `Queued`, `Skipped` or `Missed` runs, oldest slot first; a `Running` one begins with the
    /// claim, which saves a transaction between its slot and its work.
    pub runs: Vec<Run>,
    /// What the ends of final runs of the same call fire: runs of other jobs, each after the one that caused it, and
    /// dropped together with that.
    pub fired: Vec<Fired>,
}

/// How many runs of a job are queued, and how many at work. One that waits for a person holds nothing up. Without
/// `INDEXED BY` the second count walks through every run that the job ever had.
macro_rules! load_columns {
    () => {
        "(SELECT count(*) FROM runs INDEXED BY runs_open
            WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'queued'),
         (SELECT count(*) FROM runs INDEXED BY runs_open
            WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'running')"
    };
}
pub(crate) use load_columns;

pub(crate) const DUE: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", ",
    load_columns!(),
    " FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= ?1
     ORDER BY next_run_at LIMIT ?2"
);
pub(crate) const MOVE: &str = "UPDATE jobs SET next_run_at = claim.value ->> 2
    FROM jsonb_each(?1) AS claim
    WHERE jobs.id = claim.value ->> 0 AND jobs.next_run_at = claim.value ->> 1 AND jobs.enabled = 1
    RETURNING id";
pub(crate) const REMEMBER: &str = "UPDATE jobs
    SET last_state = ended.value ->> 1, last_error = ended.value ->> 2, last_duration_ms = NULL
    FROM jsonb_each(?1) AS ended WHERE jobs.id = ended.value ->> 0";

impl Store {
    /// Enabled jobs whose next slot is not after `now`, the earliest first. One whose definition
    /// cannot be read is paused on the spot: it would be due for ever.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn due_jobs(&self, now: UnixMs, limit: u32) -> Result<Vec<DueJob>, StoreError> {
        let query = sqlx::query(DUE).bind(now.0).bind(limit);
        let rows = self.list("read the due jobs", query, |row| {
            let mut columns = Columns::of(row);
            Ok((JobRow::take(&mut columns)?, columns.count()?, columns.count()?))
        });
        let mut due = Vec::new();
        for (row, queued, active) in rows.await? {
            let id = row.id().clone();
            match row.job() {
                Ok(job) => due.push(DueJob { job, queued, active }),
                Err(error) => {
                    tracing::error!(%error, "a due job is paused");
                    self.record_pause(&id, &error.to_string(), now).await?;
                }
            }
        }
        Ok(due)
    }

    /// Moves the jobs to their next slots and inserts the runs, all in one transaction; answers the
    /// runs inserted, in the order given. A slot that has a run already is left alone. A run that
    /// is final at once is finished `now`. Events `run`, and `cron` `finished` for the final ones and
    /// `started` for those that begin.
    ///
    /// # Errors
    /// `Write`: nothing was claimed.
    pub async fn claim(&self, claims: &[Claim], now: UnixMs) -> Result<Vec<RunId>, StoreError> {
        if claims.is_empty() {
            return Ok(Vec::new());
        }
        let mut write = self.write("claim the due slots", Durability::Full, now).await?;
        let moved = move_jobs(&mut write, claims).await?;
        let accepted = claims.iter().filter(|claim| moved.contains(&claim.job_id));
        let runs: Vec<&Run> = accepted.clone().flat_map(|claim| &claim.runs).collect();
        let inserted = insert_runs(&mut write, runs.iter().copied()).await?;
        let new = || runs.iter().copied().filter(|run| inserted.contains(&run.id));
        remember_ended(&mut write, new().filter(|run| run.state.is_final())).await?;
        remember_begun(&mut write, new().filter(|run| run.state == RunState::Running)).await?;
        let mut next = std::collections::HashMap::new();
        next.extend(accepted.map(|claim| (&claim.job_id, claim.next_run_at)));
        let fired = fired_by(claims, &inserted);
        for run in new() {
            write.event(EventKind::Run, run_event(run));
            let Some(job_id) = &run.job_id else { continue };
            let next_run_at = next.get(job_id).copied().flatten();
            if run.state.is_final() {
                write.event(EventKind::Cron, finished_event(run, job_id, next_run_at));
            } else if run.state == RunState::Running {
                write.event(EventKind::Cron, started_event(&run.id, job_id));
            }
        }
        let fired_new = insert_fired(&mut write, &fired).await?;
        write.commit().await?;
        let ids = runs.into_iter().chain(fired.iter().map(|fired| &fired.run)).map(|run| &run.id);
        let is_new = |id: &&RunId| inserted.contains(*id) || fired_new.contains(*id);
        Ok(ids.filter(is_new).cloned().collect())
    }
}

/// What was fired by runs that are really there.
fn fired_by(claims: &[Claim], inserted: &HashSet<RunId>) -> Vec<Fired> {
    let mut there: HashSet<String> = inserted.iter().map(ToString::to_string).collect();
    let mut fired = Vec::new();
    for one in claims.iter().flat_map(|claim| &claim.fired) {
        if one
            .cause
            .fields
            .get("runId")
            .and_then(Value::as_str)
            .is_some_and(|id| there.contains(id))
        {
            there.insert(one.run.id.to_string());
            fired.push(one.clone());
        }
    }
    fired
}

/// Moves the jobs that still have the claimed slot; answers which.
async fn move_jobs(write: &mut Write, claims: &[Claim]) -> Result<HashSet<JobId>, StoreError> {
    let rows = claims.iter().map(|claim| {
        json!([claim.job_id.as_str(), claim.slot_at.0, claim.next_run_at.map(|at| at.0)])
    });
    let query = sqlx::query(MOVE).bind(Value::Array(rows.collect()).to_string());
    let moved = write.list(query, |row| Columns::of(row).id(JobId::new)).await?;
    Ok(moved.into_iter().collect())
}

/// Writes into the state of the jobs when their runs began.
async fn remember_begun<'r>(
    write: &mut Write,
    begun: impl Iterator<Item = &'r Run> + Clone,
) -> Result<(), StoreError> {
    let Some(at) = begun.clone().filter_map(|run| run.started_at).max() else { return Ok(()) };
    let jobs = json_list(begun.filter_map(|run| run.job_id.as_ref()).map(JobId::as_str));
    write.run(sqlx::query(TOUCH_JOBS).bind(at.0).bind(jobs)).await?;
    Ok(())
}

/// Writes the newest final run of each job into its state.
pub(crate) async fn remember_ended<'r>(
    write: &mut Write,
    ended: impl Iterator<Item = &'r Run>,
) -> Result<(), StoreError> {
    let mut newest = serde_json::Map::new();
    for run in ended {
        if let Some(job_id) = &run.job_id {
            newest
                .insert(job_id.to_string(), json!([job_id.as_str(), run.state.name(), run.reason]));
        }
    }
    if newest.is_empty() {
        return Ok(());
    }
    let rows = Value::Array(newest.into_iter().map(|(_, row)| row).collect());
    write.run(sqlx::query(REMEMBER).bind(rows.to_string())).await?;
    Ok(())
}
