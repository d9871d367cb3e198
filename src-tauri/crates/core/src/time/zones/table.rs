//! The table of a zone: the instants of offset changes.
//!
//! Owns a single query, the offset period around an instant, for any source. Sources end in March 2100 while rules
//! continue for ever. Later years are copied from the year of 2088 to 2098 whose March begins on the same weekday,
//! because every lasting rule names a weekday of a month or a date; a year begins in March, so that a leap day is the
//! last day. The calendar repeats after four hundred years, so the table covers a single cycle.
//! Pitfall: extending a zone that changes around the first of March; such a zone keeps the last offset.

use std::borrow::Cow;

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// Longer than any offset from UTC, local mean times before 1900 included.
pub(super) const WIDEST_OFFSET: i64 = 16 * 3600;
/// The shortest accepted time between two changes; twice the widest offset would still do.
pub(super) const LEAST_BETWEEN_CHANGES: i64 = 3 * 24 * 3600;
/// Before the first change of any zone: the year 1800.
pub(super) const FIRST_PROBE: i64 = -5_364_662_400;

/// The offset changes of a zone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ZoneTable {
    /// The IANA name.
    pub(super) name: Cow<'static, str>,
    pub(super) of_system: bool,
    /// Seconds east of UTC before the first change.
    pub(super) first_east: i64,
    /// Ascending.
    pub(super) changes: Vec<OffsetChange>,
}

/// The beginning of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetChange {
    pub(super) at: i64,
    /// Seconds east of UTC from then on.
    pub(super) east: i64,
}

/// A period of constant offset, up to `end` (exclusive).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OffsetPeriod {
    /// Seconds east of UTC.
    pub(crate) east: i64,
    pub(crate) end: Option<i64>,
}

/// 2100-03-01T00:00:00Z: the end of all sources.
pub(super) const SOURCES_END: i64 = march_of(2100) * DAY;
/// Four hundred years.
const CYCLE: i64 = 146_097 * DAY;
/// From here on instants are looked up a number of cycles earlier.
const REPEATS_FROM: i64 = SOURCES_END + CYCLE;
/// The first repeated year, beginning in March.
const FIRST_REPEATED: i64 = 2088;
/// Eleven years with two leap days begin their March on every weekday.
const REPEATED: i64 = 11;
/// By weekday of the first of March, the first day of the repeated year.
const REPEATED_STARTS: [i64; 7] = repeated_starts();
/// A change this close to the first of March would be copied twice or not at all.
const SEAM: i64 = 3 * DAY;

impl ZoneTable {
    /// Constant UTC.
    pub(super) const fn unchanging(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), of_system: false, first_east: 0, changes: Vec::new() }
    }

    /// The table of a source up to March 2100, extended by rule.
    pub(super) fn extended(
        name: &str,
        of_system: bool,
        first_east: i64,
        changes: Vec<OffsetChange>,
    ) -> Self {
        let mut table = Self { name: Cow::Owned(name.to_owned()), of_system, first_east, changes };
        if table.is_settled() {
            table.extend();
        }
        table
    }

    /// The offset period that contains the unix second `at`.
    pub(super) fn offset_period(&self, at: i64) -> OffsetPeriod {
        let shift = if at < REPEATS_FROM { 0 } else { (at - SOURCES_END) / CYCLE * CYCLE };
        let following = self.changes.partition_point(|change| change.at <= at - shift);
        OffsetPeriod {
            east: match following {
                0 => self.first_east,
                _ => self.changes[following - 1].east,
            },
            end: self.changes.get(following).map(|change| change.at + shift),
        }
    }

    /// Whether every year from 2088 on begins alike, away from any change.
    fn is_settled(&self) -> bool {
        let seams = || (0..=REPEATED).map(|year| march_of(FIRST_REPEATED + year) * DAY);
        let is_near_a_seam =
            |change: &OffsetChange| seams().any(|seam| (change.at - seam).abs() < SEAM);
        let east = self.offset_period(march_of(FIRST_REPEATED) * DAY).east;
        seams().all(|seam| self.offset_period(seam).east == east)
            && !self.changes.iter().any(is_near_a_seam)
    }

    fn extend(&mut self) {
        // A year beyond the cycle, so that the last period has an end.
        for year in 2100..=2500 {
            let start = march_of(year);
            let repeated = REPEATED_STARTS[start.rem_euclid(7) as usize];
            let length = march_of(year + 1) - start;
            let from = self.changes.partition_point(|change| change.at < repeated * DAY);
            let to = self.changes.partition_point(|change| change.at < (repeated + length) * DAY);
            let carried = |change: &OffsetChange| OffsetChange {
                at: change.at + (start - repeated) * DAY,
                east: change.east,
            };
            let of_year: Vec<OffsetChange> = self.changes[from..to].iter().map(carried).collect();
            self.changes.extend(of_year);
        }
    }
}

const fn repeated_starts() -> [i64; 7] {
    let mut starts = [0; 7];
    let mut year = FIRST_REPEATED;
    while year < FIRST_REPEATED + REPEATED {
        let start = march_of(year);
        starts[start.rem_euclid(7) as usize] = start;
        year += 1;
    }
    starts
}

/// The first of March of `year`, in days since 1970.
const fn march_of(year: i64) -> i64 {
    // From 0000-03-01 to 1970-01-01.
    const DAYS_BEFORE_1970: i64 = 719_468;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) - DAYS_BEFORE_1970
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    fn start_of(year: i64, month: u32, day: u32) -> i64 {
        let year = i32::try_from(year).expect("a year");
        let date = NaiveDate::from_ymd_opt(year, month, day).expect("a date");
        i64::from(date.to_epoch_days()) * DAY
    }

    #[test]
    fn first_of_march_matches_chrono() {
        for year in 1..5_000 {
            assert_eq!(march_of(year) * DAY, start_of(year, 3, 1), "{year}");
        }
        for (weekday, start) in (0..).zip(REPEATED_STARTS) {
            assert_eq!(start.rem_euclid(7), weekday);
            assert!((march_of(2088)..=march_of(2098)).contains(&start));
        }
    }

    #[test]
    fn weekday_rule_continues_for_ever() {
        // The EU rule: forward on the last Sunday of March, back on the last Sunday of October, at 01:00 UTC.
        let last_sunday = |year: i64, month: u32| {
            let last = start_of(year, month, 31) / DAY;
            (last - (last + 4).rem_euclid(7)) * DAY + 3_600
        };
        let of_year = |year: i64| {
            let spring = OffsetChange { at: last_sunday(year, 3), east: 7_200 };
            [spring, OffsetChange { at: last_sunday(year, 10), east: 3_600 }]
        };
        let known: Vec<OffsetChange> = (1996..2100).flat_map(of_year).collect();
        let table = ZoneTable::extended("Europe/Test", false, 3_600, known);
        for change in (2099..4_990).flat_map(of_year) {
            let (before, after) =
                (table.offset_period(change.at - 1), table.offset_period(change.at));
            assert_eq!((before.end, after.east), (Some(change.at), change.east), "{change:?}");
            assert_eq!(before.east + after.east, 10_800, "{change:?}");
        }
    }

    #[test]
    fn zone_changing_on_first_of_march_keeps_its_offset() {
        let known = (2000..2100)
            .map(|year| OffsetChange { at: start_of(year, 3, 1), east: 3_600 * (year % 2) })
            .collect();
        let table = ZoneTable::extended("Odd/March", false, 0, known);
        let last = table.offset_period(SOURCES_END);
        assert_eq!((last.east, last.end), (3_600, None));
    }
}
