//! The table of a zone: at which instants its clock was or will be changed.
//!
//! Owns one answer, the stretch of one offset around an instant, whatever the source of the table. Sources know no
//! change from March 2100 on, while the rules go on for ever. What lies beyond is read off eleven years of the table: a
//! year is the one of 2088 to 2098 that begins its March on the same weekday, because every rule that lasts names a
//! weekday of a month or a date. A year begins in March here, so that a leap day is its last. The calendar repeats after
//! four hundred years to the weekday, so the table is written out once for that long, and later instants are looked up
//! as many times four hundred years before. One could get it wrong by taking a zone for settled that is changed around
//! the first of March: such a zone keeps its last offset.

use std::borrow::Cow;

use super::wall::DAY;

/// The changes of a zone's clock.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The IANA name.
    pub(super) name: Cow<'static, str>,
    pub(super) of_system: bool,
    /// Seconds east of UTC before the first change.
    pub(super) first_east: i64,
    /// Ascending.
    pub(super) changes: Vec<Change>,
}

/// The first second of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: i64,
    /// Seconds east of UTC from then on.
    pub(super) east: i64,
}

/// A time during which a clock is not changed, up to and without `end`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Seconds east of UTC.
    pub(super) east: i64,
    pub(super) end: Option<i64>,
}

/// 2100-03-01T00:00:00Z: sources are read up to here.
pub(super) const SOURCES_END: i64 = march_of(2100) * DAY;
/// Four hundred years.
const CYCLE: i64 = 146_097 * DAY;
/// From here on instants are looked up a cycle or more before.
const REPEATS_FROM: i64 = SOURCES_END + CYCLE;
/// The March that the repeated years begin with.
const FIRST_REPEATED: i64 = 2088;
/// Eleven years with two leap days among them begin their March on every weekday.
const REPEATED: i64 = 11;
/// By weekday of the first of March, the day of a repeated year on which it falls.
const REPEATED_STARTS: [i64; 7] = repeated_starts();
/// A change this near to the first of March would be read twice or not at all.
const SEAM: i64 = 3 * DAY;

impl Table {
    /// A clock that shows UTC for ever.
    pub(super) const fn unchanging(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), of_system: false, first_east: 0, changes: Vec::new() }
    }

    /// What a source knows of a zone up to March 2100, carried on by its rules.
    pub(super) fn carried_on(
        name: &str,
        of_system: bool,
        first_east: i64,
        changes: Vec<Change>,
    ) -> Self {
        let mut table = Self { name: Cow::Owned(name.to_owned()), of_system, first_east, changes };
        if table.is_settled() {
            table.carry_on();
        }
        table
    }

    /// The stretch with the unix second `at`.
    pub(super) fn stretch(&self, at: i64) -> Stretch {
        let shift = if at < REPEATS_FROM { 0 } else { (at - SOURCES_END) / CYCLE * CYCLE };
        let following = self.changes.partition_point(|change| change.at <= at - shift);
        Stretch {
            east: match following {
                0 => self.first_east,
                _ => self.changes[following - 1].east,
            },
            end: self.changes.get(following).map(|change| change.at + shift),
        }
    }

    /// Whether every year from 2088 on begins in the same way, away from any change.
    fn is_settled(&self) -> bool {
        let seams = || (0..=REPEATED).map(|year| march_of(FIRST_REPEATED + year) * DAY);
        let is_near_a_seam = |change: &Change| seams().any(|seam| (change.at - seam).abs() < SEAM);
        let east = self.stretch(march_of(FIRST_REPEATED) * DAY).east;
        seams().all(|seam| self.stretch(seam).east == east)
            && !self.changes.iter().any(is_near_a_seam)
    }

    fn carry_on(&mut self) {
        // A year more than the cycle, so that a stretch which begins in it finds its end.
        for year in 2100..=2500 {
            let start = march_of(year);
            let repeated = REPEATED_STARTS[start.rem_euclid(7) as usize];
            let length = march_of(year + 1) - start;
            let from = self.changes.partition_point(|change| change.at < repeated * DAY);
            let to = self.changes.partition_point(|change| change.at < (repeated + length) * DAY);
            let carried = |change: &Change| Change {
                at: change.at + (start - repeated) * DAY,
                east: change.east,
            };
            let of_year: Vec<Change> = self.changes[from..to].iter().map(carried).collect();
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
    fn the_calendar_is_the_one_of_everybody() {
        for year in 1..5_000 {
            assert_eq!(march_of(year) * DAY, start_of(year, 3, 1), "{year}");
        }
        for (weekday, start) in (0..).zip(REPEATED_STARTS) {
            assert_eq!(start.rem_euclid(7), weekday);
            assert!((march_of(2088)..=march_of(2098)).contains(&start));
        }
    }

    #[test]
    fn a_rule_of_weekdays_goes_on_for_ever() {
        // Forward on the last Sunday of March, back on the last Sunday of October, at 01:00 UTC: the rule of the EU.
        let last_sunday = |year: i64, month: u32| {
            let last = start_of(year, month, 31) / DAY;
            (last - (last + 4).rem_euclid(7)) * DAY + 3_600
        };
        let of_year = |year: i64| {
            let spring = Change { at: last_sunday(year, 3), east: 7_200 };
            [spring, Change { at: last_sunday(year, 10), east: 3_600 }]
        };
        let known: Vec<Change> = (1996..2100).flat_map(of_year).collect();
        let table = Table::carried_on("Europe/Test", false, 3_600, known);
        for change in (2099..4_990).flat_map(of_year) {
            let (before, after) = (table.stretch(change.at - 1), table.stretch(change.at));
            assert_eq!((before.end, after.east), (Some(change.at), change.east), "{change:?}");
            assert_eq!(before.east + after.east, 10_800, "{change:?}");
        }
    }

    #[test]
    fn a_clock_that_is_changed_on_the_first_of_march_keeps_its_last_offset() {
        let known = (2000..2100)
            .map(|year| Change { at: start_of(year, 3, 1), east: 3_600 * (year % 2) })
            .collect();
        let table = Table::carried_on("Odd/March", false, 0, known);
        let last = table.stretch(SOURCES_END);
        assert_eq!((last.east, last.end), (3_600, None));
    }
}
