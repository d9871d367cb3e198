//! The tables of chrono-tz as [`ZoneTable`]s.
//!
//! Owns their extraction: chrono-tz exposes no list, only the offset at an instant. A zone is probed on first use, every
//! three days over three centuries (about a millisecond), and cached for the process.
//! Pitfall: probing less often than clocks ever changed.

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;

use super::table::{FIRST_PROBE, LEAST_BETWEEN_CHANGES, OffsetChange, SOURCES_END, ZoneTable};

pub(super) fn table(tz: Tz) -> ZoneTable {
    let mut changes = Vec::new();
    let first_east = east_at(tz, FIRST_PROBE);
    let (mut low, mut east) = (FIRST_PROBE, first_east);
    while low < SOURCES_END {
        let high = (low + LEAST_BETWEEN_CHANGES).min(SOURCES_END);
        let later = east_at(tz, high);
        if later != east {
            changes.push(OffsetChange { at: change_between(tz, low, high), east: later });
        }
        (low, east) = (high, later);
    }
    ZoneTable::extended(tz.name(), false, first_east, changes)
}

/// The first second after `low` with another offset, in a window with a single change.
fn change_between(tz: Tz, mut low: i64, mut high: i64) -> i64 {
    let before = east_at(tz, low);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if east_at(tz, middle) == before {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn east_at(tz: Tz, at: i64) -> i64 {
    let at = DateTime::from_timestamp(at, 0).expect("BUG: tables lie within chrono's calendar");
    i64::from(tz.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc())
}
