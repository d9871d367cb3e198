//! The table `pruned_slots`: slots whose runs are gone, and which never fire again all the same.
//!
//! A row is a span of slots. Slots no more than an hour apart share one, so a job that fires every second leaves one
//! row, and a daily one a row a day that is folded into a single one after 400 days. The price of a span is said here:
//! after a step of the clock forth and, when the runs of that time are pruned, back again, slots in between that never
//! fired are taken for fired; by no more than an hour within the last 400 days. A plain "newest pruned slot" would hold
//! a job up for the whole length of such a step.

use std::collections::BTreeMap;

use rouse_core::{JobId, UnixMs};

use super::Doomed;
use crate::StoreError;
use crate::row::Columns;
use crate::write::Write;

/// The condition under which a run may be inserted, for a row whose job is `column2` and whose slot `column4`: the first
/// span that ends at or after the slot does not begin at or before it.
macro_rules! not_pruned {
    () => {
        "((SELECT from_at FROM pruned_slots WHERE job_id = column2 AND through_at >= column4
             ORDER BY through_at LIMIT 1) <= column4) IS NOT TRUE"
    };
}
pub(crate) use not_pruned;

/// Slots this close to each other share a row.
const NEAR_MS: i64 = 3_600_000;
/// Spans older than this become one. Nobody sets a clock back this far and means it.
const LONG_AGO_MS: i64 = 400 * 24 * 3_600_000;

pub(crate) const NEIGHBOURS: &str = "SELECT from_at, through_at FROM pruned_slots
    WHERE job_id = ?1 AND through_at >= ?2 AND from_at <= ?3";
const FORGET: &str = "DELETE FROM pruned_slots
    WHERE job_id = ?1 AND through_at >= ?2 AND through_at <= ?3";
const REMEMBER: &str = "INSERT INTO pruned_slots (job_id, from_at, through_at) VALUES (?1, ?2, ?3)";

/// Slots from the first to the last of a group of pruned runs.
#[derive(Clone, Copy)]
struct Span {
    from: i64,
    through: i64,
}

/// Writes down the slots of runs that go, as part of the write that deletes them.
pub(super) async fn remember(write: &mut Write, doomed: &[Doomed]) -> Result<(), StoreError> {
    let mut slots: BTreeMap<&JobId, Vec<Span>> = BTreeMap::new();
    for run in doomed {
        if let (Some(job), Some(UnixMs(through))) = (&run.job_id, run.slot_at) {
            let from = run.counted_from.map_or(through, |from| from.0);
            slots.entry(job).or_default().push(Span { from, through });
        }
    }
    for (job, mut slots) in slots {
        slots.sort_unstable_by_key(|span| span.through);
        for span in spans(&slots) {
            add(write, job, span).await?;
        }
        fold(write, job).await?;
    }
    Ok(())
}

/// Groups the slots of runs, which come in order.
fn spans(slots: &[Span]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for slot in slots {
        match spans.last_mut() {
            Some(last) if slot.from - last.through <= NEAR_MS => {
                (last.from, last.through) = (last.from.min(slot.from), slot.through);
            }
            _ => spans.push(*slot),
        }
    }
    spans
}

/// Adds a span, as one with those that it touches.
async fn add(write: &mut Write, job: &JobId, span: Span) -> Result<(), StoreError> {
    let touched =
        touched(write, job, span.from - NEAR_MS, span.through.saturating_add(NEAR_MS)).await?;
    replace(write, job, &touched, span).await
}

/// Makes one span of all that ended long ago.
async fn fold(write: &mut Write, job: &JobId) -> Result<(), StoreError> {
    let long_ago = write.now().0 - LONG_AGO_MS;
    let mut old = touched(write, job, i64::MIN, long_ago).await?;
    old.retain(|span| span.through <= long_ago);
    match old.as_slice() {
        [] | [_] => Ok(()),
        [first, rest @ ..] => {
            let first = *first;
            replace(write, job, rest, first).await
        }
    }
}

async fn touched(
    write: &mut Write,
    job: &JobId,
    least: i64,
    most: i64,
) -> Result<Vec<Span>, StoreError> {
    let query = sqlx::query(NEIGHBOURS).bind(job.as_str().to_owned()).bind(least).bind(most);
    write
        .list(query, |row| {
            let mut columns = Columns::of(row);
            Ok(Span { from: columns.get()?, through: columns.get()? })
        })
        .await
}

async fn replace(
    write: &mut Write,
    job: &JobId,
    touched: &[Span],
    span: Span,
) -> Result<(), StoreError> {
    let whole = touched.iter().fold(span, |whole, other| Span {
        from: whole.from.min(other.from),
        through: whole.through.max(other.through),
    });
    let job = job.as_str().to_owned();
    let forget = sqlx::query(FORGET).bind(job.clone()).bind(whole.from).bind(whole.through);
    write.run(forget).await?;
    write.run(sqlx::query(REMEMBER).bind(job).bind(whole.from).bind(whole.through)).await?;
    Ok(())
}
