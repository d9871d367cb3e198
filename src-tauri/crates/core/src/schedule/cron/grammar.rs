//! The grammar of a cron pattern: five or six fields.
//!
//! Owns the check before croner reads a pattern, its errors, and the fields as data for `describe`. The dialect is
//! croner's, read strictly: croner replaces names in any field (`MON` as month is January there) and skips empty list
//! items. Never finds a date or a time, and never judges whether a pattern fires.
//! Pitfall: accepting a text that croner reads differently; a test compares the values of both.

use std::fmt;

/// Enough for every value of every field.
const MAX_LENGTH: usize = 1_000;

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// The wrong number of fields.
    #[error(
        "expected five fields (minute, hour, day of month, month, day of week), or six with seconds first; found {found}"
    )]
    FieldCount {
        /// The fields found.
        found: usize,
    },
    /// An unknown `@` alias.
    #[error("expected one of @hourly, @daily, @weekly, @monthly or @yearly, found `{found}`")]
    Alias {
        /// The alias.
        found: String,
    },
    /// A zone inside the pattern, as other crons accept.
    #[error("name the zone with --tz (`tz` of the schedule), not in the pattern: found `{found}`")]
    Zone {
        /// The zone setting.
        found: String,
    },
    /// Over the length limit.
    #[error("expected at most {MAX_LENGTH} characters")]
    TooLong,
    /// A wrong field.
    #[error("{field}: expected {expected}, found `{found}`")]
    Field {
        /// The field.
        field: CronField,
        /// The expected values.
        expected: String,
        /// The wrong part.
        found: String,
    },
    /// No date matches.
    #[error(
        "this never fires: no date matches day of month `{day}`, month `{month}` and day of week `{weekday}`"
    )]
    NeverFires {
        /// The day of month field.
        day: String,
        /// The month field.
        month: String,
        /// The day of week field.
        weekday: String,
    },
    /// The grammar accepts the pattern and croner does not.
    #[error("this pattern cannot be read: {0}")]
    Unreadable(String),
}

impl From<croner::errors::CronError> for CronError {
    fn from(error: croner::errors::CronError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// A field of a pattern, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CronField {
    /// 0 to 59; optional.
    Seconds,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31, `L`, `LW`, `15W`.
    DayOfMonth,
    /// 1 to 12 or names.
    Month,
    /// 0 to 7 (both Sunday) or names, `FRI#2`, `FRI#L`.
    DayOfWeek,
}

/// An item of a field's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schedule) enum FieldItem {
    /// `*` or `?`; always the only item of the field.
    All,
    /// `*/step`.
    AllStep { step: u8 },
    /// `first-last/step`.
    RangeStep { first: u8, last: u8, step: u8 },
    /// `first-last`, or a single value as a range.
    Range { first: u8, last: u8 },
    /// `L`: the last day of the month.
    LastDay,
    /// `LW`: the last day from Monday to Friday.
    LastWorkday,
    /// `15W`: the day from Monday to Friday that is nearest.
    NearestWorkday { day: u8 },
    /// `FRI#2`: the second Friday of the month, or a range of weekdays.
    Nth { first: u8, last: u8, nth: u8 },
    /// `FRI#L`: the last Friday of the month, or a range of weekdays.
    LastOfWeekday { first: u8, last: u8 },
}

/// A parsed field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::schedule) struct FieldItems {
    pub(in crate::schedule) kind: CronField,
    pub(in crate::schedule) items: Vec<FieldItem>,
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::schedule) struct PatternFields {
    pub(in crate::schedule) seconds: Option<FieldItems>,
    pub(in crate::schedule) minute: FieldItems,
    pub(in crate::schedule) hour: FieldItems,
    pub(in crate::schedule) day: FieldItems,
    pub(in crate::schedule) month: FieldItems,
    pub(in crate::schedule) weekday: FieldItems,
    /// `+` before the day of week: both day fields must match instead of either.
    pub(in crate::schedule) both_days: bool,
}

impl PatternFields {
    /// Parses a pattern.
    pub(in crate::schedule) fn read(text: &str) -> Result<Self, CronError> {
        if text.len() > MAX_LENGTH {
            return Err(CronError::TooLong);
        }
        let text = text.trim();
        if let Some(found) = zone_prefix(text) {
            return Err(CronError::Zone { found: found.chars().take(40).collect() });
        }
        let text = text.to_ascii_uppercase();
        let text = if text.starts_with('@') { alias(&text)? } else { text.as_str() };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let (seconds, parts) = match parts.len() {
            6 => (Some(FieldItems::read(CronField::Seconds, parts[0])?), &parts[1..]),
            5 => (None, &parts[..]),
            found => return Err(CronError::FieldCount { found }),
        };
        let weekday = parts[4].strip_prefix('+');
        Ok(Self {
            seconds,
            minute: FieldItems::read(CronField::Minute, parts[0])?,
            hour: FieldItems::read(CronField::Hour, parts[1])?,
            day: read_days(parts[2])?,
            month: FieldItems::read(CronField::Month, parts[3])?,
            weekday: FieldItems::read(CronField::DayOfWeek, weekday.unwrap_or(parts[4]))?,
            both_days: weekday.is_some(),
        })
    }

    /// Whether the seconds, minute or hour field contains `*` or a step.
    pub(in crate::schedule) fn is_interval(&self) -> bool {
        [self.seconds.as_ref(), Some(&self.minute), Some(&self.hour)]
            .into_iter()
            .flatten()
            .any(FieldItems::repeats)
    }
}

/// The pattern with numbers instead of names.
impl fmt::Display for PatternFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seconds) = &self.seconds {
            write!(f, "{seconds} ")?;
        }
        let both = if self.both_days { "+" } else { "" };
        write!(
            f,
            "{} {} {} {} {both}{}",
            self.minute, self.hour, self.day, self.month, self.weekday
        )
    }
}

impl FieldItems {
    /// Parses a field.
    pub(in crate::schedule) fn read(kind: CronField, text: &str) -> Result<Self, CronError> {
        if text.split(',').any(str::is_empty) {
            return kind.complain("a value on each side of a comma", text);
        }
        let all = text == "*" || (text == "?" && kind.is_day());
        let items = if all {
            Ok(vec![FieldItem::All])
        } else {
            text.split(',').map(|item| kind.read_item(item)).collect()
        };
        Ok(Self { kind, items: items? })
    }

    /// Whether the field is `*` or `?`.
    pub(in crate::schedule) fn is_all(&self) -> bool {
        self.items == [FieldItem::All]
    }

    /// The values that match in every month, ascending; Sunday is 0.
    pub(in crate::schedule) fn values(&self) -> Vec<u8> {
        let (least, most) = self.kind.bounds();
        let is_weekday = self.kind == CronField::DayOfWeek;
        let has = |value: u8| self.items.iter().any(|item| item.covers(value, least, most));
        (least..=most)
            .filter(|value| {
                if is_weekday {
                    *value < 7 && (has(*value) || (*value == 0 && has(7)))
                } else {
                    has(*value)
                }
            })
            .collect()
    }

    fn repeats(&self) -> bool {
        self.items.iter().any(|item| {
            matches!(item, FieldItem::All | FieldItem::AllStep { .. } | FieldItem::RangeStep { .. })
        })
    }
}

impl fmt::Display for FieldItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.items.iter().enumerate() {
            write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FieldItem {
    fn covers(self, value: u8, least: u8, most: u8) -> bool {
        let (first, last, step) = match self {
            Self::All => (least, most, 1),
            Self::AllStep { step } => (least, most, step),
            Self::RangeStep { first, last, step } => (first, last, step),
            Self::Range { first, last } => (first, last, 1),
            _ => return false,
        };
        (first..=last).contains(&value) && (value - first).is_multiple_of(step)
    }
}

impl fmt::Display for FieldItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::All => f.write_str("*"),
            Self::AllStep { step } => write!(f, "*/{step}"),
            Self::RangeStep { first, last, step } => write!(f, "{first}-{last}/{step}"),
            Self::Range { first, last } => write_range(f, first, last),
            Self::LastDay => f.write_str("L"),
            Self::LastWorkday => f.write_str("LW"),
            Self::NearestWorkday { day } => write!(f, "{day}W"),
            Self::Nth { first, last, nth } => {
                write_range(f, first, last).and_then(|()| write!(f, "#{nth}"))
            }
            Self::LastOfWeekday { first, last } => {
                write_range(f, first, last).and_then(|()| f.write_str("#L"))
            }
        }
    }
}

fn write_range(f: &mut fmt::Formatter<'_>, first: u8, last: u8) -> fmt::Result {
    if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl CronField {
    /// The minimum and maximum value.
    pub(in crate::schedule) const fn bounds(self) -> (u8, u8) {
        match self {
            Self::Seconds | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
        }
    }

    const fn is_day(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Seconds | Self::Minute => "0 to 59",
            Self::Hour => "0 to 23",
            Self::DayOfMonth => "1 to 31, L, LW or a day such as 15W",
            Self::Month => "1 to 12 or JAN to DEC",
            Self::DayOfWeek => "0 to 7, SUN to SAT or a day such as FRI#2 or FRI#L",
        }
    }

    fn complain<T>(self, expected: impl Into<String>, found: &str) -> Result<T, CronError> {
        let found = found.chars().take(40).collect();
        Err(CronError::Field { field: self, expected: expected.into(), found })
    }

    fn read_item(self, text: &str) -> Result<FieldItem, CronError> {
        match self {
            _ if text == "*" => self.complain("`*` without anything beside it", text),
            _ if text.contains('/') => self.read_step(text),
            Self::DayOfMonth if text == "L" => Ok(FieldItem::LastDay),
            Self::DayOfMonth if text == "LW" => Ok(FieldItem::LastWorkday),
            Self::DayOfMonth if text.ends_with('W') => Ok(FieldItem::NearestWorkday {
                day: self.read_value(&text[..text.len() - 1], text)?,
            }),
            Self::DayOfWeek if text.contains('#') || text.ends_with('L') => self.read_nth(text),
            _ => {
                let (first, last) = self.read_range(text, text)?;
                Ok(FieldItem::Range { first, last })
            }
        }
    }

    fn read_step(self, text: &str) -> Result<FieldItem, CronError> {
        let (base, step) = text.split_once('/').expect("BUG: only texts with a slash come here");
        let (least, most) = self.bounds();
        let most_step = if self == Self::DayOfWeek { 7 } else { most - least + 1 };
        let Some(step) = number(step).filter(|step| (1..=most_step).contains(step)) else {
            return self.complain(format!("a step of 1 to {most_step} after the slash"), text);
        };
        if base == "*" {
            return Ok(FieldItem::AllStep { step });
        }
        if !base.contains('-') {
            // Other crons read `5/15` as every 15th minute from 5 on.
            let last = if self == Self::DayOfWeek { 6 } else { most };
            let range = match self.read_value(base, text) {
                Ok(first) if least < first && first <= last => format!("{first}-{last}/{step}"),
                Ok(_) | Err(_) => format!("*/{step}"),
            };
            return self
                .complain(format!("`*` or a range before the slash, such as `{range}`"), text);
        }
        let (first, last) = self.read_range(base, text)?;
        Ok(FieldItem::RangeStep { first, last, step })
    }

    fn read_nth(self, text: &str) -> Result<FieldItem, CronError> {
        let (base, which) = match text.split_once('#') {
            Some(split) => split,
            None => text.split_at(text.len() - 1),
        };
        if base.is_empty() {
            return self.complain("a weekday before `L` or `#`, such as FRI#L", text);
        }
        let (first, last) = self.read_range(base, text)?;
        match number(which) {
            Some(nth @ 1..=5) => Ok(FieldItem::Nth { first, last, nth }),
            None if which == "L" => Ok(FieldItem::LastOfWeekday { first, last }),
            _ => self.complain("1 to 5 or L after `#`", text),
        }
    }

    fn read_range(self, text: &str, whole: &str) -> Result<(u8, u8), CronError> {
        let Some((first, last)) = text.split_once('-') else {
            let value = self.read_value(text, whole)?;
            return Ok((value, value));
        };
        if first.is_empty() || last.is_empty() {
            return self.complain("a value on each side of the hyphen", whole);
        }
        let (first, last) = (self.read_value(first, whole)?, self.read_value(last, whole)?);
        // Sunday is 0 at the start of a range and 7 at the end.
        let (first, last) = match (self, first, last) {
            (Self::DayOfWeek, 1..=6, 0) => (first, 7),
            (Self::DayOfWeek, 7, 0..=6) => (0, last),
            _ => (first, last),
        };
        if first > last {
            let (least, most) = self.bounds();
            let most = if self == Self::DayOfWeek { 6 } else { most };
            let split = format!("a range that goes up, such as `{first}-{most},{least}-{last}`");
            return self.complain(split, whole);
        }
        Ok((first, last))
    }

    fn read_value(self, text: &str, whole: &str) -> Result<u8, CronError> {
        let (least, most) = self.bounds();
        match number(text)
            .or_else(|| self.named(text))
            .filter(|value| (least..=most).contains(value))
        {
            Some(value) => Ok(value),
            None => self.complain(self.expected(), whole),
        }
    }

    fn named(self, text: &str) -> Option<u8> {
        let (names, first): (&[&str], u8) = match self {
            Self::Month => (&MONTHS, 1),
            Self::DayOfWeek => (&WEEKDAYS, 0),
            _ => return None,
        };
        (first..).zip(names).find(|(_, name)| **name == text).map(|(value, _)| value)
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

/// The first word of `CRON_TZ=Europe/Berlin 0 7 * * *`.
fn zone_prefix(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let (name, _) = word.split_once('=')?;
    ["CRON_TZ", "TZ"].iter().any(|known| name.eq_ignore_ascii_case(known)).then_some(word)
}

/// Refuses `L` with `LW`, which croner reads as `LW`.
fn read_days(text: &str) -> Result<FieldItems, CronError> {
    let field = FieldItems::read(CronField::DayOfMonth, text)?;
    if field.items.contains(&FieldItem::LastDay) && field.items.contains(&FieldItem::LastWorkday) {
        return CronField::DayOfMonth.complain("either L or LW", text);
    }
    Ok(field)
}

fn number(text: &str) -> Option<u8> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn alias(text: &str) -> Result<&'static str, CronError> {
    match text {
        "@YEARLY" | "@ANNUALLY" => Ok("0 0 1 1 *"),
        "@MONTHLY" => Ok("0 0 1 * *"),
        "@WEEKLY" => Ok("0 0 * * 0"),
        "@DAILY" | "@MIDNIGHT" => Ok("0 0 * * *"),
        "@HOURLY" => Ok("0 * * * *"),
        _ => Err(CronError::Alias { found: text.to_ascii_lowercase().chars().take(40).collect() }),
    }
}
