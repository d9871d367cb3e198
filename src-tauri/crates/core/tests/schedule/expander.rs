//! Cron fields as sets, expanded without any help from the engine.

use std::cell::RefCell;
use std::collections::HashMap;

use chrono::{DateTime, Datelike as _, NaiveDate};

const DAY: i64 = 86_400;

/// The fields of a pattern as sets.
pub(crate) struct Expander {
    seconds: Vec<u32>,
    minutes: Vec<u32>,
    hours: Vec<u32>,
    day: String,
    months: Vec<u32>,
    weekday: String,
    both_days: bool,
    pub(crate) is_interval: bool,
    /// Days since 1970 that were asked before.
    known_dates: RefCell<HashMap<i64, bool>>,
}

impl Expander {
    pub(crate) fn read(text: &str) -> Self {
        let mut parts: Vec<&str> = text.split(' ').collect();
        let clock_fields = parts.len() - 3;
        let is_interval = parts[..clock_fields].iter().any(|part| part.contains(['*', '/']));
        if parts.len() == 5 {
            parts.insert(0, "0");
        }
        Self {
            seconds: expand(parts[0], 0, 59),
            minutes: expand(parts[1], 0, 59),
            hours: expand(parts[2], 0, 23),
            day: parts[3].to_owned(),
            months: expand(parts[4], 1, 12),
            weekday: parts[5].trim_start_matches('+').to_owned(),
            both_days: parts[5].starts_with('+'),
            is_interval,
            known_dates: RefCell::default(),
        }
    }

    pub(crate) fn matches(&self, shown: i64) -> bool {
        let time = shown.rem_euclid(DAY) as u32;
        self.seconds.contains(&(time % 60))
            && self.minutes.contains(&(time / 60 % 60))
            && self.hours.contains(&(time / 3600))
            && *(self.known_dates.borrow_mut().entry(shown.div_euclid(DAY)))
                .or_insert_with(|| self.matches_date(date_of(shown)))
    }

    pub(crate) fn matches_date(&self, date: NaiveDate) -> bool {
        let day = || self.day.split(',').any(|item| day_item(item, date));
        let weekday = || self.weekday.split(',').any(|item| weekday_item(item, date));
        self.months.contains(&date.month())
            && match (self.day == "*", self.weekday == "*") {
                (true, true) => true,
                (true, false) => weekday(),
                (false, true) => day(),
                (false, false) if self.both_days => day() && weekday(),
                (false, false) => day() || weekday(),
            }
    }

    pub(crate) fn times_of_day(&self) -> Vec<i64> {
        let mut times = Vec::new();
        for hour in &self.hours {
            for minute in &self.minutes {
                times.extend(
                    self.seconds.iter().map(|second| i64::from(hour * 3600 + minute * 60 + second)),
                );
            }
        }
        times
    }
}

/// `*`, `*/n`, `a`, `a-b`, `a-b/n` and lists of such items.
fn expand(text: &str, least: u32, most: u32) -> Vec<u32> {
    let mut values = Vec::new();
    for item in text.split(',') {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        let mut value = first;
        while value <= last {
            values.push(value);
            value += step.parse::<u32>().unwrap();
        }
    }
    values
}

fn day_item(item: &str, date: NaiveDate) -> bool {
    let last = last_of_month(date);
    let is_workday = |date: &NaiveDate| date.weekday().number_from_monday() <= 5;
    if item == "L" {
        return date == last;
    }
    if item == "LW" {
        return Some(date) == month_of(date).into_iter().rfind(is_workday);
    }
    if let Some(day) = item.strip_suffix('W') {
        let Some(wanted) = date.with_day(day.parse().unwrap()) else { return false };
        // The nearest day from Monday to Friday of the same month; two cannot be equally near.
        let nearest = month_of(date)
            .into_iter()
            .filter(is_workday)
            .min_by_key(|day| (*day - wanted).num_days().abs());
        return Some(date) == nearest;
    }
    expand(item, 1, 31).contains(&date.day())
}

fn weekday_item(item: &str, date: NaiveDate) -> bool {
    let (range, which) = item.split_once('#').unwrap_or((item, ""));
    let today = date.weekday().num_days_from_sunday();
    let same_weekdays: Vec<NaiveDate> =
        month_of(date).into_iter().filter(|day| day.weekday() == date.weekday()).collect();
    let position = same_weekdays.iter().position(|day| *day == date).unwrap() + 1;
    let fits = match which {
        "" => true,
        "L" => position == same_weekdays.len(),
        nth => nth.parse() == Ok(position),
    };
    fits && expand(range, 0, 7).iter().any(|value| value % 7 == today)
}

fn month_of(date: NaiveDate) -> Vec<NaiveDate> {
    date.with_day(1).unwrap().iter_days().take_while(|day| day.month() == date.month()).collect()
}

fn last_of_month(date: NaiveDate) -> NaiveDate {
    *month_of(date).last().unwrap()
}

fn date_of(shown: i64) -> NaiveDate {
    DateTime::from_timestamp(shown, 0).unwrap().date_naive()
}
