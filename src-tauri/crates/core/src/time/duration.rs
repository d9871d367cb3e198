//! Durations as text: parsing and formatting.
//!
//! Owns a single strict grammar: the whole text must parse, and ambiguity is refused with a hint. A bare number has no
//! unit; months and years have no fixed length; `30m1h` is probably a typo. Hints name forms without spaces, for
//! shells.

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Empty.
    #[error("expected a duration such as `10m` or `1h30m`")]
    Empty,
    /// A number without a unit.
    #[error("`{number}` has no unit: write `{number}s`, `{number}m` or `{number}h`")]
    NoUnit {
        /// The number.
        number: String,
    },
    /// An unknown unit.
    #[error("`{found}` is not a unit: use ms, s, min, h, d or w")]
    UnknownUnit {
        /// The unit.
        found: String,
    },
    /// Months or years.
    #[error("`{found}` has no fixed length: use days, or a cron pattern")]
    CalendarUnit {
        /// The unit.
        found: String,
    },
    /// No number where a number is expected.
    #[error("expected a number with a unit such as `30m`, found `{found}`")]
    NotANumber {
        /// The remaining text.
        found: String,
    },
    /// A repeated unit, or a smaller unit before a larger one.
    #[error("units go from large to small, each once, such as `1h30m`")]
    Order,
    /// A fraction before the last part.
    #[error("only the last part can have a fraction, such as `1h 1.5m`")]
    Fraction,
    /// A fraction of a millisecond.
    #[error("a duration is a whole number of milliseconds")]
    TooFine,
    /// Out of range.
    #[error("this duration is too long")]
    TooLong,
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// Parses `10m`, `1h30m`, `90 minutes`, `1.5h`, `1 hour, 5 minutes`, `250ms` or ISO 8601 (`PT1H30M`) to milliseconds. A
/// day has 24 hours.
///
/// # Errors
/// The unparsable part, and a hint.
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let text = text.trim().to_ascii_lowercase();
    let iso = text
        .strip_prefix('p')
        .filter(|rest| rest.starts_with(|c: char| c == 't' || c.is_ascii_digit()));
    let mut sum = DurationSum::default();
    match iso {
        Some(rest) => read_iso(rest, &mut sum)?,
        None => read_friendly(&text, &mut sum)?,
    }
    sum.total.ok_or(DurationError::Empty)
}

/// `5_400_000` as `1 h 30 min`: exact, largest unit a day.
#[must_use]
pub fn format_duration(ms: i64) -> String {
    let mut rest = ms.unsigned_abs();
    let mut parts = Vec::new();
    for (unit, name) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"), (1, "ms")] {
        let unit = unit.unsigned_abs();
        if rest >= unit {
            parts.push(format!("{} {name}", rest / unit));
            rest %= unit;
        }
    }
    match parts.as_slice() {
        [] => "0 s".to_owned(),
        parts => format!("{}{}", if ms < 0 { "-" } else { "" }, parts.join(" ")),
    }
}

/// The sum of the parts so far.
#[derive(Default)]
struct DurationSum {
    total: Option<i64>,
    smallest_unit: Option<i64>,
    has_fraction: bool,
}

impl DurationSum {
    fn add(&mut self, number: &str, unit: i64) -> Result<(), DurationError> {
        if self.smallest_unit.is_some_and(|smallest| smallest <= unit) {
            return Err(DurationError::Order);
        }
        if self.has_fraction {
            return Err(DurationError::Fraction);
        }
        self.smallest_unit = Some(unit);
        self.has_fraction = number.contains('.');
        let total = self.total.unwrap_or(0).checked_add(amount(number, unit)?);
        self.total = Some(total.ok_or(DurationError::TooLong)?);
        Ok(())
    }
}

fn read_friendly(text: &str, sum: &mut DurationSum) -> Result<(), DurationError> {
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = take_number(rest)?;
        let after = after.trim_start();
        let (unit, after) =
            after.split_at(after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len()));
        if unit.is_empty() && after.is_empty() {
            return Err(DurationError::NoUnit { number: number.to_owned() });
        }
        sum.add(number, friendly_unit(unit, after)?)?;
        rest = after_separator(after);
    }
    Ok(())
}

/// Skips the separator between two parts: blanks, a comma with a blank, or "and". None may end the text.
fn after_separator(text: &str) -> &str {
    let next = text.trim_start();
    let next =
        next.strip_prefix(',').filter(|after| after.starts_with(' ')).map_or(next, str::trim_start);
    let next = next.strip_prefix("and ").map_or(next, str::trim_start);
    if next.is_empty() { text } else { next }
}

fn friendly_unit(unit: &str, after: &str) -> Result<i64, DurationError> {
    match unit {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Ok(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Ok(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Ok(MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => Ok(HOUR),
        "d" | "day" | "days" => Ok(DAY),
        "w" | "wk" | "wks" | "week" | "weeks" => Ok(WEEK),
        "mo" | "month" | "months" | "y" | "yr" | "yrs" | "year" | "years" => {
            Err(DurationError::CalendarUnit { found: shorten(unit) })
        }
        "" => Err(DurationError::UnknownUnit { found: shorten(after) }),
        _ => Err(DurationError::UnknownUnit { found: shorten(unit) }),
    }
}

fn read_iso(text: &str, sum: &mut DurationSum) -> Result<(), DurationError> {
    let (date, time) = match text.split_once('t') {
        Some((_, "")) => return Err(DurationError::NotANumber { found: "t".to_owned() }),
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    read_iso_part(date, &[("w", WEEK), ("d", DAY)], sum)?;
    read_iso_part(time, &[("h", HOUR), ("m", MINUTE), ("s", SECOND)], sum)
}

fn read_iso_part(
    text: &str,
    units: &[(&str, i64)],
    sum: &mut DurationSum,
) -> Result<(), DurationError> {
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = take_number(rest)?;
        let mut letters = after.char_indices();
        let Some((_, letter)) = letters.next() else {
            return Err(DurationError::NoUnit { number: number.to_owned() });
        };
        let (unit, after) = after.split_at(letter.len_utf8());
        match units.iter().find(|(name, _)| *name == unit) {
            Some((_, unit)) => sum.add(number, *unit)?,
            None if matches!(unit, "m" | "y") => {
                return Err(DurationError::CalendarUnit { found: unit.to_owned() });
            }
            None => return Err(DurationError::UnknownUnit { found: unit.to_owned() }),
        }
        rest = after;
    }
    Ok(())
}

/// Splits `1.5h` into `1.5` and `h`.
fn take_number(text: &str) -> Result<(&str, &str), DurationError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let is_number = match number.split_once('.') {
        Some((whole, fraction)) => {
            !whole.is_empty() && !fraction.is_empty() && !fraction.contains('.')
        }
        None => !number.is_empty(),
    };
    if is_number {
        Ok((number, rest))
    } else {
        Err(DurationError::NotANumber { found: shorten(text) })
    }
}

/// `number` units as milliseconds, exactly.
fn amount(number: &str, unit: i64) -> Result<i64, DurationError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 9 {
        return Err(DurationError::TooFine);
    }
    let scale = 10_i128.pow(u32::try_from(fraction.len()).expect("BUG: at most nine digits"));
    let digits: i128 = format!("{whole}{fraction}").parse().map_err(|_| DurationError::TooLong)?;
    let scaled = digits.checked_mul(i128::from(unit)).ok_or(DurationError::TooLong)?;
    if scaled % scale != 0 {
        return Err(DurationError::TooFine);
    }
    i64::try_from(scaled / scale).map_err(|_| DurationError::TooLong)
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}
