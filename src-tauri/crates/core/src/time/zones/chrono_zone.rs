//! `Zone` as a time zone of chrono.

use std::fmt;

use chrono::{FixedOffset, LocalResult, NaiveDate, NaiveDateTime, Offset, TimeZone};

use super::wall_clock::{WallInstants, WallTime, instants_of};
use super::zone::Zone;

/// The offset of a zone at an instant, displayed as `+02:00`.
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
        match instants_of(*self, WallTime(wall)) {
            WallInstants::Once(at) => LocalResult::Single(offset(at)),
            WallInstants::Twice { first, second } => {
                LocalResult::Ambiguous(offset(first), offset(second))
            }
            WallInstants::Never { .. } => LocalResult::None,
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> ZoneOffset {
        self.offset_from_utc_datetime(&utc.and_time(chrono::NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> ZoneOffset {
        self.offset(self.offset_period(utc.and_utc().timestamp()).east)
    }
}
