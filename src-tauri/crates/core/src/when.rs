//! Instants as people and models write them: ISO 8601, milliseconds, or a time from now.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};

use crate::UnixMs;
use crate::schedule::{Zone, parse_duration};

/// Reads `text`. A time without an offset is local to `zone`; one that the clocks skip is refused, one that comes twice
/// means the first.
///
/// # Errors
/// What was expected, as the end of a sentence.
pub fn instant(text: &str, now: UnixMs, zone: Zone) -> Result<UnixMs, String> {
    let text = text.trim();
    if text.chars().all(|c| c.is_ascii_digit()) && text.len() >= 11 {
        return text.parse().map(UnixMs).map_err(|_| "is too large".to_owned());
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(UnixMs(at.timestamp_millis()));
    }
    if let Some(local) = local_time(text) {
        return zone
            .from_local_datetime(&local)
            .earliest()
            .map(|at| UnixMs(at.timestamp_millis()))
            .ok_or_else(|| {
                format!("{text} does not exist in {}: the clocks skip it", zone.name())
            });
    }
    let from_now = text.strip_prefix("in ").or_else(|| text.strip_prefix('+')).unwrap_or(text);
    match parse_duration(from_now) {
        Ok(ms) => Ok(now.plus_ms(ms)),
        Err(_) => Err(format!(
            "expected a time such as 2026-12-24T18:00, 2026-12-24T18:00:00+01:00, 20m or 1766595600000, found `{text}`"
        )),
    }
}

fn local_time(text: &str) -> Option<NaiveDateTime> {
    let formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"];
    let with_time =
        formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    with_time.or_else(|| {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(date.and_time(NaiveTime::MIN))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> Zone {
        chrono_tz::Europe::Berlin.into()
    }

    #[test]
    fn every_form_is_read() {
        let now = UnixMs(1_000_000_000_000);
        assert_eq!(instant("20m", now, berlin()), Ok(now.plus_ms(1_200_000)));
        assert_eq!(instant("in 2h", now, berlin()), Ok(now.plus_ms(7_200_000)));
        assert_eq!(instant("1766595600000", now, berlin()), Ok(UnixMs(1_766_595_600_000)));
        assert_eq!(
            instant("2025-12-24T18:00:00+01:00", now, berlin()),
            Ok(UnixMs(1_766_595_600_000))
        );
        assert_eq!(instant("2025-12-24 18:00", now, berlin()), Ok(UnixMs(1_766_595_600_000)));
    }

    #[test]
    fn a_time_that_the_clocks_skip_is_refused() {
        assert!(
            instant("2026-03-29T02:30", UnixMs(0), berlin())
                .is_err_and(|error| error.contains("skip"))
        );
        assert!(instant("tomorrow", UnixMs(0), berlin()).is_err());
    }
}
