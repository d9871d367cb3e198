//! Claims: the one transaction that makes runs out of slots.
//!
//! A claim moves a job to its next slot and inserts the runs for the slots that came, together and
//! on the disk before anything has an effect. Two things keep a slot from firing twice: the claim
//! counts only while the job still has the slot that it answers, and `(job, slot)` is unique in
//! `runs` for ever. All claims of a tick share the same few statements, however many they are. What
//! becomes of a slot is decided elsewhere and handed in.

use std::collections::{HashMap, HashSet};

use rouse_core::event::EventKind;
use rouse_core::slots::DecidedSlots;
use rouse_core::{JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use crate::causes::{Fired, insert_fired};
use crate::counted::{Counted, add_counted, add_marks, candidates, read_counted, tell_counted};
use crate::many::Rows;
use crate::missed::{ToldMissed, tell as tell_missed};
use crate::row::{Columns, json_list};
use crate::run_events::{finished_event, run_event, started_event};
use crate::runs::{Inserted, TOUCH_JOBS, demand_runs, insert_runs};
use crate::walk::Walk;
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
    /// Up to where the slots of the job are decided by then.
    pub decided: DecidedSlots,
    /// `Queued`, `Skipped` or `Missed` runs, oldest slot first; a `Running` one begins with the
    /// claim, which saves a transaction between its slot and its work.
    pub runs: Vec<Run>,
    /// What holds for those of them that are quiet, such as the job's revision: a slot that is left out is counted into
    /// the row of the one before only under the same. None has a row of its own.
    pub under: Option<String>,
    /// What the ends of final runs of the same call fire: runs of other jobs, each after the one that caused it, and
    /// dropped together with that.
    pub fired: Vec<Fired>,
}

/// What became of claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// The runs that were inserted, in the order given.
    pub runs: Vec<RunId>,
    /// The slots that were counted into the rows of those before.
    pub counted: Vec<Counted>,
}

pub(crate) static MOVE: Rows = Rows::new(
    "UPDATE jobs SET next_run_at = claim.column3, decided_until = claim.column4,
        settled_until = claim.column5 FROM (",
    5,
    ") AS claim WHERE jobs.id = claim.column1 AND jobs.next_run_at = claim.column2 AND jobs.enabled = 1",
);
pub(crate) const HOLDS: &str = "SELECT jobs.id FROM jsonb_each(?1) AS claim
    JOIN jobs ON jobs.id = claim.value ->> 0 AND jobs.next_run_at = claim.value ->> 1 AND jobs.enabled = 1";
pub(crate) const REMEMBER: &str = "UPDATE jobs
    SET last_state = ended.value ->> 1, last_error = ended.value ->> 2, last_duration_ms = NULL
    FROM jsonb_each(?1) AS ended WHERE jobs.id = ended.value ->> 0";

impl Store {
    /// Moves the jobs to their next slots and inserts the runs, all in one transaction. A slot that has a run already is
    /// left alone, and one that is left out as the one before is counted into its row. A run that is final at once is
    /// finished `now`. Events `run`, and of new rows `cron` `finished` for the final ones and `started` for those that
    /// begin.
    ///
    /// # Errors
    /// `Write`: nothing was claimed.
    pub async fn claim(&self, claims: &[Claim], now: UnixMs) -> Result<Claimed, StoreError> {
        self.claim_and_tell(claims, &[], now).await
    }

    /// The same, with what is told of the missed among the new runs.
    ///
    /// # Errors
    /// `Write`: nothing was claimed, and nothing is told.
    pub async fn claim_and_tell(
        &self,
        claims: &[Claim],
        missed: &[ToldMissed],
        now: UnixMs,
    ) -> Result<Claimed, StoreError> {
        if claims.is_empty() {
            return Ok(Claimed::default());
        }
        let mut write = self.write("claim the due slots", Durability::Full, now).await?;
        if !depends_on_answers(claims, missed) {
            let claimed = Claimed { runs: ids_of(claims), counted: Vec::new() };
            let walk = walk_of(&mut write, claims);
            write = match write.commit_after(walk).await? {
                None => return Ok(claimed),
                Some(turn) => turn,
            };
            write.start_over().await?;
        }
        let Accepted { claims: accepted, inserted, counted } =
            claim_what_holds(&mut write, claims, missed).await?;
        let new = || runs_of(&accepted).filter(|run| inserted.contains(&run.id));
        let fired = fired_by(claims, new());
        let planned: HashMap<&RunId, &Counted> =
            counted.iter().map(|counted| (&counted.planned, counted)).collect();
        for claim in &accepted {
            for run in &claim.runs {
                match planned.get(&run.id) {
                    Some(counted) => tell_counted(&mut write, run, counted),
                    None if inserted.contains(&run.id) => tell(&mut write, claim, run),
                    None => {}
                }
            }
        }
        tell_missed(&mut write, missed, new()).await?;
        let fired_new = insert_fired(&mut write, &fired).await?;
        let claimed = new().map(|run| run.id.clone());
        let fired_new =
            fired.into_iter().map(|fired| fired.run.id).filter(|id| fired_new.contains(id));
        let runs = claimed.chain(fired_new).collect();
        write.commit().await?;
        Ok(Claimed { runs, counted })
    }
}

/// Writes claims whose runs wait or begin, with their events. False when not each of them was as it was planned; the
/// transaction is half of something then.
pub(crate) async fn claim_whole(write: &mut Write, claims: &[Claim]) -> Result<bool, StoreError> {
    let walk = walk_of(write, claims);
    match write.go(walk).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_unmet() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether what is written of claims is known only when some of it is: what is left out may be counted into the row before
/// it, may fire other jobs and may be told.
fn depends_on_answers(claims: &[Claim], missed: &[ToldMissed]) -> bool {
    let leaves_out = |claim: &Claim| claim.runs.iter().any(|run| run.state.is_final());
    !missed.is_empty() || claims.iter().any(|claim| !claim.fired.is_empty() || leaves_out(claim))
}

/// What claims all of them, with their events; the walk fails unless each job still has its slot and each slot no run.
fn walk_of(write: &mut Write, claims: &[Claim]) -> Walk {
    let all: Vec<&Claim> = claims.iter().collect();
    let runs: Vec<&Run> = runs_of(&all).collect();
    let mut walk = Walk::default();
    walk.demand_rows(&MOVE, &all, bind_claim);
    demand_runs(&mut walk, &runs, write.now());
    remember(&mut walk, runs.iter().copied());
    for claim in claims {
        for run in &claim.runs {
            tell(write, claim, run);
        }
    }
    walk
}

/// What was claimed.
struct Accepted<'c> {
    claims: Vec<&'c Claim>,
    inserted: Inserted,
    counted: Vec<Counted>,
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
        if one.of_run().is_some_and(|id| there.contains(id)) {
            there.insert(one.run.id.to_string());
            fired.push(one.clone());
        }
    }
    fired
}

/// Claims those of them whose jobs still have their slots, which can only be asked before they move.
async fn claim_what_holds<'c>(
    write: &mut Write,
    claims: &'c [Claim],
    missed: &[ToldMissed],
) -> Result<Accepted<'c>, StoreError> {
    let asked = claims.iter().map(|claim| json!([claim.job_id.as_str(), claim.slot_at.0]));
    let query = sqlx::query(HOLDS).bind(Value::Array(asked.collect()).to_string());
    let held = write.list(query, |row| Columns::of(row).id(JobId::new)).await?;
    let held: HashSet<JobId> = held.into_iter().collect();
    let accepted: Vec<&Claim> = claims.iter().filter(|c| held.contains(&c.job_id)).collect();
    let candidates = candidates(&accepted, claims, missed);
    let mut walk = Walk::default();
    let moves = walk.add_rows(&MOVE, &accepted, bind_claim);
    add_counted(&mut walk, &candidates, write.now().0);
    let done = write.go(walk).await?;
    let counted = read_counted(write, &done[moves..], &candidates)?;
    let runs: Vec<&Run> = runs_of(&accepted).collect();
    let inserted = insert_runs(write, &runs).await?;
    let is_there = |run: &&Run| {
        inserted.contains(&run.id) || counted.iter().any(|counted| counted.planned == run.id)
    };
    let mut walk = Walk::default();
    add_marks(&mut walk, &accepted);
    remember(&mut walk, runs.iter().copied().filter(is_there));
    write.go(walk).await?;
    Ok(Accepted { claims: accepted, inserted, counted })
}

fn ids_of(claims: &[Claim]) -> Vec<RunId> {
    claims.iter().flat_map(|claim| &claim.runs).map(|run| run.id.clone()).collect()
}

fn runs_of<'c>(claims: &[&'c Claim]) -> impl Iterator<Item = &'c Run> {
    claims.iter().flat_map(|claim| &claim.runs)
}

fn bind_claim(query: Query, claim: &&Claim) -> Query {
    let at = |at: Option<UnixMs>| at.map(|at| at.0);
    let query = query.bind(claim.job_id.as_str()).bind(claim.slot_at.0);
    let query = query.bind(at(claim.next_run_at));
    query.bind(at(claim.decided.until)).bind(at(claim.decided.settled_until))
}

/// Adds what the jobs remember of their runs.
fn remember<'r>(walk: &mut Walk, runs: impl Iterator<Item = &'r Run> + Clone) {
    remember_ended(walk, runs.clone().filter(|run| run.state.is_final()));
    remember_begun(walk, runs.filter(|run| run.state == RunState::Running));
}

/// Adds what writes into the state of the jobs when their runs began.
fn remember_begun<'r>(walk: &mut Walk, begun: impl Iterator<Item = &'r Run> + Clone) {
    let Some(at) = begun.clone().filter_map(|run| run.started_at).max() else { return };
    let jobs = json_list(begun.filter_map(|run| run.job_id.as_ref()).map(JobId::as_str));
    walk.add(TOUCH_JOBS, |values| values.bind(at.0).bind(jobs));
}

/// Adds what writes the newest final run of each job into its state.
pub(crate) fn remember_ended<'r>(walk: &mut Walk, ended: impl Iterator<Item = &'r Run>) {
    let mut newest = serde_json::Map::new();
    for run in ended {
        if let Some(job_id) = &run.job_id {
            newest
                .insert(job_id.to_string(), json!([job_id.as_str(), run.state.name(), run.reason]));
        }
    }
    if newest.is_empty() {
        return;
    }
    let rows = Value::Array(newest.into_iter().map(|(_, row)| row).collect());
    walk.add(REMEMBER, |values| values.bind(rows.to_string()));
}
