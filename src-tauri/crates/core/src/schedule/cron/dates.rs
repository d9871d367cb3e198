//! The dates of a pattern, from the day of month, month and day of week fields.
//!
//! Owns a bit set of matching days per month, so the next date is a count of zeros. Two restricted day fields match
//! either, with `+` both; a `*` field is ignored. `15W` is the nearest weekday of the same month, and none in a month
//! without that day.
//! Pitfall: searching day by day; a leap day is four years away.

use chrono::{Datelike as _, NaiveDate};

use super::fields::{FieldItem, FieldItems, PatternFields};

/// The day fields of a pattern as bit sets.
#[derive(Debug)]
pub(super) struct Dates {
    /// Bit 1 is January.
    months: u16,
    days: DaysOfMonth,
    weekdays: DaysOfWeek,
    rule: DayRule,
}

/// The day fields that count.
#[derive(Debug, Clone, Copy)]
enum DayRule {
    EveryDay,
    DayOfMonth,
    DayOfWeek,
    Either,
    Both,
}

#[derive(Debug)]
struct DaysOfMonth {
    /// Bit 0 is the first.
    days: u32,
    last: bool,
    last_workday: bool,
    /// Bit 0: the weekday nearest to the first.
    nearest_workdays: u32,
}

/// Bit sets of weekdays; bit 0 is Sunday.
#[derive(Debug)]
struct DaysOfWeek {
    every: u32,
    /// By occurrence in the month, first to fifth.
    nth: [u32; 5],
    last: u32,
}

const WEEK: u32 = 0b111_1111;
const SATURDAY: u32 = 6;
const SUNDAY: u32 = 0;

impl Dates {
    pub(super) fn of(fields: &PatternFields) -> Self {
        let rule = match (fields.day.is_all(), fields.weekday.is_all()) {
            (true, true) => DayRule::EveryDay,
            (true, false) => DayRule::DayOfWeek,
            (false, true) => DayRule::DayOfMonth,
            (false, false) if fields.both_days => DayRule::Both,
            (false, false) => DayRule::Either,
        };
        Self {
            months: fields.month.values().into_iter().fold(0, |set, month| set | 1 << month),
            days: DaysOfMonth::of(&fields.day),
            weekdays: DaysOfWeek::of(&fields.weekday),
            rule,
        }
    }

    /// Whether any date matches. A year is leap or not and begins on any of seven weekdays: fourteen kinds.
    pub(super) fn has_any(&self) -> bool {
        const YEARS: [i32; 14] =
            [2001, 2002, 2003, 2005, 2006, 2009, 2010, 2000, 2004, 2008, 2012, 2016, 2020, 2024];
        YEARS.into_iter().any(|year| {
            let january = Month::beginning(year, 1);
            std::iter::successors(Some(january), |month| Some(month.next()))
                .take(12)
                .any(|month| self.within(&month) != 0)
        })
    }

    /// The first matching day from `from` up to `end`, in days since 1970.
    pub(super) fn next(&self, from: i64, end: i64) -> Option<i64> {
        let mut month = Month::of(from);
        let mut days = self.within(&month) & (u32::MAX << (from - month.first));
        while days == 0 {
            month = month.next();
            if month.first > end {
                return None;
            }
            days = self.within(&month);
        }
        Some(month.first + i64::from(days.trailing_zeros()))
    }

    /// The last matching day up to `until`, not before `start`, in days since 1970.
    pub(super) fn last(&self, until: i64, start: i64) -> Option<i64> {
        let mut month = Month::of(until);
        let mut days = self.within(&month) & (u32::MAX >> (31 - (until - month.first)));
        while days == 0 {
            if month.first < start {
                return None;
            }
            month = month.previous();
            days = self.within(&month);
        }
        Some(month.first + i64::from(days.ilog2()))
    }

    /// Whether a day, in days since 1970, matches.
    pub(super) fn has(&self, day: i64) -> bool {
        self.next(day, day) == Some(day)
    }

    /// The number of matching days by month, in `[from, end)`, in days since 1970.
    pub(super) fn by_month(&self, from: i64, end: i64) -> impl Iterator<Item = u32> + '_ {
        let months = std::iter::successors(Some(Month::of(from)), |month| Some(month.next()));
        months.take_while(move |month| month.first < end).map(move |month| {
            let before = u32::try_from(from - month.first).unwrap_or(0);
            let until = u32::try_from(end - month.first).unwrap_or(u32::MAX);
            let days = self.within(&month) & (u32::MAX << before);
            (days & 1_u32.checked_shl(until).unwrap_or(0).wrapping_sub(1)).count_ones()
        })
    }

    /// The matching days of `month`; bit 0 is the first.
    fn within(&self, month: &Month) -> u32 {
        if self.months & (1 << month.number) == 0 {
            return 0;
        }
        let days = match self.rule {
            DayRule::EveryDay => u32::MAX,
            DayRule::DayOfMonth => self.days.within(month),
            DayRule::DayOfWeek => self.weekdays.within(month),
            DayRule::Either => self.days.within(month) | self.weekdays.within(month),
            DayRule::Both => self.days.within(month) & self.weekdays.within(month),
        };
        days & (u32::MAX >> (32 - month.length))
    }
}

impl DaysOfMonth {
    fn of(field: &FieldItems) -> Self {
        let nearest = |set, item: &FieldItem| match item {
            FieldItem::NearestWorkday { day } => set | 1 << (day - 1),
            _ => set,
        };
        Self {
            days: field.values().into_iter().fold(0, |set, day| set | 1 << (day - 1)),
            last: field.items.contains(&FieldItem::LastDay),
            last_workday: field.items.contains(&FieldItem::LastWorkday),
            nearest_workdays: field.items.iter().fold(0, nearest),
        }
    }

    fn within(&self, month: &Month) -> u32 {
        let mut days = self.days;
        if self.last {
            days |= 1 << (month.length - 1);
        }
        if self.last_workday {
            days |= 1 << (month.nearest_workday(month.length) - 1);
        }
        let mut wanted = self.nearest_workdays;
        while wanted != 0 {
            let day = wanted.trailing_zeros() + 1;
            if day <= month.length {
                days |= 1 << (month.nearest_workday(day) - 1);
            }
            wanted &= wanted - 1;
        }
        days
    }
}

impl DaysOfWeek {
    fn of(field: &FieldItems) -> Self {
        let mut sets = Self { every: 0, nth: [0; 5], last: 0 };
        for value in field.values() {
            sets.every |= 1 << value;
        }
        for item in &field.items {
            let (set, first, last) = match *item {
                FieldItem::Nth { first, last, nth } => {
                    (&mut sets.nth[usize::from(nth) - 1], first, last)
                }
                FieldItem::LastOfWeekday { first, last } => (&mut sets.last, first, last),
                _ => continue,
            };
            *set |= (first..=last).fold(0, |set, day| set | 1 << (day % 7));
        }
        sets
    }

    fn within(&self, month: &Month) -> u32 {
        // Bit 0 becomes the weekday of the first; a fifth week has at most three days.
        let from_first = |set: u32| {
            let turned = (set >> month.first_weekday) | (set << (7 - month.first_weekday));
            turned & WEEK
        };
        let every_week = |set: u32| {
            let week = from_first(set);
            week | week << 7 | week << 14 | week << 21 | week << 28
        };
        let mut days = every_week(self.every);
        for (weeks, set) in (0..).zip(self.nth) {
            days |= from_first(set) << (7 * weeks);
        }
        days | (every_week(self.last) & (WEEK << (month.length - 7)))
    }
}

/// A month of a year.
struct Month {
    year: i32,
    /// 1 is January.
    number: u32,
    /// The first day, in days since 1970.
    first: i64,
    /// 0 is Sunday.
    first_weekday: u32,
    length: u32,
}

impl Month {
    /// The month with the day `day`, in days since 1970.
    fn of(day: i64) -> Self {
        let date = i32::try_from(day).ok().and_then(NaiveDate::from_epoch_days);
        let date = date.expect("BUG: callers stay within the years 1 to 5000");
        Self::with_first(date.year(), date.month(), day - i64::from(date.day0()))
    }

    fn beginning(year: i32, number: u32) -> Self {
        let first = NaiveDate::from_ymd_opt(year, number, 1).expect("BUG: callers name a month");
        Self::with_first(year, number, i64::from(first.to_epoch_days()))
    }

    fn with_first(year: i32, number: u32, first: i64) -> Self {
        const LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = LENGTHS[number as usize - 1] + u32::from(number == 2 && is_leap);
        // 1970 began on a Thursday.
        let first_weekday = (first + 4).rem_euclid(7) as u32;
        Self { year, number, first, first_weekday, length }
    }

    fn next(&self) -> Self {
        let first = self.first + i64::from(self.length);
        match self.number {
            12 => Self::with_first(self.year + 1, 1, first),
            number => Self::with_first(self.year, number + 1, first),
        }
    }

    fn previous(&self) -> Self {
        match self.number {
            1 => Self::beginning(self.year - 1, 12),
            number => Self::beginning(self.year, number - 1),
        }
    }

    /// The day from Monday to Friday of this month nearest to `day`, both counted from 1. For the last day it is the last
    /// workday.
    fn nearest_workday(&self, day: u32) -> u32 {
        match (self.first_weekday + day - 1) % 7 {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.length => day - 2,
            SUNDAY => day + 1,
            _ => day,
        }
    }
}
