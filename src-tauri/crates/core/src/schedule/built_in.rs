//! The tables inside chrono-tz, as tables.
//!
//! Owns reading them by asking: chrono-tz keeps its lists to itself and answers for one instant at a time. A zone is
//! read when it is first used, about a millisecond of looking every three days at three centuries, and kept for the life
//! of the process. One could get it wrong by looking less often than clocks were ever changed.

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;

use super::table::{Change, SOURCES_END, Table};
use super::wall::{FIRST_PROBE, LEAST_BETWEEN_CHANGES};

pub(super) fn table(tz: Tz) -> Table {
    let mut changes = Vec::new();
    let first_east = east_at(tz, FIRST_PROBE);
    let (mut low, mut east) = (FIRST_PROBE, first_east);
    while low < SOURCES_END {
        let high = (low + LEAST_BETWEEN_CHANGES).min(SOURCES_END);
        let later = east_at(tz, high);
        if later != east {
            changes.push(Change { at: change_between(tz, low, high), east: later });
        }
        (low, east) = (high, later);
    }
    Table::carried_on(tz.name(), false, first_east, changes)
}

/// The first second after `low` with another offset, for a window with one change.
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
