//! The dates of a pattern: the matching days of each month.
//!
//! Owns a bit set of days for each kind of month, filled by croner's rules for the day fields, so the next date is a count
//! of zeros. A month has one of four lengths and begins on one of seven weekdays, so 28 sets cover every year.
//! Pitfall: searching day by day; a leap day is four years away.

use chrono::{Datelike as _, NaiveDate};
use croner::time::Weekday;

use super::grammar::CronError;

/// The matching days of a pattern as bit sets.
#[derive(Debug)]
pub(super) struct Dates {
    /// Bit 1 is January.
    months: u16,
    /// By length from 28 days, then by first weekday from Sunday. Bit 0 is the first day.
    days: [[u32; 7]; 4],
}

/// A year and month of each length, 28 to 31 days.
const MONTH_OF_LENGTH: [(i32, u32); 4] = [(2026, 2), (2028, 2), (2026, 4), (2026, 1)];

impl Dates {
    pub(super) fn of(pattern: &croner::Cron) -> Result<Self, CronError> {
        let mut dates = Self { months: 0, days: [[0; 7]; 4] };
        for month in 1..=12 {
            dates.months |= u16::from(pattern.pattern.month_match(month)?) << month;
        }
        for (days, length) in dates.days.iter_mut().zip(28..) {
            for (set, first_weekday) in days.iter_mut().zip(0..) {
                *set = days_in(pattern, length, first_weekday)?;
            }
        }
        Ok(dates)
    }

    /// Whether any date matches. In 400 years each month begins on every weekday, February with both lengths.
    pub(super) fn has_any(&self) -> bool {
        (1..=12).filter(|month| self.months >> month & 1 == 1).any(|month| {
            let lengths = match month {
                2 => 0..2,
                4 | 6 | 9 | 11 => 2..3,
                _ => 3..4,
            };
            self.days[lengths].as_flattened().iter().any(|days| *days != 0)
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
        if self.months >> month.number & 1 == 0 {
            return 0;
        }
        self.days[month.length as usize - 28][month.first_weekday as usize]
    }
}

/// The matching days of a month with `length` days that begins on `first_weekday`; 0 is Sunday.
fn days_in(pattern: &croner::Cron, length: u32, first_weekday: u32) -> Result<u32, CronError> {
    let (year, month) = MONTH_OF_LENGTH[length as usize - 28];
    let mut days = 0;
    for day in 1..=length {
        let weekday = Weekday::from_days_from_sunday(first_weekday + day - 1);
        days |= u32::from(pattern.pattern.day_match(year, month, day, weekday)?) << (day - 1);
    }
    Ok(days)
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
}
