//! A daily window on a wall clock: active hours, quiet hours.
//!
//! Owns containment and the next boundary. Both follow the wall clock: a repeated hour is inside twice, and a skipped
//! boundary lies at the end of the gap. Walks the minutes instead of computing, because every formula across a clock
//! change has a forgotten case.

use chrono::{DateTime, Datelike as _, Timelike as _, Weekday};

use super::zones::{Zone, Zones};
use crate::UnixMs;

const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: u16 = 24 * 60;
/// Two days and the largest clock change; every boundary occurs within.
const MOST_MINUTES: i64 = 3 * 24 * 60;

/// From a time of day to another (exclusive), over midnight if the second is earlier. Without a zone the window follows
/// the local zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayWindow {
    from: u16,
    to: u16,
    tz: Option<String>,
}

impl DayWindow {
    /// Parses two times of day such as `22:00` and `07:00`; `24:00` is the end of a day. An unknown zone counts as local.
    ///
    /// # Errors
    /// The message.
    pub fn parse(from: &str, to: &str, tz: Option<&str>) -> Result<Self, String> {
        let (from, to) = (time_of_day(from)?, time_of_day(to)?);
        if from % DAY_MINUTES == to % DAY_MINUTES && (from, to) != (0, DAY_MINUTES) {
            return Err("must not begin and end at the same time".to_owned());
        }
        Ok(Self { from: from % DAY_MINUTES, to, tz: tz.map(str::to_owned) })
    }

    /// `22:00–07:00`.
    #[must_use]
    pub fn describe(&self) -> String {
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        format!("{}–{}", time(self.from), time(self.to))
    }

    /// The same with the zone if that differs from `local`: `22:00–07:00 Europe/Berlin`.
    #[must_use]
    pub fn describe_in(&self, local: Zone) -> String {
        match self.tz.as_deref().filter(|tz| *tz != local.name()) {
            Some(tz) => format!("{} {tz}", self.describe()),
            None => self.describe(),
        }
    }

    /// Whether `at` is inside, by `zones`.
    #[must_use]
    pub fn contains(&self, at: UnixMs, zones: impl Into<Zones>) -> bool {
        self.is_inside(at, self.zone(&zones.into()))
    }

    /// The weekday on which the window around `at` began; none outside.
    #[must_use]
    pub fn began_on(&self, at: UnixMs, zones: impl Into<Zones>) -> Option<Weekday> {
        let zone = self.zone(&zones.into());
        let local = DateTime::from_timestamp_millis(at.0)?.with_timezone(&zone);
        let is_after_midnight =
            self.from >= self.to && local.hour() * 60 + local.minute() < u32::from(self.from);
        let today = local.weekday();
        self.is_inside(at, zone).then(|| if is_after_midnight { today.pred() } else { today })
    }

    /// The zone, or the local zone.
    fn zone(&self, zones: &Zones) -> Zone {
        self.tz.as_deref().and_then(|tz| zones.zone(tz)).unwrap_or(zones.local())
    }

    fn is_inside(&self, at: UnixMs, zone: Zone) -> bool {
        let Some(utc) = DateTime::from_timestamp_millis(at.0) else { return false };
        let local = utc.with_timezone(&zone);
        let minute = u16::try_from(local.hour() * 60 + local.minute()).unwrap_or(0);
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }

    /// The first instant inside, from `at` on.
    #[must_use]
    pub fn first_inside(&self, at: UnixMs, zones: impl Into<Zones>) -> Option<UnixMs> {
        self.first(at, self.zone(&zones.into()), true)
    }

    /// The first instant outside, from `at` on; none for a whole day.
    #[must_use]
    pub fn first_outside(&self, at: UnixMs, zones: impl Into<Zones>) -> Option<UnixMs> {
        self.first(at, self.zone(&zones.into()), false)
    }

    fn first(&self, at: UnixMs, zone: Zone, inside: bool) -> Option<UnixMs> {
        if self.is_inside(at, zone) == inside {
            return Some(at);
        }
        let next_minute = at.0.div_euclid(MINUTE_MS) + 1;
        (next_minute..next_minute + MOST_MINUTES)
            .map(|minute| UnixMs(minute * MINUTE_MS))
            .find(|minute| self.is_inside(*minute, zone) == inside)
    }
}

/// Minutes since midnight of `07:00`.
pub(crate) fn time_of_day(text: &str) -> Result<u16, String> {
    let number =
        |part: &str| part.parse::<u16>().ok().filter(|_| part.bytes().all(|b| b.is_ascii_digit()));
    let parts = text.trim().split_once(':').filter(|(_, minute)| minute.len() == 2);
    let parts = parts.and_then(|(hour, minute)| Some((number(hour)?, number(minute)?)));
    match parts {
        Some((hour, minute)) if minute < 60 && hour <= 24 && hour * 60 + minute <= DAY_MINUTES => {
            Ok(hour * 60 + minute)
        }
        _ => Err(format!("expected a time of day such as 07:00, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDateTime, TimeZone as _};

    use chrono_tz::{Tz, UTC};

    use super::*;

    fn at(tz: Tz, local: &str) -> UnixMs {
        let naive = NaiveDateTime::parse_from_str(local, "%Y-%m-%d %H:%M").expect("a time");
        UnixMs(tz.from_local_datetime(&naive).earliest().expect("exists").timestamp_millis())
    }

    fn night(tz: Tz) -> DayWindow {
        DayWindow::parse("22:00", "07:00", Some(tz.name())).expect("a window")
    }

    #[test]
    fn window_over_midnight_contains_both_sides() {
        let tz = chrono_tz::Europe::Berlin;
        let night = night(tz);
        for (time, inside) in [
            ("2026-01-10 21:59", false),
            ("2026-01-10 22:00", true),
            ("2026-01-11 00:00", true),
            ("2026-01-11 06:59", true),
            ("2026-01-11 07:00", false),
        ] {
            assert_eq!(night.contains(at(tz, time), UTC), inside, "{time}");
        }
        assert_eq!(
            night.first_outside(at(tz, "2026-01-10 23:30"), UTC),
            Some(at(tz, "2026-01-11 07:00"))
        );
        assert_eq!(
            night.first_inside(at(tz, "2026-01-11 07:00"), UTC),
            Some(at(tz, "2026-01-11 22:00"))
        );
        let now = at(tz, "2026-01-10 23:30");
        assert_eq!(night.first_inside(now, UTC), Some(now));
        assert_eq!(night.describe(), "22:00–07:00");
        let chatham = DayWindow::parse("22:00", "07:00", Some("Pacific/Chatham")).expect("valid");
        assert_eq!(chatham.describe_in(Zone::UTC), "22:00–07:00 Pacific/Chatham");
        assert_eq!(chatham.describe_in(Tz::Pacific__Chatham.into()), "22:00–07:00");
    }

    #[test]
    fn window_belongs_to_the_day_on_which_it_began() {
        let tz = chrono_tz::Europe::Berlin;
        let night = night(tz);
        for (time, day) in [
            ("2026-01-09 21:59", None),
            ("2026-01-09 22:00", Some(Weekday::Fri)),
            ("2026-01-10 06:59", Some(Weekday::Fri)),
            ("2026-01-10 07:00", None),
            ("2026-01-10 23:00", Some(Weekday::Sat)),
        ] {
            assert_eq!(night.began_on(at(tz, time), UTC), day, "{time}");
        }
        let noon = DayWindow::parse("12:00", "14:00", Some(tz.name())).expect("a window");
        assert_eq!(noon.began_on(at(tz, "2026-01-09 13:00"), UTC), Some(Weekday::Fri));
    }

    #[test]
    fn boundary_in_a_gap_lies_at_its_end() {
        let tz = chrono_tz::Europe::Berlin;
        let window = DayWindow::parse("01:00", "02:30", Some(tz.name())).expect("a window");
        let end = window.first_outside(at(tz, "2026-03-29 01:30"), UTC);
        assert_eq!(end, Some(at(tz, "2026-03-29 03:00")));
    }

    #[test]
    fn repeated_hour_is_inside_twice() {
        let tz = chrono_tz::Europe::Berlin;
        let window = DayWindow::parse("01:00", "02:30", Some(tz.name())).expect("a window");
        let first_end = window.first_outside(at(tz, "2026-10-25 02:00"), UTC).expect("an end");
        assert_eq!(first_end, at(tz, "2026-10-25 02:30"));
        let again = window.first_inside(first_end, UTC).expect("inside again");
        assert_eq!(again.since(first_end), 30 * MINUTE_MS);
        assert_eq!(
            window.first_outside(again, UTC).map(|end| end.since(again)),
            Some(30 * MINUTE_MS)
        );
    }

    #[test]
    fn whole_day_has_no_outside() {
        let day = DayWindow::parse("00:00", "24:00", None).expect("a window");
        assert!(day.contains(UnixMs(0), UTC));
        assert_eq!(day.first_outside(UnixMs(0), UTC), None);
    }

    #[test]
    fn window_without_a_zone_is_local() {
        let window = DayWindow::parse("08:00", "09:00", None).expect("a window");
        let eight = at(chrono_tz::Asia::Kathmandu, "2026-01-10 08:00");
        assert!(window.contains(eight, chrono_tz::Asia::Kathmandu));
        assert!(!window.contains(eight, UTC));
    }

    #[test]
    fn invalid_window_is_refused() {
        for (from, to) in [
            ("08:00", "08:00"),
            ("00:00", "00:00"),
            ("8", "9"),
            ("25:00", "08:00"),
            ("08:60", "09:00"),
            ("", ""),
        ] {
            assert!(DayWindow::parse(from, to, None).is_err(), "{from} {to}");
        }
    }
}
