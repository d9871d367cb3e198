//! Calendar days and months of a zone.
//!
//! Owns "today" for everything that counts per day. A skipped midnight is the end of the gap; a repeated midnight
//! begins the day the first time, so every instant belongs to exactly one day.

use chrono::Datelike as _;

use super::wall_clock::{WallInstants, WallTime, date_words, instants_of, time_words, wall_at};
use super::zones::Zone;
use crate::UnixMs;

/// A calendar day of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The first instant.
    pub start: UnixMs,
    /// The first instant after.
    pub end: UnixMs,
}

impl Day {
    /// The day of `zone` that contains `at`.
    #[must_use]
    pub fn of(zone: Zone, at: UnixMs) -> Self {
        let (day, _) = wall_at(zone, at.0.div_euclid(1000)).day_and_time();
        let start = match instants_of(zone, WallTime::at(day, 0)) {
            WallInstants::Once(at)
            | WallInstants::Twice { first: at, .. }
            | WallInstants::Never { gap_end: at } => at,
        };
        let end = match instants_of(zone, WallTime::at(day + 1, 0)) {
            WallInstants::Once(at)
            | WallInstants::Twice { second: at, .. }
            | WallInstants::Never { gap_end: at } => at,
        };
        Self { start: UnixMs(start * 1000), end: UnixMs(end * 1000) }
    }

    /// The end in words: "23 Nov 2026 at 00:00 (Europe/Berlin)".
    #[must_use]
    pub fn end_in_words(self, zone: Zone) -> String {
        let end = wall_at(zone, self.end.0.div_euclid(1000)).naive();
        format!("{} at {} ({zone})", date_words(end), time_words(end))
    }
}

/// The first instant of the month of `zone` that contains `at`.
#[must_use]
pub fn month_start(zone: Zone, at: UnixMs) -> UnixMs {
    let wall = wall_at(zone, at.0.div_euclid(1000));
    let first = WallTime::at(wall.day_and_time().0 - i64::from(wall.naive().day0()), 0);
    let (WallInstants::Once(start)
    | WallInstants::Twice { first: start, .. }
    | WallInstants::Never { gap_end: start }) = instants_of(zone, first);
    UnixMs(start * 1000)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeZone as _};
    use chrono_tz::Tz;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn at(text: &str) -> UnixMs {
        UnixMs(DateTime::parse_from_rfc3339(text).expect("an instant").timestamp_millis())
    }

    fn hours(tz: Tz, text: &str) -> i64 {
        let day = Day::of(tz.into(), at(text));
        assert!((day.start..day.end).contains(&at(text)), "{text} lies in the day");
        day.end.since(day.start) / HOUR_MS
    }

    #[test]
    fn day_length_follows_clock_changes() {
        for (tz, text, long) in [
            (chrono_tz::Europe::Berlin, "2026-11-22T12:00:00+01:00", 24),
            (chrono_tz::Europe::Berlin, "2026-03-29T12:00:00+02:00", 23),
            (chrono_tz::Europe::Berlin, "2026-10-25T23:30:00+01:00", 25),
            (chrono_tz::America::Havana, "2026-03-08T12:00:00-04:00", 23),
            (chrono_tz::America::Havana, "2026-11-01T00:30:00-05:00", 25),
            (chrono_tz::Pacific::Apia, "2011-12-29T12:00:00-10:00", 24),
            (chrono_tz::Pacific::Apia, "2011-12-31T12:00:00+14:00", 24),
            // On 2008-03-16 at midnight the clock went back to 23:00 of the day before.
            (chrono_tz::America::Argentina::Buenos_Aires, "2008-03-15T23:30:00-03:00", 25),
            (chrono_tz::Asia::Kathmandu, "2026-11-22T00:00:00+05:45", 24),
        ] {
            assert_eq!(hours(tz, text), long, "{tz} {text}");
        }
    }

    #[test]
    fn days_are_contiguous() {
        for tz in
            [chrono_tz::Europe::Berlin, chrono_tz::America::Sao_Paulo, chrono_tz::Asia::Beirut]
        {
            let mut day = Day::of(tz.into(), at("2017-01-01T12:00:00Z"));
            for _ in 0..1_000 {
                let next = Day::of(tz.into(), day.end);
                assert_eq!(next.start, day.end, "{tz}");
                assert!(next.end > next.start);
                day = next;
            }
        }
    }

    #[test]
    fn month_begins_at_its_first_midnight() {
        let berlin = chrono_tz::Europe::Berlin.into();
        for (text, start) in [
            ("2026-11-22T12:00:00+01:00", "2026-11-01T00:00:00+01:00"),
            ("2026-11-01T00:00:00+01:00", "2026-11-01T00:00:00+01:00"),
            ("2026-10-31T23:59:59+01:00", "2026-10-01T00:00:00+02:00"),
        ] {
            assert_eq!(month_start(berlin, at(text)), at(start), "{text}");
        }
    }

    #[test]
    fn end_of_day_is_worded_with_its_zone() {
        let berlin = chrono_tz::Europe::Berlin;
        let noon = berlin.with_ymd_and_hms(2026, 12, 31, 12, 0, 0).single().expect("a time");
        let day = Day::of(berlin.into(), UnixMs(noon.timestamp_millis()));
        assert_eq!(day.end_in_words(berlin.into()), "1 Jan 2027 at 00:00 (Europe/Berlin)");
    }
}
