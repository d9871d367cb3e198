//! Instants as text of people and models: ISO 8601, milliseconds, a duration from now, or a time of day.
//!
//! Owns the parsing. A time of day is the next such time on the wall clock. `midnight` takes no day word, because
//! "tomorrow midnight" is ambiguous.
//! Pitfall: adding 24 hours for a day; across a clock change the next 9:00 is 23 or 25 hours away.

use std::ops::RangeInclusive;

use chrono::{DateTime, Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};

use super::duration::parse_duration;
use super::zones::Zone;
use crate::UnixMs;
use crate::text::escape_line;

/// Parses an instant. Without an offset, the text is local to `zone`: a skipped time is refused, a repeated time means
/// the first. A time of day (`9:00`, `9am`, `noon`, `tomorrow 9:00`) is the next after `now`.
///
/// # Errors
/// The expected forms, as the end of a sentence.
pub fn parse_instant(text: &str, now: UnixMs, zone: Zone) -> Result<UnixMs, String> {
    let text = text.trim();
    if text.chars().all(|c| c.is_ascii_digit()) && text.len() >= 11 {
        return text.parse().map(UnixMs).map_err(|_| "is too large".to_owned());
    }
    if let Some(at) = on_its_day(text, zone) {
        return at;
    }
    if let Some((days, time)) = time_of_day(text) {
        let over = || format!("{text} has passed; for the next day write tomorrow {time}");
        return next(days, time, now, zone)?.ok_or_else(over);
    }
    let from_now = text.strip_prefix("in ").or_else(|| text.strip_prefix('+')).unwrap_or(text);
    match parse_duration(from_now) {
        Ok(ms) => Ok(now.plus_ms(ms)),
        Err(_) => Err(format!(
            "expected a time such as 18:00, 6pm, tomorrow 18:00, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00, 20m or \
             1766595600000, found `{text}`"
        )),
    }
}

/// Parses the start of a span that ends now: an instant, a duration before `now` (`2h`, `2h ago`), `today`,
/// `yesterday`, or a time of day, which is the last up to `now`.
///
/// # Errors
/// The expected forms, as the end of a sentence.
pub fn parse_past_instant(text: &str, now: UnixMs, zone: Zone) -> Result<UnixMs, String> {
    let text = text.trim();
    let day = match text.to_ascii_lowercase().as_str() {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days_ago) = day {
        return Ok(UnixMs(
            last(days_ago..=days_ago, NaiveTime::MIN, now, zone)?.map_or(0, |at| at.0),
        ));
    }
    if let Some((days, time)) = time_of_day(text).filter(|(days, _)| *days == (0..=1)) {
        return Ok(UnixMs(last(days, time, now, zone)?.map_or(0, |at| at.0)));
    }
    if let Ok(ms) = parse_duration(text.strip_suffix("ago").unwrap_or(text).trim_end()) {
        return Ok(now.plus_ms(-ms));
    }
    let is_number = text.chars().all(|c| c.is_ascii_digit()) && text.len() >= 11;
    match on_its_day(text, zone) {
        Some(at) => at,
        None if is_number => parse_instant(text, now, zone),
        None => Err(format!(
            "expected a time such as 2h, today, yesterday, 18:00, 2026-12-24, 2026-12-24T18:00 or 1766595600000, found `{}`",
            escape_line(text)
        )),
    }
}

/// The last `time` up to `now` on any day before today (0 is today).
fn last(
    days_ago: RangeInclusive<u64>,
    time: NaiveTime,
    now: UnixMs,
    zone: Zone,
) -> Result<Option<UnixMs>, String> {
    let here = DateTime::from_timestamp_millis(now.0).map(|now| now.with_timezone(&zone));
    let today = here.ok_or("cannot be found: the clock is out of range")?.date_naive();
    for date in days_ago.filter_map(|days| today.checked_sub_days(Days::new(days))) {
        let instants = on_the_clock(date.and_time(time), zone)?;
        if let Some(at) = instants.into_iter().rev().find(|at| *at <= now) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Parses an instant with a day, as job documents require.
///
/// # Errors
/// The expected forms, as the end of a sentence.
pub fn parse_dated_instant(text: &str, zone: Zone) -> Result<UnixMs, String> {
    let text = text.trim();
    on_its_day(text, zone).unwrap_or_else(|| {
        Err(format!(
            "expected a day and a time such as 2026-12-24T18:00 or 2026-12-24T18:00:00+01:00, found `{}`",
            escape_line(text)
        ))
    })
}

fn on_its_day(text: &str, zone: Zone) -> Option<Result<UnixMs, String>> {
    if let Some(at) = with_offset(text) {
        return Some(Ok(UnixMs(at.timestamp_millis())));
    }
    local_time(text).map(|local| on_the_clock(local, zone).map(|[first, _]| first))
}

/// RFC 3339, and ISO 8601 without seconds or with a shortened offset.
fn with_offset(text: &str) -> Option<DateTime<FixedOffset>> {
    const FORMATS: [&str; 4] =
        ["%Y-%m-%dT%H:%M%#z", "%Y-%m-%d %H:%M%#z", "%Y-%m-%dT%H:%M:%S%#z", "%Y-%m-%d %H:%M:%S%#z"];
    // silent-ok: the text may have no offset.
    let exact = DateTime::parse_from_rfc3339(text).ok();
    exact.or_else(|| FORMATS.iter().find_map(|format| DateTime::parse_from_str(text, format).ok()))
}

/// The first and the last instant at which clocks show `local`; equal unless repeated.
fn on_the_clock(local: NaiveDateTime, zone: Zone) -> Result<[UnixMs; 2], String> {
    let at = zone.from_local_datetime(&local);
    let [Some(first), Some(last)] = [at.earliest(), at.latest()] else {
        let shown = local.format("%Y-%m-%d %H:%M");
        return Err(format!("{shown} does not exist in {}: the clocks skip it", zone.name()));
    };
    Ok([first, last].map(|at| UnixMs(at.timestamp_millis())))
}

/// The first `time` after `now` on any of `days` from today; none when all have passed.
fn next(
    days: RangeInclusive<u64>,
    time: NaiveTime,
    now: UnixMs,
    zone: Zone,
) -> Result<Option<UnixMs>, String> {
    let here = DateTime::from_timestamp_millis(now.0).map(|now| now.with_timezone(&zone));
    let today = here.ok_or("cannot be found: the clock is out of range")?.date_naive();
    for date in days.filter_map(|days| today.checked_add_days(Days::new(days))) {
        let instants = on_the_clock(date.and_time(time), zone)?;
        if let Some(at) = instants.into_iter().find(|at| *at > now) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Parses `9:00`, `at 9am`, `today noon`, `tomorrow 9:00:30` to possible days from today and a time.
fn time_of_day(text: &str) -> Option<(RangeInclusive<u64>, NaiveTime)> {
    let text = text.to_ascii_lowercase();
    let (days, time) = match text.split_once(char::is_whitespace) {
        Some(("tomorrow", time)) => (1..=1, time.trim()),
        Some(("today", time)) => (0..=0, time.trim()),
        _ => (0..=1, text.as_str()),
    };
    let time = time.strip_prefix("at ").unwrap_or(time).trim();
    // A bare number is an hour only beside a day word.
    let hour = time.len() <= 2 && time.parse::<u8>().is_ok() && text.starts_with("to");
    let whole = format!("{time}:00");
    let time = if hour { &whole } else { time };
    match time {
        "midnight" => (days == (0..=1)).then_some((days, NaiveTime::MIN)),
        "noon" => Some((days, NaiveTime::from_hms_opt(12, 0, 0)?)),
        _ => Some((days, on_the_dial(time)?)),
    }
}

/// Parses `9:00`, `21:30:15`, `9am`, `9:30 p.m.`.
fn on_the_dial(time: &str) -> Option<NaiveTime> {
    let halves = [("am", "am"), ("a.m.", "am"), ("pm", "pm"), ("p.m.", "pm")];
    let half = halves.iter().find_map(|(end, half)| Some((time.strip_suffix(end)?.trim(), half)));
    let digits = half.map_or(time, |(digits, _)| digits);
    if !digits.chars().all(|c| c.is_ascii_digit() || c == ':') {
        return None;
    }
    let (text, formats) = match half {
        Some((hour, half)) if !hour.contains(':') => (format!("{hour}:00 {half}"), ["%I:%M %p"; 2]),
        Some((digits, half)) => (format!("{digits} {half}"), ["%I:%M %p", "%I:%M:%S %p"]),
        None => (digits.to_owned(), ["%H:%M", "%H:%M:%S"]),
    };
    formats.iter().find_map(|format| NaiveTime::parse_from_str(&text, format).ok())
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
    fn every_form_is_parsed() {
        let now = UnixMs(1_000_000_000_000);
        assert_eq!(parse_instant("20m", now, berlin()), Ok(now.plus_ms(1_200_000)));
        assert_eq!(parse_instant("in 2h", now, berlin()), Ok(now.plus_ms(7_200_000)));
        assert_eq!(parse_instant("1766595600000", now, berlin()), Ok(UnixMs(1_766_595_600_000)));
        assert_eq!(
            parse_instant("2025-12-24T18:00:00+01:00", now, berlin()),
            Ok(UnixMs(1_766_595_600_000))
        );
        for text in [
            "2025-12-24 18:00",
            "2025-12-24T18:00+01:00",
            "2025-12-24 18:00+01:00",
            "2025-12-24T17:00Z",
            "2025-12-24T17:00:00Z",
            "2025-12-24T12:30-04:30",
            "2025-12-24T18:00+01",
            "2025-12-24T18:00:00+0100",
        ] {
            assert_eq!(parse_instant(text, now, berlin()), Ok(UnixMs(1_766_595_600_000)), "{text}");
            assert_eq!(
                parse_dated_instant(text, berlin()),
                Ok(UnixMs(1_766_595_600_000)),
                "{text}"
            );
        }
    }

    #[test]
    fn time_of_day_is_the_next_on_the_wall_clock() {
        let at = |text: &str, now: &str| {
            let now = DateTime::parse_from_rfc3339(now).expect("a time");
            let at = parse_instant(text, UnixMs(now.timestamp_millis()), berlin()).expect("a time");
            let at = DateTime::from_timestamp_millis(at.0).expect("a time");
            at.with_timezone(&berlin()).to_rfc3339()
        };
        for (text, now, expected) in [
            ("9:00", "2026-06-01T08:59:59+02:00", "2026-06-01T09:00:00+02:00"),
            ("09:00", "2026-06-01T09:00:00+02:00", "2026-06-02T09:00:00+02:00"),
            ("at 9:00", "2026-06-01T23:30:00Z", "2026-06-02T09:00:00+02:00"),
            ("tomorrow 9:00", "2026-06-01T08:00:00+02:00", "2026-06-02T09:00:00+02:00"),
            ("Tomorrow at 9:05:30", "2026-06-01T08:00:00+02:00", "2026-06-02T09:05:30+02:00"),
            ("today 9:00", "2026-06-01T08:00:00+02:00", "2026-06-01T09:00:00+02:00"),
            ("9am", "2026-06-01T08:59:59+02:00", "2026-06-01T09:00:00+02:00"),
            ("9 AM", "2026-06-01T09:00:00+02:00", "2026-06-02T09:00:00+02:00"),
            ("9:30pm", "2026-06-01T09:00:00+02:00", "2026-06-01T21:30:00+02:00"),
            ("at 9:30:15 p.m.", "2026-06-01T09:00:00+02:00", "2026-06-01T21:30:15+02:00"),
            ("12am", "2026-06-01T09:00:00+02:00", "2026-06-02T00:00:00+02:00"),
            ("12:05pm", "2026-06-01T09:00:00+02:00", "2026-06-01T12:05:00+02:00"),
            ("noon", "2026-06-01T09:00:00+02:00", "2026-06-01T12:00:00+02:00"),
            ("Noon", "2026-06-01T12:00:00+02:00", "2026-06-02T12:00:00+02:00"),
            ("today at noon", "2026-06-01T09:00:00+02:00", "2026-06-01T12:00:00+02:00"),
            ("midnight", "2026-06-01T09:00:00+02:00", "2026-06-02T00:00:00+02:00"),
            ("tomorrow 9am", "2026-06-01T09:00:00+02:00", "2026-06-02T09:00:00+02:00"),
            ("tomorrow 9", "2026-06-01T08:00:00+02:00", "2026-06-02T09:00:00+02:00"),
            ("today at 21", "2026-06-01T08:00:00+02:00", "2026-06-01T21:00:00+02:00"),
            ("0:00", "2026-12-31T12:00:00+01:00", "2027-01-01T00:00:00+01:00"),
            // A night of 23 hours, and a night with 2:30 twice.
            ("9:00", "2026-03-28T09:30:00+01:00", "2026-03-29T09:00:00+02:00"),
            ("2:30", "2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00"),
            ("2:30", "2026-10-25T02:40:00+02:00", "2026-10-25T02:30:00+01:00"),
        ] {
            assert_eq!(at(text, now), expected, "{text} at {now}");
        }
        let night = DateTime::parse_from_rfc3339("2026-03-29T01:00:00+01:00").expect("a time");
        let skipped = parse_instant("2:30", UnixMs(night.timestamp_millis()), berlin());
        assert!(skipped.is_err_and(|message| message.contains("2026-03-29 02:30 does not exist")));
        let noon = DateTime::parse_from_rfc3339("2026-06-01T12:00:00+02:00").expect("a time");
        let over = parse_instant("today 9:00", UnixMs(noon.timestamp_millis()), berlin());
        let message = "today 9:00 has passed; for the next day write tomorrow 09:00:00";
        assert_eq!(over, Err(message.to_owned()));
        for text in [
            "9",
            "25:00",
            "tomorrow 25",
            "tomorrow +9",
            "9:60",
            "+9:00",
            "-9:00",
            "yesterday 9:00",
            "13pm",
            "0am",
            "9:60am",
            "am",
            "+9am",
            "-9 pm",
            "9 30 pm",
            "9mm",
            "noon pm",
            "12:00 noon",
            "tomorrow midnight",
            "today midnight",
        ] {
            let message = parse_instant(text, UnixMs(0), berlin()).expect_err(text);
            assert!(message.contains("such as 18:00, 6pm, tomorrow 18:00"), "{message}");
        }
    }

    #[test]
    fn past_instant_lies_before_now() {
        let now = DateTime::parse_from_rfc3339("2026-06-02T08:00:00+02:00").expect("a time");
        let now = UnixMs(now.timestamp_millis());
        for (text, expected) in [
            ("2h", "2026-06-02T06:00:00+02:00"),
            ("1d ago", "2026-06-01T08:00:00+02:00"),
            ("today", "2026-06-02T00:00:00+02:00"),
            ("Yesterday", "2026-06-01T00:00:00+02:00"),
            ("7:30", "2026-06-02T07:30:00+02:00"),
            ("9pm", "2026-06-01T21:00:00+02:00"),
            ("2026-05-01", "2026-05-01T00:00:00+02:00"),
            ("2026-05-01T10:00Z", "2026-05-01T12:00:00+02:00"),
        ] {
            let at = parse_past_instant(text, now, berlin()).expect(text);
            let at = DateTime::from_timestamp_millis(at.0).expect("a time");
            assert_eq!(at.with_timezone(&berlin()).to_rfc3339(), expected, "{text}");
        }
        assert_eq!(
            parse_past_instant("1766595600000", now, berlin()),
            Ok(UnixMs(1_766_595_600_000))
        );
        for text in ["tomorrow 9:00", "lately", "", "2026-13-01"] {
            let message = parse_past_instant(text, now, berlin()).expect_err(text);
            assert!(message.contains("such as 2h, today"), "{message}");
        }
    }

    #[test]
    fn skipped_local_time_is_refused() {
        assert!(
            parse_instant("2026-03-29T02:30", UnixMs(0), berlin())
                .is_err_and(|error| error.contains("skip"))
        );
        assert!(parse_instant("tomorrow", UnixMs(0), berlin()).is_err());
    }
}
