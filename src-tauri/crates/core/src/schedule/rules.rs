//! A zone: its name and the rules of its wall clock.
//!
//! Owns the identity of zones. A `Zone` is a word that is copied; its table, from chrono-tz or from a zone file of the
//! system, is kept for the life of the process, once for each content: there are six hundred zones of some kilobytes, of
//! which a person uses a handful, and their files change a few times in a year. One could get it wrong by comparing
//! zones by name: the same name may follow other rules after an update of the system.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use chrono::{FixedOffset, LocalResult, NaiveDate, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::built_in;
use super::table::{Stretch, Table};
use super::wall::{Instants, Wall, instants_of};

/// A zone and the rules of its clock. Equal zones have the same name and the same rules from the same kind of source.
#[derive(Clone, Copy)]
pub struct Zone(&'static Table);

impl Zone {
    /// Coordinated universal time, which never changes.
    pub const UTC: Self = {
        static UTC: Table = Table::unchanging("UTC");
        Self(&UTC)
    };

    /// A zone with this table: the same value for the same content.
    pub(super) fn with_table(table: Table) -> Self {
        if table == *Self::UTC.0 {
            return Self::UTC;
        }
        static KEPT: Mutex<Option<HashMap<String, Vec<&'static Table>>>> = Mutex::new(None);
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let same_name = kept.get_or_insert_default().entry(table.name.to_string()).or_default();
        let known = same_name.iter().find(|known| ***known == table).copied();
        Self(known.unwrap_or_else(|| {
            let table: &'static Table = Box::leak(Box::new(table));
            same_name.push(table);
            table
        }))
    }

    /// Its IANA name.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Whether its rules come from a file of the system.
    #[must_use]
    pub const fn is_of_system(self) -> bool {
        self.0.of_system
    }

    pub(super) const fn table(self) -> &'static Table {
        self.0
    }

    /// Whether its clock shows the same as that of `other` at every instant from `from` to `to`, in milliseconds.
    pub(crate) fn shows_the_same_as(self, other: Self, from: i64, to: i64) -> bool {
        let (mut at, to) = (from.div_euclid(1000), to.div_euclid(1000));
        loop {
            let (own, theirs) = (self.stretch(at), other.stretch(at));
            if own.east != theirs.east {
                return false;
            }
            let end = own.end.into_iter().chain(theirs.end).min();
            match end.filter(|end| *end <= to) {
                Some(end) => at = end,
                None => return true,
            }
        }
    }

    /// The time around the unix second `at` during which its clock is not changed.
    pub(super) fn stretch(self, at: i64) -> Stretch {
        self.0.stretch(at)
    }
}

/// The rules inside chrono-tz.
impl From<Tz> for Zone {
    fn from(tz: Tz) -> Self {
        static READ: Mutex<Option<HashMap<Tz, Zone>>> = Mutex::new(None);
        if tz == Tz::UTC {
            return Self::UTC;
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let zones = read.get_or_insert_default();
        *zones.entry(tz).or_insert_with(|| Self::with_table(built_in::table(tz)))
    }
}

/// The same content is the same table.
impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Zone {}

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
        self.offset(self.stretch(utc.and_utc().timestamp()).east)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_follows_its_rules_for_ever() {
        let shift = |zone: Zone, year: i32, month: u32| {
            let date = NaiveDate::from_ymd_opt(year, month, 1).expect("a date");
            zone.stretch(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()).east
        };
        for tz in chrono_tz::TZ_VARIANTS {
            let zone = Zone::from(tz);
            for (year, month) in [(2100, 1), (2100, 7), (2199, 1), (3000, 7), (4899, 1)] {
                assert_eq!(shift(zone, year, month), shift(zone, 2098, month), "{tz} {year}");
            }
        }
        assert_eq!(shift(chrono_tz::Europe::Berlin.into(), 2150, 7), 7_200);
    }

    #[test]
    fn a_zone_is_read_once() {
        let berlin = Zone::from(chrono_tz::Europe::Berlin);
        assert_eq!(berlin, Zone::from(chrono_tz::Europe::Berlin));
        assert_ne!(berlin, Zone::from(chrono_tz::Europe::Paris));
        assert_eq!(Zone::from(Tz::UTC), Zone::UTC);
    }
}
