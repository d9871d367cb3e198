//! Claims: the one transaction that makes runs out of slots.
//!
//! A claim moves a job to its next slot and inserts the runs for the slots that came, together and
//! on the disk before anything has an effect. Two things keep a slot from firing twice: the claim
//! counts only while the job still has the slot that it answers, and `(job, slot)` is unique in
//! `runs` for ever. All claims of a tick share the same few statements, however many they are. What
//! becomes of a slot is decided elsewhere and handed in.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use crate::causes::{Fired, insert_fired};
use crate::many::Rows;
use crate::row::{Columns, json_list};
use crate::runs::{TOUCH_JOBS, finished_event, insert_runs, run_event, started_event};
use crate::write::{Durability, Query, Write};
use crate::{Store, StoreError};

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

pub(crate) static MOVE: Rows = Rows::new(
    "UPDATE jobs SET next_run_at = claim.column3 FROM (",
    3,
    ") AS claim WHERE jobs.id = claim.column1 AND jobs.next_run_at = claim.column2 AND jobs.enabled = 1",
);
pub(crate) const HOLDS: &str = "SELECT jobs.id FROM jsonb_each(?1) AS claim
    JOIN jobs ON jobs.id = claim.value ->> 0 AND jobs.next_run_at = claim.value ->> 1 AND jobs.enabled = 1";
pub(crate) const REMEMBER: &str = "UPDATE jobs
    SET last_state = ended.value ->> 1, last_error = ended.value ->> 2, last_duration_ms = NULL
    FROM jsonb_each(?1) AS ended WHERE jobs.id = ended.value ->> 0";

impl Store {
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
        let accepted = move_jobs(&mut write, claims).await?;
        let runs: Vec<&Run> = accepted.iter().flat_map(|claim| &claim.runs).collect();
        let inserted = insert_runs(&mut write, &runs).await?;
        let new = || runs.iter().copied().filter(|run| inserted.contains(&run.id));
        remember_ended(&mut write, new().filter(|run| run.state.is_final())).await?;
        remember_begun(&mut write, new().filter(|run| run.state == RunState::Running)).await?;
        let fired = fired_by(claims, new());
        for claim in &accepted {
            let inserted = claim.runs.iter().filter(|run| inserted.contains(&run.id));
            inserted.for_each(|run| tell(&mut write, claim, run));
        }
        let fired_new = insert_fired(&mut write, &fired).await?;
        let claimed = new().map(|run| run.id.clone());
        let fired_new =
            fired.into_iter().map(|fired| fired.run.id).filter(|id| fired_new.contains(id));
        let ids = claimed.chain(fired_new).collect();
        write.commit().await?;
        Ok(ids)
    }
}

/// The events of one new run of a claim.
fn tell(write: &mut Write, claim: &Claim, run: &Run) {
    write.event(EventKind::Run, run_event(run));
    if run.state.is_final() {
        write.event(EventKind::Cron, finished_event(run, &claim.job_id, claim.next_run_at));
    } else if run.state == RunState::Running {
        write.event(EventKind::Cron, started_event(&run.id, &claim.job_id));
    }
}

/// What was fired by runs that are really there.
fn fired_by<'r>(claims: &[Claim], inserted: impl Iterator<Item = &'r Run>) -> Vec<Fired> {
    let mut fired = Vec::new();
    if claims.iter().all(|claim| claim.fired.is_empty()) {
        return fired;
    }
    let mut there: HashSet<String> = inserted.map(|run| run.id.to_string()).collect();
    for one in claims.iter().flat_map(|claim| &claim.fired) {
        let of = one.cause.fields.get("runId").and_then(Value::as_str);
        if of.is_some_and(|id| there.contains(id)) {
            there.insert(one.run.id.to_string());
            fired.push(one.clone());
        }
    }
    fired
}

/// Moves the jobs that still have the claimed slot; answers their claims.
async fn move_jobs<'c>(
    write: &mut Write,
    claims: &'c [Claim],
) -> Result<Vec<&'c Claim>, StoreError> {
    let all: Vec<&Claim> = claims.iter().collect();
    if write.rows(&MOVE, &all, bind_claim).await?.rows_affected() == all.len() as u64 {
        return Ok(all);
    }
    // Somebody was faster with some of them. Which ones can only be asked before they move.
    write.start_over().await?;
    let asked = claims.iter().map(|claim| json!([claim.job_id.as_str(), claim.slot_at.0]));
    let query = sqlx::query(HOLDS).bind(Value::Array(asked.collect()).to_string());
    let held = write.list(query, |row| Columns::of(row).id(JobId::new)).await?;
    let held: HashSet<JobId> = held.into_iter().collect();
    let accepted: Vec<&Claim> = all.into_iter().filter(|c| held.contains(&c.job_id)).collect();
    write.rows(&MOVE, &accepted, bind_claim).await?;
    Ok(accepted)
}

fn bind_claim(query: Query, claim: &&Claim) -> Query {
    query.bind(claim.job_id.as_str()).bind(claim.slot_at.0).bind(claim.next_run_at.map(|at| at.0))
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
