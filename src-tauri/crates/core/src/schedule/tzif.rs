//! Zone files: bytes of a TZif file to the table of a zone.
//!
//! Owns what is believed of a file. Reading the bytes is jiff's: it is kept up, fuzzed, knows all four versions and the
//! extended rules of their footers, does no IO here and was a library of this house already, while `tz-rs` and `tzfile`
//! leave footers or hostile bytes to their callers. What it makes of them becomes a plain list of changes from the year
//! 1800 on, so that asking for an offset is one binary search, and is refused when clocks cannot move like that: the
//! search for changes by bisection relies on it. A refused file is as good as none.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::rules::{TABLES_END, Table, Zone, seams};
use super::wall::{FIRST_PROBE, LEAST_BETWEEN_CHANGES, WIDEST_OFFSET};

/// The largest file that is looked at; the largest zone has four kilobytes.
const MOST_BYTES: usize = 64 * 1024;
/// The most changes that are believed: twice a year since 1800 is 600.
const MOST_CHANGES: usize = 2_000;
/// No clock was ever moved by more than a day.
const LARGEST_CHANGE: i32 = 24 * 3600;
/// A change this near to a seam of the repeated years would be read twice or not at all.
const SEAM: i64 = 3 * 86_400;

/// The zone `name` with the rules in `bytes`; none when they are no zone file, or one that no clock could follow.
pub(super) fn zone(name: &str, bytes: &[u8]) -> Option<Zone> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let parsed = TimeZone::tzif(name, bytes).ok()?;
    let first = Timestamp::from_second(FIRST_PROBE).ok()?;
    let mut offsets = vec![parsed.to_offset(first).seconds()];
    let mut changes = Vec::new();
    let following = parsed.following(first);
    for change in following.take_while(|change| change.timestamp().as_second() < TABLES_END) {
        let (at, offset) = (change.timestamp().as_second(), change.offset().seconds());
        // A change of the abbreviation alone is none of the clock.
        if offsets.last() != Some(&offset) {
            changes.push(at);
            offsets.push(offset);
        }
        if changes.len() > MOST_CHANGES {
            return None;
        }
    }
    let repeats = !changes.iter().any(|at| seams().any(|seam| (at - seam).abs() < SEAM));
    (is_a_clock(&changes, &offsets))
        .then(|| Zone::read(Table { name: name.to_owned(), changes, offsets, repeats }))
}

fn is_a_clock(changes: &[i64], offsets: &[i32]) -> bool {
    changes.windows(2).all(|pair| pair[1] - pair[0] >= LEAST_BETWEEN_CHANGES)
        && offsets.iter().all(|offset| i64::from(*offset).abs() < WIDEST_OFFSET)
        && offsets.windows(2).all(|pair| pair[1].abs_diff(pair[0]) <= LARGEST_CHANGE as u32)
}
