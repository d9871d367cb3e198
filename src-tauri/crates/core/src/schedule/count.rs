//! How many slots lie in a span of time, counted without walking them.
//!
//! Days of a month times times of a day; the cost grows with the months and the changes of the clock in the span, never
//! with the slots, so that a year of seconds costs what a year of Mondays does. While the clock is not changed, the
//! times that it shows are the slots. An interval pattern is counted from change to change. Of a fixed one all times
//! that the clock has come to or skipped are counted, and those that are one slot, in a gap and at its end, as one.
//! One could get it wrong by counting local dates: a day of a change has more or fewer hours.

use std::ops::Range;

use super::cron::CronPattern;
use super::rule::first_unseen;
use super::rules::Zone;
use super::wall::{FIRST_SECOND, LAST_SECOND, Wall};

impl CronPattern {
    /// How many slots lie after `from` up to and including `to`, both in unix milliseconds; `u32::MAX` when there are
    /// more than that.
    #[must_use]
    pub fn count_slots(&self, zone: Zone, from: i64, to: i64) -> u32 {
        let from = from.div_euclid(1000).max(FIRST_SECOND);
        let to = to.div_euclid(1000).min(LAST_SECOND);
        if to <= from {
            return 0;
        }
        let count = match self.is_interval() {
            true => shown(zone, from, to).map(|times| self.matches_in(&times)).sum(),
            false => {
                let reached = first_unseen(zone, from)..first_unseen(zone, to);
                let same = gaps(zone, from, to).map(|gap| self.matches_in(&gap).saturating_sub(1));
                self.matches_in(&reached) - same.sum::<u64>()
            }
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Matches on a wall clock without changes.
    fn matches_in(&self, times: &Range<Wall>) -> u64 {
        let ((first, begin), (last, end)) = (times.start.day_and_time(), times.end.day_and_time());
        let days: u64 = self.dates().by_month(first, last).map(u64::from).sum();
        let before = |day, time| if self.dates().has(day) { self.times().before(time) } else { 0 };
        days * self.times().per_day() + before(last, end) - before(first, begin)
    }
}

/// What the clock shows after the second `from` up to and including `to`, from change to change.
fn shown(zone: Zone, from: i64, to: i64) -> impl Iterator<Item = Range<Wall>> {
    let mut at = from + 1;
    std::iter::from_fn(move || {
        let stretch = zone.stretch(at);
        let end = stretch.end.unwrap_or(i64::MAX).min(to + 1);
        let times = (at < end).then_some(Wall(at + stretch.east)..Wall(end + stretch.east));
        at = end;
        times
    })
}

/// The times of each gap in the same span, the one at its end included.
fn gaps(zone: Zone, from: i64, to: i64) -> impl Iterator<Item = Range<Wall>> {
    let mut before = None;
    shown(zone, from - 1, to).filter_map(move |times| {
        let end: Option<Wall> = before.replace(times.end);
        end.filter(|end| *end < times.start).map(|end| end..times.start.plus_second())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;
    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_767_225_600;

    #[test]
    fn a_year_of_seconds_costs_its_months_and_its_changes() {
        let (zone, year) = (Zone::from(chrono_tz::Europe::Berlin), NEW_YEAR + 365 * DAY);
        assert_eq!(shown(zone, NEW_YEAR, year).count(), 3);
        assert_eq!(gaps(zone, NEW_YEAR, year).count(), 1);
        let pattern = CronPattern::parse("* * * * * *").expect("a pattern");
        let (first, last) = (NEW_YEAR / DAY, year / DAY);
        assert_eq!(pattern.dates().by_month(first, last).count(), 12);
        assert_eq!(pattern.count_slots(zone, NEW_YEAR * 1000, year * 1000), 31_536_000);
    }
}
