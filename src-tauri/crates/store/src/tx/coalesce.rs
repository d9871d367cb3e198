//! Coalescing: consecutive skipped or missed slots share one row.
//!
//! A job that is paused for a weekend skips thousands of slots for the same reason: one row from the first slot to the last,
//! with their number. A slot is coalesced only into the newest row of the job, if that was skipped or missed for the same
//! reason and with the same key (`Claim::coalesce_key`), and if no row has this slot or a slot in between. Rows of later
//! slots, left by a clock that was ahead, do not matter. Slots that fire other jobs or have a notice get separate rows.
//!
//! Slots in the middle have no row, so every insert of a run checks these spans as well (`not_coalesced!`): after a clock
//! rollback no such slot fires again.
//! Pitfall: coalescing a clock jump; a clock that was a year ahead for a minute would block the job for a year. So slots
//! claimed at once are coalesced only within an hour. The price is that of `pruned_slots`.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger};

use super::claim::Claim;
use super::missed_slots::MissedSlotNotice;
use crate::sql::{Batch, MultiRowSql, StatementResult, StoreError, Transaction};
use crate::tables::event_data::run_state_event;
use crate::tables::pruned_slots::not_pruned;
use crate::tables::runs::not_coalesced;

// `not_pruned!` and `not_coalesced!` expect the job in `column2` and the slot in `column4`.
pub(crate) static COALESCE: MultiRowSql = MultiRowSql::new(
    "UPDATE runs SET slot_at = claim.column4, first_slot_at = coalesce(first_slot_at, slot_at),
        counted_from = coalesce(counted_from, slot_at), stands_for = stands_for + claim.column5,
        created_at = claim.column3, finished_at = claim.column3 FROM (",
    8,
    concat!(
        ") AS claim WHERE runs.seq = (SELECT newest.seq FROM runs AS newest WHERE newest.job_id = claim.column2
                ORDER BY newest.created_at DESC, newest.seq DESC LIMIT 1)
            AND runs.state = claim.column6 AND runs.reason IS NOT DISTINCT FROM claim.column7 AND runs.counted_under = claim.column8
            AND runs.started_at IS NULL AND runs.finished_at IS NOT NULL AND runs.slot_at < claim.column1
            AND NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.job_id = claim.column2
                AND later.slot_at > runs.slot_at AND later.slot_at <= claim.column4)
            AND ",
        not_coalesced!(),
        " AND ",
        not_pruned!(),
        " RETURNING job_id, id"
    ),
);
pub(crate) static SET_KEY: MultiRowSql = MultiRowSql::new(
    "UPDATE runs SET counted_under = skipped.column2 FROM (",
    2,
    ") AS skipped WHERE runs.id = skipped.column1",
);

/// Slots claimed at once are coalesced within this span.
const MAX_SPAN_MS: i64 = 3_600_000;

/// A slot that was coalesced into an earlier row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoalescedSlot {
    /// The run in the claim, which has no row.
    pub planned: RunId,
    /// The row that covers the slot.
    pub into: RunId,
}

/// The first run of a claim, which may be coalesced into the row before.
pub(super) struct Candidate<'c> {
    run: &'c Run,
    job_id: &'c JobId,
    key: &'c str,
}

/// The candidates among the `accepted` claims.
pub(super) fn coalesce_candidates<'c>(
    accepted: &[&'c Claim],
    all: &[Claim],
    notices: &[MissedSlotNotice],
) -> Vec<Candidate<'c>> {
    let fired = all.iter().flat_map(|claim| &claim.fired);
    let mut referenced: HashSet<&str> = fired.filter_map(|fired| fired.causing_run()).collect();
    referenced.extend(notices.iter().map(|notice| notice.run_id.as_str()));
    let candidate = |claim: &&'c Claim| {
        let (job_id, key) = (&claim.job_id, claim.coalesce_key.as_deref()?);
        let run = claim.runs.first()?;
        let is_candidate =
            is_skipped_slot(run) && is_within_span(run) && !referenced.contains(run.id.as_str());
        is_candidate.then_some(Candidate { run, job_id, key })
    };
    accepted.iter().filter_map(candidate).collect()
}

/// Adds the statements that coalesce candidates into the rows before.
pub(super) fn add_coalescing(batch: &mut Batch, candidates: &[Candidate<'_>], now: i64) {
    batch.add_rows(&COALESCE, candidates, |query, Candidate { run, job_id, key }| {
        let slot = run.slot_at.map(|at| at.0);
        query
            .bind(run.first_slot_at.map(|at| at.0).or(slot))
            .bind(job_id.as_str())
            .bind(now)
            .bind(slot)
            .bind(run.slot_count)
            .bind(run.state.name())
            .bind(run.reason.as_deref())
            .bind(*key)
    });
}

/// The slots that the statements of `add_coalescing` have coalesced.
pub(super) fn coalesced_slots(
    tx: &Transaction,
    results: &[StatementResult],
    candidates: &[Candidate<'_>],
) -> Result<Vec<CoalescedSlot>, StoreError> {
    let mut coalesced = Vec::new();
    for result in results {
        let rows: Vec<(JobId, RunId)> = tx.decode(result)?;
        for (job_id, into) in rows {
            let candidate = candidates.iter().find(|candidate| *candidate.job_id == job_id);
            let planned = candidate.map(|candidate| candidate.run.id.clone());
            coalesced.extend(planned.map(|planned| CoalescedSlot { planned, into }));
        }
    }
    Ok(coalesced)
}

/// Adds the keys under which later slots may be coalesced into the rows of these claims.
pub(super) fn add_coalesce_keys(batch: &mut Batch, claims: &[&Claim]) {
    let newest: Vec<(&Run, &str)> = claims
        .iter()
        .filter_map(|claim| Some((claim.runs.last()?, claim.coalesce_key.as_deref()?)))
        .filter(|(run, _)| is_skipped_slot(run))
        .collect();
    batch.add_rows(&SET_KEY, &newest, |query, (run, key)| query.bind(run.id.as_str()).bind(*key));
}

/// Emits that a row covers more slots. Event `run`.
pub(super) fn emit_coalesced(tx: &mut Transaction, run: &Run, coalesced: &CoalescedSlot) {
    let data = run_state_event(&coalesced.into, run.job_id.as_ref(), run.state);
    tx.emit(EventKind::Run, data);
}

fn is_within_span(run: &Run) -> bool {
    let ends = run.slot_at.zip(run.first_slot_at);
    ends.map_or(run.slot_count == 1, |(last, first)| last.since(first) <= MAX_SPAN_MS)
}

fn is_skipped_slot(run: &Run) -> bool {
    run.trigger == RunTrigger::Schedule
        && run.slot_at.is_some()
        && matches!(run.state, RunState::Skipped | RunState::Missed)
}
