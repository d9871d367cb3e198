//! The number of slots in a span, computed without enumeration.
//!
//! Owns the count: days of each month times times of a day. The cost grows with the months and clock changes in the span,
//! not with the slots. An interval pattern is counted between clock changes. For a fixed pattern all shown and skipped
//! times are counted, and the times of a gap with the end as a single slot.
//! Pitfall: counting local dates; the day of a clock change has more or fewer hours.

use std::ops::Range;

use super::clock_changes::next_unseen;
use super::pattern::CronPattern;
use crate::time::Zone;
use crate::time::wall_clock::{FIRST_SECOND, LAST_SECOND, WallTime};

impl CronPattern {
    /// The number of slots in `(from, to]`, both in unix milliseconds, at most `u32::MAX`.
    #[must_use]
    pub fn count_slots(&self, zone: Zone, from: i64, to: i64) -> u32 {
        let from = from.div_euclid(1000).max(FIRST_SECOND);
        let to = to.div_euclid(1000).min(LAST_SECOND);
        if to <= from {
            return 0;
        }
        let count = if self.is_interval() {
            shown(zone, from, to).map(|times| self.matches_in(&times)).sum()
        } else {
            let reached = next_unseen(zone, from)..next_unseen(zone, to);
            let same = gaps(zone, from, to).map(|gap| self.matches_in(&gap).saturating_sub(1));
            self.matches_in(&reached) - same.sum::<u64>()
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Matches in a range of wall times, clock changes aside.
    fn matches_in(&self, times: &Range<WallTime>) -> u64 {
        let ((first, begin), (last, end)) = (times.start.day_and_time(), times.end.day_and_time());
        let days: u64 = self.dates().by_month(first, last).map(u64::from).sum();
        let before = |day, time| if self.dates().has(day) { self.times().before(time) } else { 0 };
        days * self.times().per_day() + before(last, end) - before(first, begin)
    }
}

/// The wall times shown in `(from, to]`, a range between two clock changes.
fn shown(zone: Zone, from: i64, to: i64) -> impl Iterator<Item = Range<WallTime>> {
    let mut at = from + 1;
    std::iter::from_fn(move || {
        let stretch = zone.offset_period(at);
        let end = stretch.end.unwrap_or(i64::MAX).min(to + 1);
        let times = (at < end).then_some(WallTime(at + stretch.east)..WallTime(end + stretch.east));
        at = end;
        times
    })
}

/// The wall times of each gap in the same span, with the end.
fn gaps(zone: Zone, from: i64, to: i64) -> impl Iterator<Item = Range<WallTime>> {
    let mut before = None;
    shown(zone, from - 1, to).filter_map(move |times| {
        let end: Option<WallTime> = before.replace(times.end);
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
    fn slot_count_of_a_year_visits_months_and_clock_changes() {
        let (zone, year) = (Zone::from(chrono_tz::Europe::Berlin), NEW_YEAR + 365 * DAY);
        assert_eq!(shown(zone, NEW_YEAR, year).count(), 3);
        assert_eq!(gaps(zone, NEW_YEAR, year).count(), 1);
        let pattern = CronPattern::parse("* * * * * *").expect("a pattern");
        let (first, last) = (NEW_YEAR / DAY, year / DAY);
        assert_eq!(pattern.dates().by_month(first, last).count(), 12);
        assert_eq!(pattern.count_slots(zone, NEW_YEAR * 1000, year * 1000), 31_536_000);
    }
}
