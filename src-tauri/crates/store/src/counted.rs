//! Slots that are left out again: counted into the row of the slot before.
//!
//! A job that is paused for a weekend, or whose run goes on for hours, leaves out thousands of slots for one reason. They
//! are one row, from its first slot to its last, with their number. A slot is counted only into the newest row of its job,
//! when that is as quiet, for the same reason and under the same (`Claim::under`), and when no row has this slot or one in
//! between. Rows of later slots, which a clock that was ahead has left, change nothing. What fires something else, and what
//! is told, has a row of its own, since that names it.
//!
//! The slots in the middle have no row to be found by, so whoever inserts a run asks for these spans as well
//! (`not_counted!`): after a clock was set back, none of them comes again. One could get it wrong by counting what a step
//! of the clock jumped over: a job whose clock was a year ahead for a minute would be held up for a year. So many slots
//! at once are counted only when they lie within an hour. The price is that of `pruned_slots`, slots in between that
//! never came by themselves, and those of a new schedule, are taken for fired after a step back over them.

use std::collections::HashSet;

use rouse_core::event::EventKind;
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger};

use crate::StoreError;
use crate::claims::Claim;
use crate::many::Rows;
use crate::missed::ToldMissed;
use crate::retention::not_pruned;
use crate::row::Columns;
use crate::run_events::state_event;
use crate::walk::{Done, Walk};
use crate::write::{Query, Write};

/// The condition under which a run may be inserted, for a row whose job is `column2` and whose slot `column4`: the first
/// row at or after the slot does not stand for it.
macro_rules! not_counted {
    () => {
        "((SELECT since.counted_from FROM runs AS since WHERE since.job_id = column2 AND since.slot_at >= column4
             ORDER BY since.slot_at LIMIT 1) <= column4) IS NOT TRUE"
    };
}
pub(crate) use not_counted;

// The second and the fourth value are the job and the slot, as `not_pruned` wants them.
pub(crate) static COUNT: Rows = Rows::new(
    "UPDATE runs SET slot_at = claim.column4, first_slot_at = coalesce(first_slot_at, slot_at),
        counted_from = coalesce(counted_from, slot_at), stands_for = stands_for + claim.column5,
        created_at = claim.column3, finished_at = claim.column3 FROM (",
    8,
    concat!(
        ") AS claim WHERE runs.seq = (SELECT newest.seq FROM runs AS newest WHERE newest.job_id = claim.column2
                ORDER BY newest.created_at DESC, newest.seq DESC LIMIT 1)
            AND runs.state = claim.column6 AND runs.reason IS claim.column7 AND runs.counted_under = claim.column8
            AND runs.started_at IS NULL AND runs.finished_at IS NOT NULL AND runs.slot_at < claim.column1
            AND NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.job_id = claim.column2
                AND later.slot_at > runs.slot_at AND later.slot_at <= claim.column4)
            AND ",
        not_counted!(),
        " AND ",
        not_pruned!(),
        " RETURNING job_id, id"
    ),
);
pub(crate) static MARK: Rows = Rows::new(
    "UPDATE runs SET counted_under = quiet.column2 FROM (",
    2,
    ") AS quiet WHERE runs.id = quiet.column1",
);

/// Slots that come at once are counted when they lie this close together.
const NEAR_MS: i64 = 3_600_000;

/// A slot that was counted into the row of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The run that the claim had for it, which has no row.
    pub planned: RunId,
    /// The row that stands for it.
    pub into: RunId,
}

/// The first run of a claim, where it may be counted into the row before it.
pub(crate) struct Candidate<'c> {
    run: &'c Run,
    job_id: &'c JobId,
    under: &'c str,
}

/// What of the claims that are `accepted`, out of `all`, may be counted into the rows before.
pub(crate) fn candidates<'c>(
    accepted: &[&'c Claim],
    all: &[Claim],
    told: &[ToldMissed],
) -> Vec<Candidate<'c>> {
    let fired = all.iter().flat_map(|claim| &claim.fired);
    let mut named: HashSet<&str> = fired.filter_map(|fired| fired.of_run()).collect();
    named.extend(told.iter().map(|told| told.run_id.as_str()));
    let candidate = |claim: &&'c Claim| {
        let (job_id, under) = (&claim.job_id, claim.under.as_deref()?);
        let run = claim.runs.first()?;
        let may_be = is_quiet(run) && is_near(run) && !named.contains(run.id.as_str());
        may_be.then_some(Candidate { run, job_id, under })
    };
    accepted.iter().filter_map(candidate).collect()
}

/// Adds what counts slots into the rows before them; answers how many statements that is.
pub(crate) fn add_counted(walk: &mut Walk, candidates: &[Candidate<'_>], now: i64) -> usize {
    walk.add_rows(&COUNT, candidates, |query, Candidate { run, job_id, under }| {
        let slot = run.slot_at.map(|at| at.0);
        query
            .bind(run.first_slot_at.map(|at| at.0).or(slot))
            .bind(job_id.as_str())
            .bind(now)
            .bind(slot)
            .bind(run.stands_for)
            .bind(run.state.name())
            .bind(run.reason.as_deref())
            .bind(*under)
    })
}

/// What was counted, by what the statements answered.
pub(crate) fn read_counted(
    write: &Write,
    done: &[Done],
    candidates: &[Candidate<'_>],
) -> Result<Vec<Counted>, StoreError> {
    let mut counted = Vec::new();
    for done in done {
        let rows = write.read(done, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(JobId::new)?, columns.id(RunId::new)?))
        })?;
        for (job_id, into) in rows {
            let planned = candidates.iter().find(|one| *one.job_id == job_id);
            counted.extend(planned.map(|one| Counted { planned: one.run.id.clone(), into }));
        }
    }
    Ok(counted)
}

/// Adds what lets the next slots be counted into the rows of these claims.
pub(crate) fn add_marks(walk: &mut Walk, claims: &[&Claim]) {
    let newest: Vec<(&Run, &str)> = claims
        .iter()
        .filter_map(|claim| Some((claim.runs.last()?, claim.under.as_deref()?)))
        .filter(|(run, _)| is_quiet(run))
        .collect();
    walk.add_rows(&MARK, &newest, |query: Query, (run, under)| {
        query.bind(run.id.as_str()).bind(*under)
    });
}

/// Tells that a row stands for more now.
pub(crate) fn tell_counted(write: &mut Write, run: &Run, counted: &Counted) {
    write.event(EventKind::Run, state_event(&counted.into, run.job_id.as_ref(), run.state));
}

fn is_near(run: &Run) -> bool {
    let ends = run.slot_at.zip(run.first_slot_at);
    ends.map_or(run.stands_for == 1, |(last, first)| last.since(first) <= NEAR_MS)
}

fn is_quiet(run: &Run) -> bool {
    run.trigger == RunTrigger::Schedule
        && run.slot_at.is_some()
        && matches!(run.state, RunState::Skipped | RunState::Missed)
}
