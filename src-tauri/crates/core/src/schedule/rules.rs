//! A zone: its name and the rules of its wall clock.
//!
//! Owns one answer, how many seconds a zone's clock is east of UTC at an instant, from either of two sources: the
//! tables inside chrono-tz, or a zone file of the system. What lies beyond the tables is read off eleven years of them:
//! from March 2100 on a year is the one of 2088 to 2098 that begins its March on the same weekday, because every rule
//! that lasts names a weekday of a month or a date. A year begins in March here, so that a leap day is its last.
//!
//! A `Zone` is a word that is copied. The tables read from files are kept for the life of the process, once for each
//! content: there are six hundred zones of two kilobytes, of which a person uses a handful, and their files change a few
//! times in a year. One could get it wrong by comparing zones by name: the same name may follow other rules after an
//! update of the system.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, FixedOffset, LocalResult, NaiveDate, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::wall::{Instants, Wall, instants_of};

/// A zone and the rules of its clock. Equal zones have the same name and the same rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Zone(Rules);

#[derive(Clone, Copy)]
enum Rules {
    BuiltIn(Tz),
    Read(&'static Table),
}

/// The rules of a zone as a file gave them.
#[derive(PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// The first second of each offset but the first, ascending, up to March 2100.
    pub(super) changes: Vec<i64>,
    /// Seconds east of UTC; one more than there are changes.
    pub(super) offsets: Vec<i32>,
    /// Whether the years before 2100 tell the years after.
    pub(super) repeats: bool,
}

impl Zone {
    /// Coordinated universal time, which never changes.
    pub const UTC: Self = Self(Rules::BuiltIn(Tz::UTC));

    /// A zone read from a file: the same value for the same content.
    pub(super) fn read(table: Table) -> Self {
        static READ: Mutex<Option<HashMap<String, Vec<&'static Table>>>> = Mutex::new(None);
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let same_name = read.get_or_insert_default().entry(table.name.clone()).or_default();
        let kept = same_name.iter().find(|kept| ***kept == table).copied();
        Self(Rules::Read(kept.unwrap_or_else(|| {
            let kept: &'static Table = Box::leak(Box::new(table));
            same_name.push(kept);
            kept
        })))
    }

    /// Its IANA name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Rules::BuiltIn(tz) => tz.name(),
            Rules::Read(table) => &table.name,
        }
    }

    /// Whether its rules come from a file of the system.
    #[must_use]
    pub const fn is_of_system(self) -> bool {
        matches!(self.0, Rules::Read(_))
    }

    /// Seconds east of UTC at the unix second `at`.
    pub(super) fn east_at(self, at: i64) -> i64 {
        match self.0 {
            Rules::BuiltIn(Tz::UTC) => 0,
            Rules::BuiltIn(tz) => {
                let utc = naive(within_tables(at));
                i64::from(tz.offset_from_utc_datetime(&utc).fix().local_minus_utc())
            }
            Rules::Read(table) => {
                let at = if table.repeats { within_tables(at) } else { at };
                i64::from(table.offsets[table.changes.partition_point(|change| *change <= at)])
            }
        }
    }
}

impl From<Tz> for Zone {
    fn from(tz: Tz) -> Self {
        Self(Rules::BuiltIn(tz))
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(a), Self::BuiltIn(b)) => a == b,
            // The same content is the same table.
            (Self::Read(a), Self::Read(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

impl Eq for Rules {}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The offset of a zone at an instant, for chrono; written as `+02:00`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ZoneOffset {
    zone: Zone,
    east: FixedOffset,
}

impl Offset for ZoneOffset {
    fn fix(&self) -> FixedOffset {
        self.east
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.east, f)
    }
}

impl fmt::Debug for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.east, f)
    }
}

impl Zone {
    fn offset(self, east: i64) -> ZoneOffset {
        let east = i32::try_from(east).ok().and_then(FixedOffset::east_opt);
        ZoneOffset { zone: self, east: east.expect("BUG: no table has an offset of a day") }
    }
}

impl TimeZone for Zone {
    type Offset = ZoneOffset;

    fn from_offset(offset: &ZoneOffset) -> Self {
        offset.zone
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> LocalResult<ZoneOffset> {
        self.offset_from_local_datetime(&local.and_time(chrono::NaiveTime::MIN))
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> LocalResult<ZoneOffset> {
        let wall = local.and_utc().timestamp();
        let offset = |instant: i64| self.offset(wall - instant);
        match instants_of(*self, Wall(wall)) {
            Instants::Once(at) => LocalResult::Single(offset(at)),
            Instants::Twice { first, second } => {
                LocalResult::Ambiguous(offset(first), offset(second))
            }
            Instants::Never { .. } => LocalResult::None,
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> ZoneOffset {
        self.offset_from_utc_datetime(&utc.and_time(chrono::NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> ZoneOffset {
        self.offset(self.east_at(utc.and_utc().timestamp()))
    }
}

const DAY: i64 = 86_400;
/// 2100-03-01T00:00:00Z.
pub(super) const TABLES_END: i64 = 4_107_542_400;
/// The March that the repeated years begin with.
const FIRST_REPEATED: i64 = 2088;
/// Eleven years with two leap days among them begin their March on every weekday.
const REPEATED: i64 = 11;
/// By weekday of the first of March, the day of a repeated year on which it falls.
const REPEATED_STARTS: [i64; 7] = repeated_starts();

/// The same instant, or for one beyond the tables the instant within them at which clocks show the same offset.
const fn within_tables(at: i64) -> i64 {
    if at < TABLES_END {
        return at;
    }
    let start = march_before(at.div_euclid(DAY));
    at - (start - REPEATED_STARTS[start.rem_euclid(7) as usize]) * DAY
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
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) - DAYS_BEFORE_1970
}

/// From 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// The last first of March up to the day `day`, both in days since 1970.
const fn march_before(day: i64) -> i64 {
    // Four hundred years have 146,097 days; the estimate is right or a year off.
    let estimate = (day + DAYS_BEFORE_1970) * 400 / 146_097;
    if march_of(estimate + 1) <= day {
        march_of(estimate + 1)
    } else if march_of(estimate) <= day {
        march_of(estimate)
    } else {
        march_of(estimate - 1)
    }
}

/// Instants at which the repeated years begin; a change near one of them would be misread.
pub(super) fn seams() -> impl Iterator<Item = i64> {
    (FIRST_REPEATED..=FIRST_REPEATED + REPEATED + 1).map(|year| march_of(year) * DAY)
}

fn naive(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0)
        .expect("BUG: callers stay within chrono's calendar")
        .naive_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_beyond_the_tables_are_read_off_years_with_the_same_weekdays() {
        let day = |year, month, day| {
            NaiveDate::from_ymd_opt(year, month, day)
                .map(|date| date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
                .expect("a date")
        };
        assert_eq!(TABLES_END, day(2100, 3, 1));
        assert_eq!(within_tables(TABLES_END - 1), TABLES_END - 1);
        for year in 2100..4900_i32 {
            let march = day(year, 3, 1);
            let inside = within_tables(march);
            assert!((day(2088, 3, 1)..=day(2098, 3, 1)).contains(&inside), "{year}");
            assert_eq!((march - inside) % (7 * DAY), 0, "the weekdays of {year}");
            assert_eq!(within_tables(day(year + 1, 2, 28)) - inside, day(year + 1, 2, 28) - march);
            assert_eq!(within_tables(march + DAY - 1), inside + DAY - 1);
        }
    }

    #[test]
    fn every_zone_follows_its_rules_for_ever() {
        let shift = |zone: Zone, year: i32, month: u32| {
            let date = NaiveDate::from_ymd_opt(year, month, 1).expect("a date");
            zone.east_at(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
        };
        for tz in chrono_tz::TZ_VARIANTS {
            let zone = Zone::from(tz);
            for (year, month) in [(2100, 1), (2100, 7), (2199, 1), (3000, 7), (4899, 1)] {
                assert_eq!(shift(zone, year, month), shift(zone, 2098, month), "{tz} {year}");
            }
        }
        assert_eq!(shift(chrono_tz::Europe::Berlin.into(), 2150, 7), 7_200);
    }
}
