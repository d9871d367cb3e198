//! Schedules in plain English, for lists and the command line.
//!
//! Owns the sentence; the caller names the zone. A sentence states exactly when the pattern fires, or the pattern
//! itself is the text. croner's `describe` is not used, because it calls `LW` the last day of the month, and `0-30/10`
//! and `*/15,7` even intervals.
//! Pitfall: nearly right sentences for rare patterns.

use chrono::{DateTime, Timelike as _};

use super::cron::{CronPattern, FieldItem, FieldItems, PatternFields};
use crate::text::capitalize;
use crate::time::Zone;
use crate::time::format_duration;
use crate::time::wall_clock::{date_words, time_words};

/// A longer sentence is harder to read than the pattern.
const LONGEST: usize = 110;
/// More times of day become a range or an interval.
const MOST_TIMES: usize = 6;

impl CronPattern {
    /// The sentence, such as "Weekdays at 07:30"; the pattern itself when no short sentence is exact.
    #[must_use]
    pub fn describe(&self) -> String {
        let words = words(self.fields()).filter(|words| words.len() <= LONGEST);
        words.unwrap_or_else(|| format!("Cron {}", self.as_str()))
    }
}

/// "14 Dec 2025 07:00": the instant `at` (unix milliseconds) in `zone`.
#[must_use]
pub fn instant_words(at: i64, zone: Zone) -> String {
    let shown = day_and_time(at, zone);
    shown.map_or_else(|| "a time no calendar has".to_owned(), |(day, time)| format!("{day} {time}"))
}

fn day_and_time(at: i64, zone: Zone) -> Option<(String, String)> {
    let shown = DateTime::from_timestamp_millis(at)?.with_timezone(&zone).naive_local();
    Some((date_words(shown), time_words(shown.with_nanosecond(0).unwrap_or(shown))))
}

/// "Once on 14 Dec 2025 at 07:00": the instant `at` (unix milliseconds) in `zone`.
#[must_use]
pub fn describe_at(at: i64, zone: Zone) -> String {
    day_and_time(at, zone).map_or_else(
        || "Once, at a time no calendar has".to_owned(),
        |(day, time)| format!("Once on {day} at {time}"),
    )
}

/// "Every 15 minutes", "Every 1 h 30 min". Up to 24 h stay hours, because an interval does not follow the clock.
#[must_use]
pub fn describe_every(every_ms: i64) -> String {
    const UNITS: [(i64, i64, &str); 4] = [
        (86_400_000, 2, "day"),
        (3_600_000, 1, "hour"),
        (60_000, 1, "minute"),
        (1_000, 1, "second"),
    ];
    // Up to two of the next unit, a count reads better: 90 minutes, 90 seconds.
    let whole = UNITS.iter().zip([i64::MAX, i64::MAX, 120, 120]).find_map(
        |((unit, least, name), below)| {
            let count = every_ms / unit;
            (every_ms % unit == 0 && count >= *least && count < below).then(|| every(count, name))
        },
    );
    capitalize(&whole.unwrap_or_else(|| format!("every {}", format_duration(every_ms))))
}

/// The time of day in words.
enum TimeWords {
    /// "07:30 and 12:00": follows "at".
    At(String),
    /// "every 15 minutes": stands first.
    Every(String),
}

/// The days in words, as the start and as the end of a sentence.
struct DayWords {
    /// "Weekdays", "On day 1 of every month".
    start: String,
    /// " on weekdays", " on day 1 of every month", or nothing for every day.
    end: String,
}

fn words(fields: &PatternFields) -> Option<String> {
    let days = days(fields)?;
    Some(match times(fields)? {
        TimeWords::At(times) => format!("{} at {times}", days.start),
        TimeWords::Every(times) => format!("{}{}", capitalize(&times), days.end),
    })
}

fn times(fields: &PatternFields) -> Option<TimeWords> {
    let (minutes, hours) = (fields.minute.values(), fields.hour.values());
    let seconds = fields.seconds.as_ref().map_or_else(|| vec![0], FieldItems::values);
    let times = minutes.len() * hours.len();
    if seconds.len() == 1 && (times == 1 || (times <= MOST_TIMES && !fields.is_interval())) {
        return Some(TimeWords::At(times_of_day(&hours, &minutes, seconds[0])));
    }
    match seconds.as_slice() {
        [0] => minutes_words(&minutes, fields).map(TimeWords::Every),
        [second] => minutes_words(&minutes, fields)
            .map(|words| TimeWords::Every(format!("{words}, at second {second}"))),
        _ if minutes.len() == 60 && hours.len() == 24 => {
            even(&seconds, 60).map(|n| TimeWords::Every(every(n, "second")))
        }
        _ => None,
    }
}

fn times_of_day(hours: &[u8], minutes: &[u8], second: u8) -> String {
    let second = if second == 0 { String::new() } else { format!(":{second:02}") };
    let times = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (hour, minute)));
    list(&times.map(|(hour, minute)| format!("{hour:02}:{minute:02}{second}")).collect::<Vec<_>>())
}

fn minutes_words(minutes: &[u8], fields: &PatternFields) -> Option<String> {
    let hours = fields.hour.values();
    if let [minute] = minutes {
        return Some(hours_words(*minute, &hours, &fields.hour));
    }
    let (last_minute, all_day) = (*minutes.last()?, hours.len() == 24);
    let span = contiguous(&hours)
        .map(|(first, last)| format!(" from {first:02}:00 to {last:02}:{last_minute:02}"));
    let some_hours = || format!(" in hours {}", list(&hours));
    match even(minutes, 60) {
        Some(n) if all_day => Some(every(n, "minute")),
        Some(n) => Some(format!("{}{}", every(n, "minute"), span.unwrap_or_else(some_hours))),
        None if all_day => Some(format!("at minutes {} of every hour", list(minutes))),
        None => Some(format!("at minutes {} past {}", list(minutes), hour_numbers(&hours))),
    }
}

/// The same minute of several hours.
fn hours_words(minute: u8, hours: &[u8], field: &FieldItems) -> String {
    let at_minute = if minute == 0 { String::new() } else { format!(" at minute {minute}") };
    match (even(hours, 24), contiguous(hours)) {
        (Some(n), _) if n == 1 || matches!(field.items[..], [FieldItem::AllStep { .. }]) => {
            format!("{}{at_minute}", every(n, "hour"))
        }
        (_, Some((first, last))) if first < last => {
            format!("every hour from {first:02}:{minute:02} to {last:02}:{minute:02}")
        }
        _ => format!("at minute {minute} past {}", hour_numbers(hours)),
    }
}

fn hour_numbers(hours: &[u8]) -> String {
    match (hours, contiguous(hours)) {
        ([hour], _) => format!("hour {hour}"),
        (_, Some((first, last))) if hours.len() > 2 => format!("hours {first} to {last}"),
        _ => format!("hours {}", list(hours)),
    }
}

fn days(fields: &PatternFields) -> Option<DayWords> {
    let months = months_words(&fields.month.values())?;
    let (day, weekday) = (&fields.day, &fields.weekday);
    let (all_days, all_weekdays) = (day.values().len() == 31, weekday.values().len() == 7);
    let either = !day.is_all() && !weekday.is_all() && !fields.both_days;
    match (all_days, all_weekdays) {
        (true, true) => Some(every_day(&months)),
        (true, false) if !either => weekday_days(weekday, &months),
        (false, true) if !either => Some(month_days(day, &months)),
        (false, false) => both_kinds(fields, &months),
        // Either field may match, and the unrestricted field always does.
        _ => Some(every_day(&months)),
    }
}

fn every_day(months: &MonthWords) -> DayWords {
    DayWords { start: format!("Every day{}", months.inside), end: months.inside.clone() }
}

fn weekday_days(field: &FieldItems, months: &MonthWords) -> Option<DayWords> {
    if field
        .items
        .iter()
        .all(|item| matches!(item, FieldItem::Nth { .. } | FieldItem::LastOfWeekday { .. }))
    {
        let which = nth_words(field);
        return Some(sentence(&format!("on {which}{}", months.of)));
    }
    let names = format!("{}{}", weekday_names(field)?, months.inside);
    Some(DayWords { start: capitalize(&names), end: format!(" on {names}") })
}

fn month_days(field: &FieldItems, months: &MonthWords) -> DayWords {
    match (field.items.as_slice(), &months.single) {
        ([FieldItem::Range { first, last }], Some(month)) if first == last => {
            let date = format!("on {first} {month}");
            DayWords { start: format!("Every year {date}"), end: format!(" {date}") }
        }
        _ => sentence(&format!("on {}{}", month_day_words(field), months.of)),
    }
}

/// Both day fields are restricted: either may match, or with `+` both must.
fn both_kinds(fields: &PatternFields, months: &MonthWords) -> Option<DayWords> {
    let of_month = format!("on {}{}", month_day_words(&fields.day), months.of);
    if !fields.both_days {
        let weekdays = weekday_names(&fields.weekday)?;
        let inside = &months.inside;
        return Some(sentence(&format!("{of_month} and on {weekdays}{inside}")));
    }
    if fields.weekday.items.iter().any(FieldItem::is_nth) {
        return None;
    }
    let weekdays = fields.weekday.values();
    let names: Vec<&str> = weekdays.iter().copied().map(weekday_name).collect();
    let names = if weekdays == [1, 2, 3, 4, 5] { "weekday".to_owned() } else { join(&names, "or") };
    let words = format!("{of_month} if it is a {names}");
    Some(DayWords { start: format!("{},", capitalize(&words)), end: format!(" {words}") })
}

fn sentence(words: &str) -> DayWords {
    DayWords { start: capitalize(words), end: format!(" {words}") }
}

/// "weekdays", "weekends", "Mondays to Thursdays", "Mondays and Fridays"; plain weekdays only.
fn weekday_names(field: &FieldItems) -> Option<String> {
    if field.items.iter().any(FieldItem::is_nth) {
        return None;
    }
    let values = field.values();
    let plural = |value: u8| format!("{}s", weekday_name(value));
    Some(match (values.as_slice(), contiguous(&values)) {
        ([1, 2, 3, 4, 5], _) => "weekdays".to_owned(),
        ([0, 6], _) => "weekends".to_owned(),
        (_, Some((first, last))) if values.len() > 2 => {
            format!("{} to {}", plural(first), plural(last))
        }
        _ => {
            // The week ends on Sunday.
            let mut names: Vec<u8> = values;
            names.sort_by_key(|value| (value + 6) % 7);
            list(&names.into_iter().map(plural).collect::<Vec<_>>())
        }
    })
}

/// "the first Monday and the last Friday".
fn nth_words(field: &FieldItems) -> String {
    const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let names = |first: u8, last: u8| {
        let days: Vec<&str> = (first..=last).map(|value| weekday_name(value % 7)).collect();
        join(&days, "and")
    };
    let words = field.items.iter().filter_map(|item| match *item {
        FieldItem::Nth { first, last, nth } => {
            Some(format!("the {} {}", ORDINALS[usize::from(nth) - 1], names(first, last)))
        }
        FieldItem::LastOfWeekday { first, last } => {
            Some(format!("the last {}", names(first, last)))
        }
        _ => None,
    });
    list(&words.collect::<Vec<_>>())
}

/// "days 1 and 15", "the last day", "the weekday nearest to day 15".
fn month_day_words(field: &FieldItems) -> String {
    let values = field.values();
    let numbers = match (values.as_slice(), contiguous(&values)) {
        ([], _) => None,
        ([day], _) => Some(format!("day {day}")),
        (_, Some((first, last))) if values.len() > 2 => Some(format!("days {first} to {last}")),
        _ => Some(format!("days {}", list(&values))),
    };
    let special = field.items.iter().filter_map(|item| match *item {
        FieldItem::LastDay => Some("the last day".to_owned()),
        FieldItem::LastWorkday => Some("the last weekday".to_owned()),
        FieldItem::NearestWorkday { day } => Some(format!("the weekday nearest to day {day}")),
        _ => None,
    });
    list(&numbers.into_iter().chain(special).collect::<Vec<_>>())
}

/// The month field in the three forms a sentence needs.
struct MonthWords {
    /// " of every month", " of June and July".
    of: String,
    /// "" or " in June and July".
    inside: String,
    /// The only month.
    single: Option<&'static str>,
}

fn months_words(values: &[u8]) -> Option<MonthWords> {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let names: Vec<&'static str> =
        values.iter().map(|value| NAMES[usize::from(*value) - 1]).collect();
    let text = match (names.as_slice(), contiguous(values)) {
        ([], _) => return None,
        (_, Some((1, 12))) => {
            return Some(MonthWords {
                of: " of every month".into(),
                inside: String::new(),
                single: None,
            });
        }
        ([first, .., last], Some(_)) if names.len() > 2 => format!("{first} to {last}"),
        _ => join(&names, "and"),
    };
    let single = if let [only] = names[..] { Some(only) } else { None };
    Some(MonthWords { of: format!(" of {text}"), inside: format!(" in {text}"), single })
}

impl FieldItem {
    const fn is_nth(&self) -> bool {
        matches!(self, Self::Nth { .. } | Self::LastOfWeekday { .. })
    }
}

fn weekday_name(value: u8) -> &'static str {
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        [usize::from(value)]
}

/// The step, when `values` are 0, n, 2n, … and continue evenly into the next round of `round`.
fn even(values: &[u8], round: u8) -> Option<i64> {
    let step = u8::try_from(values.len())
        .ok()
        .filter(|len| round.is_multiple_of(*len))
        .map(|len| round / len)?;
    let is_even = values.iter().zip(0_u8..).all(|(value, index)| *value == index * step);
    is_even.then_some(i64::from(step))
}

/// The ends of a contiguous run.
fn contiguous(values: &[u8]) -> Option<(u8, u8)> {
    let (first, last) = (*values.first()?, *values.last()?);
    (usize::from(last - first) + 1 == values.len()).then_some((first, last))
}

fn every(count: i64, unit: &str) -> String {
    if count == 1 { format!("every {unit}") } else { format!("every {count} {unit}s") }
}

fn list<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    join(&texts.iter().map(String::as_str).collect::<Vec<_>>(), "and")
}

/// "a", "a and b", "a, b and c".
fn join(items: &[&str], last_word: &str) -> String {
    match items {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [front @ .., last] => format!("{} {last_word} {last}", front.join(", ")),
    }
}
