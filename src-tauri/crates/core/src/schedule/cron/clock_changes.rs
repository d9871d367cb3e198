//! The rule for clock changes: the instants at which matching wall times are slots.
//!
//! Owns the rule of `schedule` in both directions, in whole unix seconds. A fixed time is a slot at the first instant at
//! which the clock shows or has passed that time; an interval pattern has a slot whenever the clock shows a match.
//! Pitfall: taking only the next match of an interval pattern in an overlap, where earlier matches recur in the second
//! pass; or stepping second by second through a gap.

use super::pattern::CronPattern;
use crate::time::Zone;
use crate::time::wall_clock::{WallInstants, WallTime, instants_of, offset_at, wall_at};

impl CronPattern {
    /// The clock reaches unseen times in order, so the first unseen match is the next slot.
    pub(super) fn next_fixed(&self, zone: Zone, after: i64) -> Option<i64> {
        self.next_match(next_unseen(zone, after)).map(|wanted| first_reached(zone, wanted))
    }

    /// The last match among shown and skipped times is the last slot.
    pub(super) fn last_fixed(&self, zone: Zone, until: i64) -> Option<i64> {
        self.last_match(next_unseen(zone, until).minus_second())
            .map(|wanted| first_reached(zone, wanted))
    }

    /// The next slot when the rules change from `old` to `new` at `at`: the first match unseen by the old rules, at the
    /// first instant at which the clock shows or has passed that match by the new rules.
    pub(super) fn next_fixed_by_new_rules(&self, old: Zone, new: Zone, at: i64) -> Option<i64> {
        self.next_match(next_unseen(old, at)).map(|wanted| first_reached(new, wanted))
    }

    pub(super) fn next_interval(&self, zone: Zone, after: i64) -> Option<i64> {
        let shown = wall_at(zone, after);
        let ahead = self.next_shown(zone, after, shown.plus_second());
        // In the first pass of an overlap, the second pass will repeat earlier times.
        let Some((Pass::First, overlap)) = Overlap::around(zone, after, shown) else {
            return ahead;
        };
        let again = self.next_match(overlap.lowest).filter(|wanted| *wanted < overlap.end);
        let again = again.map(|wanted| wanted.0 - offset_at(zone, overlap.change));
        [ahead, again].into_iter().flatten().min()
    }

    pub(super) fn last_interval(&self, zone: Zone, until: i64) -> Option<i64> {
        let shown = wall_at(zone, until);
        let behind = self.last_shown(zone, until, shown);
        // In the second pass, the first pass has shown later times.
        let Some((Pass::Second, overlap)) = Overlap::around(zone, until, shown) else {
            return behind;
        };
        let before =
            self.last_match(overlap.end.minus_second()).filter(|wanted| *wanted >= overlap.lowest);
        let before = before.map(|wanted| wanted.0 - offset_at(zone, overlap.change - 1));
        [behind, before].into_iter().flatten().max()
    }

    /// The first match on the clock's way forward from `from`, after the instant `after`.
    fn next_shown(&self, zone: Zone, after: i64, mut from: WallTime) -> Option<i64> {
        loop {
            match instants_of(zone, self.next_match(from)?) {
                WallInstants::Once(at) => return Some(at),
                WallInstants::Twice { first, second } => {
                    return Some(if first > after { first } else { second });
                }
                WallInstants::Never { gap_end } => from = wall_at(zone, gap_end),
            }
        }
    }

    /// The last match on the clock's way back from `from`, up to the instant `until`.
    fn last_shown(&self, zone: Zone, until: i64, mut from: WallTime) -> Option<i64> {
        loop {
            match instants_of(zone, self.last_match(from)?) {
                WallInstants::Once(at) => return Some(at),
                WallInstants::Twice { first, second } => {
                    return Some(if second <= until { second } else { first });
                }
                WallInstants::Never { gap_end } => from = wall_at(zone, gap_end - 1),
            }
        }
    }
}

/// The times repeated by a clock change.
struct Overlap {
    /// The first second after the clock went back.
    change: i64,
    /// The first repeated time.
    lowest: WallTime,
    /// The end of the repeated times, exclusive.
    end: WallTime,
}

enum Pass {
    First,
    Second,
}

impl Overlap {
    /// The overlap at the instant `at`, when the clock shows `shown`; none outside of an overlap.
    fn around(zone: Zone, at: i64, shown: WallTime) -> Option<(Pass, Self)> {
        let WallInstants::Twice { first, second } = instants_of(zone, shown) else { return None };
        let change =
            zone.offset_period(first).end.expect("BUG: a time comes twice only around a change");
        debug_assert!(change <= second, "a change lies between both instants");
        let end = WallTime(change + offset_at(zone, change - 1));
        let pass = if at < change { Pass::First } else { Pass::Second };
        Some((pass, Self { change, lowest: wall_at(zone, change), end }))
    }
}

/// The first time that the clock has neither shown nor skipped up to and including `at`.
pub(super) fn next_unseen(zone: Zone, at: i64) -> WallTime {
    let shown = wall_at(zone, at);
    match Overlap::around(zone, at, shown) {
        Some((Pass::Second, overlap)) => overlap.end,
        _ => shown.plus_second(),
    }
}

/// The first instant at which the clock shows or has passed `wanted`.
fn first_reached(zone: Zone, wanted: WallTime) -> i64 {
    match instants_of(zone, wanted) {
        WallInstants::Once(at) => at,
        WallInstants::Twice { first, .. } => first,
        WallInstants::Never { gap_end } => gap_end,
    }
}
