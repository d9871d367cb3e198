//! TZif zone files to [`ZoneTable`]s.
//!
//! Owns the plausibility check. jiff parses the bytes: maintained, fuzzed, all four versions with their footers, no IO.
//! `tz-rs` and `tzfile` leave footers or hostile bytes to the caller. The result is a list of changes from the year 1800 on
//! and is refused when implausible, because the search relies on distant changes. A refused file counts as missing.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::table::{
    FIRST_PROBE, LEAST_BETWEEN_CHANGES, OffsetChange, SOURCES_END, WIDEST_OFFSET, ZoneTable,
};
use super::zone::Zone;

/// The maximum size of a zone file; the largest zone has four kilobytes.
const MOST_BYTES: usize = 64 * 1024;
/// The maximum changes of a zone: twice a year since 1800 is 600.
const MOST_CHANGES: usize = 2_000;
/// The maximum change: a day.
const LARGEST_CHANGE: i64 = 24 * 3600;

/// The zone `name` with the rules in `bytes`; none when invalid or implausible.
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
        let change = OffsetChange {
            at: change.timestamp().as_second(),
            east: i64::from(change.offset().seconds()),
        };
        if change.at >= SOURCES_END {
            break;
        }
        // In a file with unordered changes the search for the next change would loop.
        if change.at <= last_at {
            return None;
        }
        last_at = change.at;
        // A change of the abbreviation alone is no change of the offset.
        if change.east != east {
            changes.push(change);
            east = change.east;
        }
        if changes.len() > MOST_CHANGES {
            return None;
        }
    }
    is_plausible(first_east, &changes)
        .then(|| Zone::with_table(ZoneTable::extended(name, true, first_east, changes)))
}

/// Whether the changes are plausible for a clock.
pub(super) fn is_plausible(first_east: i64, changes: &[OffsetChange]) -> bool {
    let offsets = || std::iter::once(first_east).chain(changes.iter().map(|change| change.east));
    changes.windows(2).all(|pair| pair[1].at - pair[0].at >= LEAST_BETWEEN_CHANGES)
        && offsets().all(|east| east.abs() < WIDEST_OFFSET)
        && offsets().zip(offsets().skip(1)).all(|(a, b)| (b - a).abs() <= LARGEST_CHANGE)
}
