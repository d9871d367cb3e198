//! Intervals: slots at `anchor + k·every` for k = 0, 1, 2, …
//!
//! The grid hangs on the anchor alone, so it never drifts: neither a late run nor an edit moves it. One could get it
//! wrong by adding `every` to the time of the last run. An interval below one millisecond has no slots.

/// The first slot strictly after `after`; the anchor itself while it is still to come. `None` beyond the range of
/// `i64`, and for an interval that is not positive.
#[must_use]
pub fn every_next_after(anchor: i64, every_ms: i64, after: i64) -> Option<i64> {
    if every_ms <= 0 {
        return None;
    }
    if after < anchor {
        return Some(anchor);
    }
    // In 128 bits, because `after - anchor` alone may not fit into 64.
    let steps = (i128::from(after) - i128::from(anchor)) / i128::from(every_ms) + 1;
    i64::try_from(i128::from(anchor) + steps * i128::from(every_ms)).ok()
}

/// How many slots lie after `from` up to and including `to`, at most `cap`. Computed, not walked.
#[must_use]
pub fn every_count_slots(anchor: i64, every_ms: i64, from: i64, to: i64, cap: u32) -> u32 {
    let Some(first) = every_next_after(anchor, every_ms, from).filter(|first| *first <= to) else {
        return 0;
    };
    let slots = (i128::from(to) - i128::from(first)) / i128::from(every_ms) + 1;
    u32::try_from(slots).map_or(cap, |slots| slots.min(cap))
}
