//! Instants for people.

use chrono::TimeZone as _;
use rouse_core::Clock as _;
use rouse_core::schedule::{Zone, format_duration};

use crate::resolve::engine::EngineConnection;

/// An instant in the local zone.
pub(crate) fn local_time(engine: &EngineConnection, at_ms: i64) -> String {
    instant(at_ms, engine.clock.now().0, engine.clock.zone())
}

/// An instant in the local zone and the distance: `Mon 23 Nov 07:30:00 (in 2 h)`.
pub(crate) fn local_time_with_distance(engine: &EngineConnection, at_ms: i64) -> String {
    format!("{} ({})", local_time(engine, at_ms), distance(at_ms, engine.clock.now().0))
}

/// An instant in `zone`: `Mon 23 Nov 07:30:00`; with the year outside the current year.
pub(crate) fn instant(at_ms: i64, now_ms: i64, zone: Zone) -> String {
    let at = |ms: i64| zone.timestamp_millis_opt(ms).single();
    let (Some(then), Some(now)) = (at(at_ms), at(now_ms)) else { return at_ms.to_string() };
    let same_year = then.format("%Y").to_string() == now.format("%Y").to_string();
    then.format(if same_year { "%a %-d %b %H:%M:%S" } else { "%a %-d %b %Y %H:%M:%S" }).to_string()
}

/// An instant in the local zone, and in `other` if that zone differs. Equal days stand once.
pub(crate) fn instant_in_zones(
    at_ms: i64,
    now_ms: i64,
    local: Zone,
    other: Option<Zone>,
) -> String {
    let here = instant(at_ms, now_ms, local);
    let Some(other) = other.filter(|other| other.name() != local.name()) else { return here };
    let there = instant(at_ms, now_ms, other);
    let day = |text: &str| text.rsplit_once(' ').map(|(day, _)| day.to_owned());
    let time = there.rsplit_once(' ').filter(|_| day(&there) == day(&here));
    format!("{here} here, {} {}", time.map_or(&*there, |(_, time)| time), other.name())
}

/// How far away an instant is, rounded: `in 2 h`, `3 min ago`.
pub(crate) fn distance(at_ms: i64, now_ms: i64) -> String {
    let span = at_ms - now_ms;
    let rounded = match span.abs() {
        0..1_000 => return "now".to_owned(),
        ms if ms < 60_000 => round_to(ms, 1_000),
        ms if ms < 48 * 3_600_000 => round_to(ms, 60_000),
        ms => round_to(ms, 86_400_000),
    };
    let duration = format_duration(rounded);
    if span > 0 { format!("in {duration}") } else { format!("{duration} ago") }
}

/// Rounds to the nearest unit, because a moment passes between the call and the output.
const fn round_to(span_ms: i64, unit_ms: i64) -> i64 {
    (span_ms + unit_ms / 2) / unit_ms * unit_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_rounded_to_the_nearest_unit() {
        assert_eq!(distance(7_200_000, 0), "in 2 h");
        assert_eq!(distance(0, 185_000), "3 min ago");
        assert_eq!(distance(5_400, 0), "in 5 s");
        assert_eq!(distance(119_990, 0), "in 2 min");
        assert_eq!(distance(59_900, 0), "in 1 min");
        assert_eq!(distance(7_199_000, 0), "in 2 h");
        assert_eq!(distance(5 * 86_400_000 - 60_000, 0), "in 5 d");
    }

    #[test]
    fn instant_in_other_zone_has_both_times() {
        let monday = 1_795_415_400_000;
        let now = monday - 3_600_000;
        let zone = |name: &str| rouse_core::schedule::Zones::built_in(chrono_tz::UTC).zone(name);
        let text = |other: &str| instant_in_zones(monday, now, Zone::UTC, zone(other));
        assert_eq!(text("UTC"), "Mon 23 Nov 06:30:00");
        assert_eq!(text("Europe/Berlin"), "Mon 23 Nov 06:30:00 here, 07:30:00 Europe/Berlin");
        assert_eq!(
            text("America/Los_Angeles"),
            "Mon 23 Nov 06:30:00 here, Sun 22 Nov 22:30:00 America/Los_Angeles"
        );
    }
}
