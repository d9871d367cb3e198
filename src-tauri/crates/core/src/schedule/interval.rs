//! Intervals: slots at `anchor + k·every` for k = 0, 1, 2, …
//!
//! Owns the grid, which depends on the anchor alone, so no late run and no edit moves the grid. An interval below one
//! millisecond has no slots.
//! Pitfall: adding `every` to the time of the last run.

/// The first slot after `after`, or a future anchor. `None` beyond `i64` and for a non-positive interval.
#[must_use]
pub fn every_next_after(anchor: i64, every_ms: i64, after: i64) -> Option<i64> {
    if every_ms <= 0 {
        return None;
    }
    if after < anchor {
        return Some(anchor);
    }
    // 128 bits, because `after - anchor` may not fit into 64.
    let steps = (i128::from(after) - i128::from(anchor)) / i128::from(every_ms) + 1;
    i64::try_from(i128::from(anchor) + steps * i128::from(every_ms)).ok()
}

/// The number of slots in `(from, to]`, at most `cap`. Computed, not enumerated.
#[must_use]
pub fn every_count_slots(anchor: i64, every_ms: i64, from: i64, to: i64, cap: u32) -> u32 {
    let Some(first) = every_next_after(anchor, every_ms, from).filter(|first| *first <= to) else {
        return 0;
    };
    let slots = (i128::from(to) - i128::from(first)) / i128::from(every_ms) + 1;
    u32::try_from(slots).map_or(cap, |slots| slots.min(cap))
}
