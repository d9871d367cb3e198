//! The wall clock of a zone: times, instants and clock changes.
//!
//! Owns the mapping in both directions, on the basis of a fact about zone tables: two changes never lie within 95 hours
//! of each other (Freetown in 1939), and no change exceeds 24 hours (implausible zone files are refused). So a window
//! of a few days holds at most one change.
//! Pitfall: assuming local dates exist (Apia had no 30 December 2011), whole-minute offsets (Monrovia until 1972), or
//! changes of an hour.

use std::fmt;

use chrono::{DateTime, NaiveDateTime};

pub(crate) use super::table::DAY;
use super::table::{FIRST_PROBE, OffsetPeriod, WIDEST_OFFSET};
use super::zone::Zone;

/// Slots lie within the years 1 to 5000, less a day on each side for any offset.
pub(crate) const FIRST_SECOND: i64 = -62_135_596_800 + 86_400;
pub(crate) const LAST_SECOND: i64 = 95_617_584_000 - 86_400;

/// A clock change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The first instant with the new offset, in unix milliseconds.
    pub at: i64,
    /// Seconds east of UTC before.
    pub offset_before: i32,
    /// Seconds east of UTC from `at` on.
    pub offset_after: i32,
}

/// The kind of a clock change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionKind {
    /// The clock jumps forward; the times in between do not exist.
    Gap,
    /// The clock goes back; the times in between occur twice.
    Overlap,
}

impl Transition {
    /// Gap or overlap.
    #[must_use]
    pub const fn kind(&self) -> TransitionKind {
        if self.offset_after > self.offset_before {
            TransitionKind::Gap
        } else {
            TransitionKind::Overlap
        }
    }

    /// The size in minutes, rounded down.
    #[must_use]
    pub const fn minutes(&self) -> u32 {
        self.offset_after.abs_diff(self.offset_before) / 60
    }
}

/// "On 29 Mar 2026 the clock goes forward from 02:00 to 03:00".
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.div_euclid(1000);
        let before = WallTime(at + i64::from(self.offset_before)).naive();
        let after = WallTime(at + i64::from(self.offset_after)).naive();
        let way = match self.kind() {
            TransitionKind::Gap => "forward",
            TransitionKind::Overlap => "back",
        };
        write!(f, "On {} the clock goes {way} from {}", date_words(before), time_words(before))?;
        write!(f, " to {}", time_words(after))?;
        if after.date() == before.date() { Ok(()) } else { write!(f, " on {}", date_words(after)) }
    }
}

/// The clock changes of `zone` in `(from, to]`, ascending.
#[must_use]
pub fn transitions_in(zone: Zone, from: i64, to: i64) -> Vec<Transition> {
    let mut found = Vec::new();
    let mut stretch = zone.offset_period(from.div_euclid(1000).clamp(FIRST_PROBE, LAST_SECOND));
    let end = to.div_euclid(1000).min(LAST_SECOND);
    while let Some(at) = stretch.end.filter(|at| *at <= end) {
        let next = zone.offset_period(at);
        let east = |stretch: &OffsetPeriod| {
            i32::try_from(stretch.east).expect("BUG: an offset is under a day")
        };
        found.push(Transition {
            at: at * 1000,
            offset_before: east(&stretch),
            offset_after: east(&next),
        });
        stretch = next;
    }
    found
}

/// A wall time, in seconds since 1970 as the clock would have counted without changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WallTime(pub(crate) i64);

impl WallTime {
    /// As a chrono value.
    pub(crate) fn naive(self) -> NaiveDateTime {
        naive(self.0)
    }

    pub(crate) const fn plus_second(self) -> Self {
        Self(self.0 + 1)
    }

    pub(crate) const fn minus_second(self) -> Self {
        Self(self.0 - 1)
    }

    /// The day since 1970 and the second of the day.
    pub(crate) const fn day_and_time(self) -> (i64, u32) {
        (self.0.div_euclid(DAY), self.0.rem_euclid(DAY) as u32)
    }

    /// The second `time` of the day `day`.
    pub(crate) fn at(day: i64, time: u32) -> Self {
        Self(day * DAY + i64::from(time))
    }
}

/// The instants, in unix seconds, of a wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WallInstants {
    /// The usual case.
    Once(i64),
    /// In an overlap.
    Twice {
        /// Before the change.
        first: i64,
        /// After the change.
        second: i64,
    },
    /// In a gap.
    Never {
        /// The first instant after the gap.
        gap_end: i64,
    },
}

/// Seconds east of UTC at the unix second `at`.
pub(crate) fn offset_at(zone: Zone, at: i64) -> i64 {
    zone.offset_period(at).east
}

/// The wall time at the unix second `at`.
pub(crate) fn wall_at(zone: Zone, at: i64) -> WallTime {
    WallTime(at + offset_at(zone, at))
}

/// The instants of the wall time `wall`, by the offsets before and after a nearby change.
pub(crate) fn instants_of(zone: Zone, wall: WallTime) -> WallInstants {
    let stretch = zone.offset_period(wall.0 - WIDEST_OFFSET);
    let first = wall.0 - stretch.east;
    let Some(change) = stretch.end.filter(|change| *change <= wall.0 + WIDEST_OFFSET) else {
        return WallInstants::Once(first);
    };
    let second = wall.0 - offset_at(zone, change);
    match (first < change, second >= change) {
        (true, true) => WallInstants::Twice { first, second },
        (true, false) => WallInstants::Once(first),
        (false, true) => WallInstants::Once(second),
        (false, false) => WallInstants::Never { gap_end: change },
    }
}

/// "29 Mar 2026".
pub(crate) fn date_words(at: NaiveDateTime) -> String {
    at.format("%-d %b %Y").to_string()
}

/// "07:30", with seconds only where there are any.
pub(crate) fn time_words(at: NaiveDateTime) -> String {
    let seconds = at.and_utc().timestamp() % 60 != 0;
    at.format(if seconds { "%H:%M:%S" } else { "%H:%M" }).to_string()
}

fn naive(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0)
        .expect("BUG: callers stay within the years 1 to 5000")
        .naive_utc()
}
