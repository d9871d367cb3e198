//! Zone files: bytes of a TZif file to the table of a zone.
//!
//! Owns what is believed of a file. Reading the bytes is jiff's: it is kept up, fuzzed, knows all four versions and the
//! extended rules of their footers, does no IO here and was a library of this house already, while `tz-rs` and `tzfile`
//! leave footers or hostile bytes to their callers. What it makes of them becomes a plain list of changes from the year
//! 1800 on, so that asking for an offset is one binary search, and is refused when clocks cannot move like that: looking
//! for changes in windows of a few days relies on it. A refused file is as good as none.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::rules::Zone;
use super::table::{Change, SOURCES_END, Table};
use super::wall::{FIRST_PROBE, LEAST_BETWEEN_CHANGES, WIDEST_OFFSET};

/// The largest file that is looked at; the largest zone has four kilobytes.
const MOST_BYTES: usize = 64 * 1024;
/// The most changes that are believed: twice a year since 1800 is 600.
const MOST_CHANGES: usize = 2_000;
/// No clock was ever moved by more than a day.
const LARGEST_CHANGE: i64 = 24 * 3600;

/// The zone `name` with the rules in `bytes`; none when they are no zone file, or one that no clock could follow.
pub(super) fn zone(name: &str, bytes: &[u8]) -> Option<Zone> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let parsed = TimeZone::tzif(name, bytes).ok()?;
    let first = Timestamp::from_second(FIRST_PROBE).ok()?;
    let first_east = i64::from(parsed.to_offset(first).seconds());
    let (mut east, mut last_at) = (first_east, FIRST_PROBE);
    let mut changes = Vec::new();
    for change in parsed.following(first) {
        let change = Change {
            at: change.timestamp().as_second(),
            east: i64::from(change.offset().seconds()),
        };
        if change.at >= SOURCES_END {
            break;
        }
        // In a file whose changes are not in order, looking for the next one goes in a circle.
        if change.at <= last_at {
            return None;
        }
        last_at = change.at;
        // A change of the abbreviation alone is none of the clock.
        if change.east != east {
            changes.push(change);
            east = change.east;
        }
        if changes.len() > MOST_CHANGES {
            return None;
        }
    }
    is_a_clock(first_east, &changes)
        .then(|| Zone::with_table(Table::carried_on(name, true, first_east, changes)))
}

/// Whether a clock can move like that.
pub(super) fn is_a_clock(first_east: i64, changes: &[Change]) -> bool {
    let offsets = || std::iter::once(first_east).chain(changes.iter().map(|change| change.east));
    changes.windows(2).all(|pair| pair[1].at - pair[0].at >= LEAST_BETWEEN_CHANGES)
        && offsets().all(|east| east.abs() < WIDEST_OFFSET)
        && offsets().zip(offsets().skip(1)).all(|(a, b)| (b - a).abs() <= LARGEST_CHANGE)
}
