//! A zone: name and table.
//!
//! Owns the identity of zones. A `Zone` is a copyable reference to a table, which is interned for the life of the
//! process: six hundred zones of some kilobytes, of which a person uses a few, and whose files rarely change.
//! Pitfall: comparing zones by name; a system update may change the rules behind a name.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use chrono_tz::Tz;

use super::chrono_table;
use super::table::{OffsetPeriod, ZoneTable};

/// A time zone with its rules. Equal zones have the same name, rules and kind of source.
#[derive(Clone, Copy)]
pub struct Zone(&'static ZoneTable);

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = {
        static UTC: ZoneTable = ZoneTable::unchanging("UTC");
        Self(&UTC)
    };

    /// The interned zone of this table.
    pub(super) fn with_table(table: ZoneTable) -> Self {
        if table == *Self::UTC.0 {
            return Self::UTC;
        }
        static KEPT: Mutex<Option<HashMap<String, Vec<&'static ZoneTable>>>> = Mutex::new(None);
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let same_name = kept.get_or_insert_default().entry(table.name.to_string()).or_default();
        let known = same_name.iter().find(|known| ***known == table).copied();
        Self(known.unwrap_or_else(|| {
            let table: &'static ZoneTable = Box::leak(Box::new(table));
            same_name.push(table);
            table
        }))
    }

    /// The IANA name.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Whether the rules come from a zone file of the system.
    #[must_use]
    pub const fn is_of_system(self) -> bool {
        self.0.of_system
    }

    pub(super) const fn table(self) -> &'static ZoneTable {
        self.0
    }

    /// Whether both clocks show the same time from `from` to `to`, in milliseconds.
    pub(crate) fn agrees_with(self, other: Self, from: i64, to: i64) -> bool {
        let (mut at, to) = (from.div_euclid(1000), to.div_euclid(1000));
        loop {
            let (own, theirs) = (self.offset_period(at), other.offset_period(at));
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

    /// The period of constant offset that contains the unix second `at`.
    pub(crate) fn offset_period(self, at: i64) -> OffsetPeriod {
        self.0.offset_period(at)
    }
}

/// The built-in rules of chrono-tz.
impl From<Tz> for Zone {
    fn from(tz: Tz) -> Self {
        static READ: Mutex<Option<HashMap<Tz, Zone>>> = Mutex::new(None);
        if tz == Tz::UTC {
            return Self::UTC;
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let zones = read.get_or_insert_default();
        *zones.entry(tz).or_insert_with(|| Self::with_table(chrono_table::table(tz)))
    }
}

/// Compares the interned tables.
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

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    #[test]
    fn every_zone_follows_its_rules_for_ever() {
        let shift = |zone: Zone, year: i32, month: u32| {
            let date = NaiveDate::from_ymd_opt(year, month, 1).expect("a date");
            zone.offset_period(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp()).east
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
    fn zone_table_is_interned() {
        let berlin = Zone::from(chrono_tz::Europe::Berlin);
        assert_eq!(berlin, Zone::from(chrono_tz::Europe::Berlin));
        assert_ne!(berlin, Zone::from(chrono_tz::Europe::Paris));
        assert_eq!(Zone::from(Tz::UTC), Zone::UTC);
    }
}
