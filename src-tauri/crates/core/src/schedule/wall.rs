//! Instants, the wall clock of a zone, and the changes between them.
//!
//! Owns the mapping in both directions. Everything rests on one fact about the tables of zones: in no zone, at no time,
//! do two changes lie less than 95 hours apart (Freetown in 1939), while no change is larger than 24 hours (a zone file
//! of the system that says otherwise is not believed). So a window of a few days around any instant holds at most one
//! change. One could get it wrong by looking only at local dates (Apia had no 30 December 2011), at whole minutes
//! (Monrovia was 44:30 behind until 1972), or an hour around.

use std::fmt;

use chrono::{DateTime, NaiveDateTime};

use super::rules::Zone;
use super::table::Stretch;

/// Slots are looked for from the year 1 up to the year 5000; a day less on each side leaves room for any offset.
pub(super) const FIRST_SECOND: i64 = -62_135_596_800 + 86_400;
pub(super) const LAST_SECOND: i64 = 95_617_584_000 - 86_400;

pub(super) const DAY: i64 = 86_400;
/// Longer than any offset from UTC ever was, the local mean times before 1900 included.
pub(super) const WIDEST_OFFSET: i64 = 16 * 3600;
/// The shortest time between two changes of any zone that is believed; twice the widest offset would still do.
pub(super) const LEAST_BETWEEN_CHANGES: i64 = 3 * 24 * 3600;
/// Before the first change of any zone: the year 1800.
pub(super) const FIRST_PROBE: i64 = -5_364_662_400;

/// A change of a zone's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The first instant with the new offset, in unix milliseconds.
    pub at: i64,
    /// Seconds east of UTC before.
    pub offset_before: i32,
    /// Seconds east of UTC from `at` on.
    pub offset_after: i32,
}

/// What a change does to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionKind {
    /// The clock jumps forward; the times in between do not exist.
    Gap,
    /// The clock goes back; the times in between come twice.
    Overlap,
}

impl Transition {
    /// What it does to the wall clock.
    #[must_use]
    pub const fn kind(&self) -> TransitionKind {
        if self.offset_after > self.offset_before {
            TransitionKind::Gap
        } else {
            TransitionKind::Overlap
        }
    }

    /// The size of the change in minutes, rounded down; always positive.
    #[must_use]
    pub const fn minutes(&self) -> u32 {
        self.offset_after.abs_diff(self.offset_before) / 60
    }
}

/// "On 29 Mar 2026 the clock goes forward from 02:00 to 03:00".
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.div_euclid(1000);
        let before = Wall(at + i64::from(self.offset_before)).naive();
        let after = Wall(at + i64::from(self.offset_after)).naive();
        let way = match self.kind() {
            TransitionKind::Gap => "forward",
            TransitionKind::Overlap => "back",
        };
        write!(f, "On {} the clock goes {way} from {}", date_words(before), time_words(before))?;
        write!(f, " to {}", time_words(after))?;
        if after.date() == before.date() { Ok(()) } else { write!(f, " on {}", date_words(after)) }
    }
}

/// The changes of the clock of `zone` after `from` up to and including `to`, oldest first.
#[must_use]
pub fn transitions_in(zone: Zone, from: i64, to: i64) -> Vec<Transition> {
    let mut found = Vec::new();
    let mut stretch = zone.stretch(from.div_euclid(1000).clamp(FIRST_PROBE, LAST_SECOND));
    let end = to.div_euclid(1000).min(LAST_SECOND);
    while let Some(at) = stretch.end.filter(|at| *at <= end) {
        let next = zone.stretch(at);
        let east =
            |stretch: &Stretch| i32::try_from(stretch.east).expect("BUG: an offset is under a day");
        found.push(Transition {
            at: at * 1000,
            offset_before: east(&stretch),
            offset_after: east(&next),
        });
        stretch = next;
    }
    found
}

/// A time of the wall clock, as the seconds that clock would have counted since 1970 had it never been changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wall(pub(super) i64);

impl Wall {
    /// The same time as a chrono value.
    pub(super) fn naive(self) -> NaiveDateTime {
        naive(self.0)
    }

    pub(super) const fn plus_second(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) const fn minus_second(self) -> Self {
        Self(self.0 - 1)
    }

    /// The day since 1970, and the second of that day.
    pub(super) const fn day_and_time(self) -> (i64, u32) {
        (self.0.div_euclid(DAY), self.0.rem_euclid(DAY) as u32)
    }

    /// The second `time` of the day `day`.
    pub(super) fn at(day: i64, time: u32) -> Self {
        Self(day * DAY + i64::from(time))
    }
}

/// The instants, in unix seconds, at which a wall clock shows one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instants {
    /// As almost always.
    Once(i64),
    /// Inside an overlap.
    Twice {
        /// Before the clock went back.
        first: i64,
        /// After it went back.
        second: i64,
    },
    /// Inside a gap.
    Never {
        /// The first instant after the gap.
        gap_end: i64,
    },
}

/// Seconds east of UTC at the unix second `at`.
pub(super) fn offset_at(zone: Zone, at: i64) -> i64 {
    zone.stretch(at).east
}

/// What the wall clock shows at the unix second `at`.
pub(super) fn wall_at(zone: Zone, at: i64) -> Wall {
    Wall(at + offset_at(zone, at))
}

/// When the wall clock shows `wall`: by the offset before a change, by the one after it, by both or by none.
pub(super) fn instants_of(zone: Zone, wall: Wall) -> Instants {
    let stretch = zone.stretch(wall.0 - WIDEST_OFFSET);
    let first = wall.0 - stretch.east;
    let Some(change) = stretch.end.filter(|change| *change <= wall.0 + WIDEST_OFFSET) else {
        return Instants::Once(first);
    };
    let second = wall.0 - offset_at(zone, change);
    match (first < change, second >= change) {
        (true, true) => Instants::Twice { first, second },
        (true, false) => Instants::Once(first),
        (false, true) => Instants::Once(second),
        (false, false) => Instants::Never { gap_end: change },
    }
}

/// "29 Mar 2026".
pub(super) fn date_words(at: NaiveDateTime) -> String {
    at.format("%-d %b %Y").to_string()
}

/// "07:30", with seconds only where there are any.
pub(super) fn time_words(at: NaiveDateTime) -> String {
    let seconds = at.and_utc().timestamp() % 60 != 0;
    at.format(if seconds { "%H:%M:%S" } else { "%H:%M" }).to_string()
}

fn naive(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0)
        .expect("BUG: callers stay within the years 1 to 5000")
        .naive_utc()
}
