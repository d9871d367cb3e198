//! The table `pruned_slots`: slots of pruned runs, which never fire again.
//!
//! A row is a span of slots. Slots at most an hour apart share a span, so a job that fires every second has one row, and a
//! daily job a row per day, merged after 400 days. The price: after a clock jump forward, pruning of the runs of
//! that time, and a rollback, slots inside a span that never fired count as fired: at most an hour of them within the last
//! 400 days. Pitfall: storing only the newest pruned slot, which would block a job for the whole length of such a jump.

use std::collections::BTreeMap;

use rouse_core::JobId;

use crate::sql::{StoreError, Transaction, from_columns};

/// The condition under which a run may be inserted, for a row whose job is `column2` and whose slot is `column4`: the first
/// span that ends at or after the slot does not begin at or before it.
macro_rules! not_pruned {
    () => {
        "((SELECT from_at FROM pruned_slots WHERE job_id = column2 AND through_at >= column4
             ORDER BY through_at LIMIT 1) <= column4) IS NOT TRUE"
    };
}
pub(crate) use not_pruned;

/// Slots at most this far apart share a span.
const MAX_GAP_MS: i64 = 3_600_000;
/// Spans older than this are merged. No plausible clock rollback reaches this far.
const MERGE_AGE_MS: i64 = 400 * 24 * 3_600_000;

pub(crate) const TOUCHING: &str = "SELECT from_at, through_at FROM pruned_slots
    WHERE job_id = $1 AND through_at >= $2 AND from_at <= $3";
const DELETE: &str = "DELETE FROM pruned_slots
    WHERE job_id = $1 AND through_at >= $2 AND through_at <= $3";
const INSERT: &str = "INSERT INTO pruned_slots (job_id, from_at, through_at) VALUES ($1, $2, $3)";

/// A span of slots, both ends included.
#[derive(Clone, Copy)]
pub(crate) struct SlotSpan {
    pub(crate) from: i64,
    pub(crate) through: i64,
}

from_columns!(SlotSpan: from, through);

/// Stores the slots of pruned runs.
pub(crate) async fn add_pruned_slots<'j>(
    tx: &mut Transaction,
    slots: impl Iterator<Item = (&'j JobId, SlotSpan)>,
) -> Result<(), StoreError> {
    let mut by_job: BTreeMap<&JobId, Vec<SlotSpan>> = BTreeMap::new();
    for (job, slot) in slots {
        by_job.entry(job).or_default().push(slot);
    }
    for (job, mut slots) in by_job {
        slots.sort_unstable_by_key(|span| span.through);
        for span in spans_of(&slots) {
            let (from, through) = (span.from - MAX_GAP_MS, span.through.saturating_add(MAX_GAP_MS));
            let touching = touching_spans(tx, job, from, through).await?;
            replace_spans(tx, job, &touching, span).await?;
        }
        merge_old_spans(tx, job).await?;
    }
    Ok(())
}

/// Groups slots, which are sorted by their ends.
fn spans_of(slots: &[SlotSpan]) -> Vec<SlotSpan> {
    let mut spans: Vec<SlotSpan> = Vec::new();
    for slot in slots {
        match spans.last_mut() {
            Some(last) if slot.from - last.through <= MAX_GAP_MS => {
                (last.from, last.through) = (last.from.min(slot.from), slot.through);
            }
            _ => spans.push(*slot),
        }
    }
    spans
}

async fn merge_old_spans(tx: &mut Transaction, job: &JobId) -> Result<(), StoreError> {
    let limit = tx.now().0 - MERGE_AGE_MS;
    let mut old = touching_spans(tx, job, i64::MIN, limit).await?;
    old.retain(|span| span.through <= limit);
    match old.as_slice() {
        [] | [_] => Ok(()),
        [first, rest @ ..] => replace_spans(tx, job, rest, *first).await,
    }
}

async fn touching_spans(
    tx: &mut Transaction,
    job: &JobId,
    from: i64,
    through: i64,
) -> Result<Vec<SlotSpan>, StoreError> {
    tx.fetch_all(sqlx::query(TOUCHING).bind(job.as_str()).bind(from).bind(through)).await
}

/// Replaces spans by their union with `span`.
async fn replace_spans(
    tx: &mut Transaction,
    job: &JobId,
    spans: &[SlotSpan],
    span: SlotSpan,
) -> Result<(), StoreError> {
    let SlotSpan { from, through } = spans.iter().fold(span, |union, other| SlotSpan {
        from: union.from.min(other.from),
        through: union.through.max(other.through),
    });
    tx.execute(sqlx::query(DELETE).bind(job.as_str()).bind(from).bind(through)).await?;
    tx.execute(sqlx::query(INSERT).bind(job.as_str()).bind(from).bind(through)).await.map(drop)
}
