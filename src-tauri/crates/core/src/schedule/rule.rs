//! The rule for changes of the clock: at which instants the matching times of a wall clock are slots.
//!
//! Owns the two sentences of the module text, for looking forward and for looking back, in whole unix seconds. A fixed
//! time is a slot at the first instant at which the clock shows it or has passed it; an interval pattern has a slot
//! whenever the clock shows a matching time. One could get it wrong by taking the next match alone for an interval in
//! an overlap, where an earlier match comes again in the second pass, or by walking second by second through a gap.

use super::cron::CronPattern;
use super::rules::Zone;
use super::wall::{Instants, Wall, instants_of, offset_at, wall_at};

impl CronPattern {
    /// The clock reaches new times in their own order, so the first match beyond what it has shown is the next slot.
    pub(super) fn next_fixed(&self, zone: Zone, after: i64) -> Option<i64> {
        self.next_match(first_unseen(zone, after)).map(|wanted| first_reached(zone, wanted))
    }

    /// The last match among what the clock has shown or skipped so far is the last slot.
    pub(super) fn last_fixed(&self, zone: Zone, until: i64) -> Option<i64> {
        self.last_match(first_unseen(zone, until).minus_second())
            .map(|wanted| first_reached(zone, wanted))
    }

    /// After the clock went over from the rules `old` to `new` at the instant `at`: the first time that it had neither
    /// shown nor skipped by the old rules, at the first instant at which it shows or has passed it by the new ones.
    pub(super) fn next_fixed_by_new_rules(&self, old: Zone, new: Zone, at: i64) -> Option<i64> {
        self.next_match(first_unseen(old, at)).map(|wanted| first_reached(new, wanted))
    }

    pub(super) fn next_interval(&self, zone: Zone, after: i64) -> Option<i64> {
        let shown = wall_at(zone, after);
        let ahead = self.next_shown(zone, after, shown.plus_second());
        // In the first pass of an overlap the second pass is still to come, with times that the clock has shown before.
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
        // In the second pass the first one is over, with times that the clock has not come to again.
        let Some((Pass::Second, overlap)) = Overlap::around(zone, until, shown) else {
            return behind;
        };
        let before =
            self.last_match(overlap.end.minus_second()).filter(|wanted| *wanted >= overlap.lowest);
        let before = before.map(|wanted| wanted.0 - offset_at(zone, overlap.change - 1));
        [behind, before].into_iter().flatten().max()
    }

    /// The first match on the way of the clock from `from`, just after `after`, as long as it goes forward.
    fn next_shown(&self, zone: Zone, after: i64, mut from: Wall) -> Option<i64> {
        loop {
            match instants_of(zone, self.next_match(from)?) {
                Instants::Once(at) => return Some(at),
                Instants::Twice { first, second } => {
                    return Some(if first > after { first } else { second });
                }
                Instants::Never { gap_end } => from = wall_at(zone, gap_end),
            }
        }
    }

    /// The same way back, from what it shows at `until`.
    fn last_shown(&self, zone: Zone, until: i64, mut from: Wall) -> Option<i64> {
        loop {
            match instants_of(zone, self.last_match(from)?) {
                Instants::Once(at) => return Some(at),
                Instants::Twice { first, second } => {
                    return Some(if second <= until { second } else { first });
                }
                Instants::Never { gap_end } => from = wall_at(zone, gap_end - 1),
            }
        }
    }
}

/// Times that come twice, around one change of the clock.
struct Overlap {
    /// The first second after the clock went back.
    change: i64,
    /// The least time that comes twice.
    lowest: Wall,
    /// The first time above that comes once again.
    end: Wall,
}

enum Pass {
    First,
    Second,
}

impl Overlap {
    /// The overlap around the instant `at`, at which the clock shows `shown`.
    fn around(zone: Zone, at: i64, shown: Wall) -> Option<(Pass, Self)> {
        let Instants::Twice { first, second } = instants_of(zone, shown) else { return None };
        let change = zone.stretch(first).end.expect("BUG: a time comes twice only around a change");
        debug_assert!(change <= second, "one change lies between the two");
        let end = Wall(change + offset_at(zone, change - 1));
        let pass = if at < change { Pass::First } else { Pass::Second };
        Some((pass, Self { change, lowest: wall_at(zone, change), end }))
    }
}

/// The first time that the clock has neither shown nor skipped up to and including `at`.
pub(super) fn first_unseen(zone: Zone, at: i64) -> Wall {
    let shown = wall_at(zone, at);
    match Overlap::around(zone, at, shown) {
        Some((Pass::Second, overlap)) => overlap.end,
        _ => shown.plus_second(),
    }
}

/// The first instant at which the clock shows `wanted` or has passed it.
fn first_reached(zone: Zone, wanted: Wall) -> i64 {
    match instants_of(zone, wanted) {
        Instants::Once(at) => at,
        Instants::Twice { first, .. } => first,
        Instants::Never { gap_end } => gap_end,
    }
}
