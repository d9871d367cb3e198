//! Claims: the transaction that turns due slots into runs.
//!
//! A claim advances a job to its next slot and inserts the runs of the due slots, durable before any effect. Two checks keep
//! a slot from firing twice: the claim counts only while the job still has the slot that it answers, and `(job, slot)` is
//! unique in `runs` for ever. All claims of a tick share a few statements. Never decides what becomes of a slot.

use std::collections::{HashMap, HashSet};

use rouse_core::event::EventKind;
use rouse_core::slots::DecidedSlots;
use rouse_core::{JobId, Run, RunId, RunState, UnixMs};
use serde_json::{Value, json};

use super::coalesce::{
    CoalescedSlot, add_coalesce_keys, add_coalescing, coalesce_candidates, coalesced_slots,
    emit_coalesced,
};
use super::fire::insert_fired_runs;
use super::missed_slots::{MissedSlotNotice, enqueue_missed_notices};
use crate::sql::{
    Batch, Durability, MultiRowSql, Query, Store, StoreError, Transaction, json_rows,
};
use crate::tables::causes::FiredRun;
use crate::tables::event_data::{finished_event, run_event, started_event};
use crate::tables::jobs::{add_last_run_at, add_last_states};
use crate::tables::runs::{InsertedRuns, expect_inserted_runs, insert_runs};

/// The due slots of one job and the decision about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The job.
    pub job_id: JobId,
    /// The claimed slot. If the job has another next slot by now, the claim is dropped.
    pub slot_at: UnixMs,
    /// The next slot after that.
    pub next_run_at: Option<UnixMs>,
    /// The decided slots of the job.
    pub decided: DecidedSlots,
    /// `Queued`, `Skipped` or `Missed` runs, the oldest slot first. A `Running` run begins with the claim, which saves a
    /// transaction between slot and work.
    pub runs: Vec<Run>,
    /// The conditions of skipped and missed slots, such as the job's revision: only slots with the same key are coalesced.
    /// None gives each slot a separate row.
    pub coalesce_key: Option<String>,
    /// Runs of other jobs that the ends of final runs of the same call fire, each after the run that caused it. Dropped
    /// together with that.
    pub fired: Vec<FiredRun>,
}

/// The result of claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimResult {
    /// The inserted runs, in the given order.
    pub runs: Vec<RunId>,
    /// The slots that were coalesced into earlier rows.
    pub coalesced: Vec<CoalescedSlot>,
}

pub(crate) static ADVANCE: MultiRowSql = MultiRowSql::new(
    "UPDATE jobs SET next_run_at = claim.column3, decided_until = claim.column4,
        settled_until = claim.column5 FROM (",
    5,
    ") AS claim WHERE jobs.id = claim.column1 AND jobs.next_run_at = claim.column2 AND jobs.enabled = 1",
);
pub(crate) const VALID: &str = concat!(
    "SELECT jobs.id FROM ",
    json_rows!("$1": 0 => "job", 1 => "slot"),
    " AS claim JOIN jobs ON jobs.id = claim.job AND jobs.next_run_at = claim.slot AND jobs.enabled = 1"
);

impl Store {
    /// Advances the jobs to their next slots and inserts the runs. Skips a slot that has a run, and coalesces skipped slots.
    /// Final runs are finished `now`. Events `run`, and for new rows `cron` `finished` or `started`.
    pub async fn claim(&self, claims: &[Claim], now: UnixMs) -> Result<ClaimResult, StoreError> {
        self.claim_with_notices(claims, &[], now).await
    }

    /// Claims, with notices of missed slots.
    pub async fn claim_with_notices(
        &self,
        claims: &[Claim],
        notices: &[MissedSlotNotice],
        now: UnixMs,
    ) -> Result<ClaimResult, StoreError> {
        if claims.is_empty() {
            return Ok(ClaimResult::default());
        }
        let mut tx = self.begin("claim the due slots", Durability::Full, now).await?;
        if !depends_on_results(claims, notices) {
            let batch = exact_batch(&mut tx, claims);
            tx = match tx.commit_with(batch).await? {
                None => {
                    let runs = claims.iter().flat_map(|claim| &claim.runs);
                    let runs = runs.map(|run| run.id.clone()).collect();
                    return Ok(ClaimResult { runs, coalesced: Vec::new() });
                }
                Some(tx) => tx,
            };
            tx.restart().await?;
        }
        let accepted = claim_valid(&mut tx, claims, notices).await?;
        emit_accepted(&mut tx, &accepted);
        enqueue_missed_notices(&mut tx, notices, accepted.new_runs()).await?;
        let fired = fired_by(claims, accepted.new_runs());
        let new_fired = insert_fired_runs(&mut tx, &fired).await?;
        let fired = fired.into_iter().map(|fired| fired.run.id).filter(|id| new_fired.contains(id));
        let runs = accepted.new_runs().map(|run| run.id.clone()).chain(fired).collect();
        let coalesced = accepted.coalesced;
        tx.commit().await?;
        Ok(ClaimResult { runs, coalesced })
    }
}

/// Claims runs that wait or begin, with events. False if any claim is no longer valid; then the transaction must be rolled
/// back.
pub(super) async fn claim_exactly(
    tx: &mut Transaction,
    claims: &[Claim],
) -> Result<bool, StoreError> {
    let batch = exact_batch(tx, claims);
    match tx.execute_batch(batch).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_unmet_expectation() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether later statements depend on the results of earlier ones: a skipped slot may be coalesced, fire other jobs, or have
/// a notice.
fn depends_on_results(claims: &[Claim], notices: &[MissedSlotNotice]) -> bool {
    let has_final = |claim: &Claim| claim.runs.iter().any(|run| run.state.is_final());
    !notices.is_empty() || claims.iter().any(|claim| !claim.fired.is_empty() || has_final(claim))
}

/// The statements that claim everything, with the events. The batch fails unless each job still has its slot and each slot
/// has no run.
fn exact_batch(tx: &mut Transaction, claims: &[Claim]) -> Batch {
    let all: Vec<&Claim> = claims.iter().collect();
    let runs: Vec<&Run> = runs_of(&all).collect();
    let mut batch = Batch::default();
    batch.expect_rows(&ADVANCE, &all, bind_claim);
    expect_inserted_runs(&mut batch, &runs, tx.now());
    add_job_history(&mut batch, runs.iter().copied());
    for claim in claims {
        for run in &claim.runs {
            emit_claimed(tx, claim, run);
        }
    }
    batch
}

/// The claims that were valid.
struct AcceptedClaims<'c> {
    claims: Vec<&'c Claim>,
    inserted: InsertedRuns,
    coalesced: Vec<CoalescedSlot>,
}

impl<'c> AcceptedClaims<'c> {
    fn new_runs(&self) -> impl Iterator<Item = &'c Run> {
        runs_of(&self.claims).filter(|run| self.inserted.contains(&run.id))
    }
}

/// Claims the slots that their jobs still have, which is only known before the jobs advance.
async fn claim_valid<'c>(
    tx: &mut Transaction,
    claims: &'c [Claim],
    notices: &[MissedSlotNotice],
) -> Result<AcceptedClaims<'c>, StoreError> {
    let slots = claims.iter().map(|claim| json!([claim.job_id.as_str(), claim.slot_at.0]));
    let query = sqlx::query(VALID).bind(Value::Array(slots.collect()).to_string());
    let valid: HashSet<JobId> = tx.fetch_all(query).await?.into_iter().collect();
    let accepted: Vec<&Claim> = claims.iter().filter(|c| valid.contains(&c.job_id)).collect();
    let candidates = coalesce_candidates(&accepted, claims, notices);
    let mut batch = Batch::default();
    let advances = batch.add_rows(&ADVANCE, &accepted, bind_claim);
    add_coalescing(&mut batch, &candidates, tx.now().0);
    let results = tx.execute_batch(batch).await?;
    let coalesced = coalesced_slots(tx, &results[advances..], &candidates)?;
    let runs: Vec<&Run> = runs_of(&accepted).collect();
    let inserted = insert_runs(tx, &runs).await?;
    let is_stored = |run: &&Run| {
        inserted.contains(&run.id) || coalesced.iter().any(|slot| slot.planned == run.id)
    };
    let mut batch = Batch::default();
    add_coalesce_keys(&mut batch, &accepted);
    add_job_history(&mut batch, runs.iter().copied().filter(is_stored));
    tx.execute_batch(batch).await?;
    Ok(AcceptedClaims { claims: accepted, inserted, coalesced })
}

fn emit_accepted(tx: &mut Transaction, accepted: &AcceptedClaims<'_>) {
    let coalesced: HashMap<&RunId, &CoalescedSlot> =
        accepted.coalesced.iter().map(|slot| (&slot.planned, slot)).collect();
    for claim in &accepted.claims {
        for run in &claim.runs {
            match coalesced.get(&run.id) {
                Some(slot) => emit_coalesced(tx, run, slot),
                None if accepted.inserted.contains(&run.id) => emit_claimed(tx, claim, run),
                None => {}
            }
        }
    }
}

/// Emits the events of a new run.
fn emit_claimed(tx: &mut Transaction, claim: &Claim, run: &Run) {
    tx.emit(EventKind::Run, run_event(run));
    if run.state.is_final() {
        tx.emit(EventKind::Cron, finished_event(run, &claim.job_id, claim.next_run_at));
    } else if run.state == RunState::Running {
        tx.emit(EventKind::Cron, started_event(&run.id, &claim.job_id));
    }
}

/// The fired runs whose causing runs were inserted.
fn fired_by<'r>(claims: &[Claim], inserted: impl Iterator<Item = &'r Run>) -> Vec<FiredRun> {
    let mut fired = Vec::new();
    if claims.iter().all(|claim| claim.fired.is_empty()) {
        return fired;
    }
    let mut stored: HashSet<String> = inserted.map(|run| run.id.to_string()).collect();
    for candidate in claims.iter().flat_map(|claim| &claim.fired) {
        if candidate.causing_run().is_some_and(|id| stored.contains(id)) {
            stored.insert(candidate.run.id.to_string());
            fired.push(candidate.clone());
        }
    }
    fired
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

/// Adds the last states and last starts of the jobs of these runs.
fn add_job_history<'r>(batch: &mut Batch, runs: impl Iterator<Item = &'r Run> + Clone) {
    add_last_states(batch, runs.clone().filter(|run| run.state.is_final()));
    let begun = runs.filter(|run| run.state == RunState::Running);
    if let Some(at) = begun.clone().filter_map(|run| run.started_at).max() {
        add_last_run_at(batch, begun.filter_map(|run| run.job_id.as_ref()), at);
    }
}
