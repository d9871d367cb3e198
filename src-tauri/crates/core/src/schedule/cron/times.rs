//! The times of day of a pattern, from the seconds, minute and hour fields as croner reads them.
//!
//! Owns the search within a day, on bit sets.
//! Pitfall: carrying into the next hour without resetting minutes and seconds.

use super::grammar::CronError;

/// The time fields of a pattern as bit sets, none empty.
#[derive(Debug)]
pub(super) struct TimesOfDay {
    seconds: u64,
    minutes: u64,
    hours: u64,
}

const MINUTE: u32 = 60;
const HOUR: u32 = 3600;

impl TimesOfDay {
    pub(super) fn of(pattern: &croner::Cron) -> Result<Self, CronError> {
        let fields = &pattern.pattern;
        Ok(Self {
            seconds: matching(60, |second| fields.second_match(second))?,
            minutes: matching(60, |minute| fields.minute_match(minute))?,
            hours: matching(24, |hour| fields.hour_match(hour))?,
        })
    }

    /// The first time of the day from `from` on, in seconds since midnight.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = (from / HOUR, from / MINUTE % 60, from % 60);
        if has(self.hours, hour) {
            let this_minute = has(self.minutes, minute).then(|| least(self.seconds, second));
            if let Some(second) = this_minute.flatten() {
                return Some(hour * HOUR + minute * MINUTE + second);
            }
            if let Some(minute) = least(self.minutes, minute + 1) {
                return Some(hour * HOUR + minute * MINUTE + self.seconds.trailing_zeros());
            }
        }
        least(self.hours, hour + 1).map(|hour| hour * HOUR + self.first() % HOUR)
    }

    /// The last time of the day up to `until`, in seconds since midnight.
    pub(super) fn last(&self, until: u32) -> Option<u32> {
        let (hour, minute, second) = (until / HOUR, until / MINUTE % 60, until % 60);
        if has(self.hours, hour) {
            let this_minute = has(self.minutes, minute).then(|| most(self.seconds, second + 1));
            if let Some(second) = this_minute.flatten() {
                return Some(hour * HOUR + minute * MINUTE + second);
            }
            if let Some(minute) = most(self.minutes, minute) {
                return Some(hour * HOUR + minute * MINUTE + self.seconds.ilog2());
            }
        }
        most(self.hours, hour).map(|hour| hour * HOUR + self.last_of_day() % HOUR)
    }

    /// The number of times in a day.
    pub(super) fn per_day(&self) -> u64 {
        count(self.hours) * count(self.minutes) * count(self.seconds)
    }

    /// The number of times before `end`, in seconds since midnight.
    pub(super) fn before(&self, end: u32) -> u64 {
        let (hour, minute, second) = (end / HOUR, end / MINUTE % 60, end % 60);
        let (minutes, seconds) = (count(self.minutes), count(self.seconds));
        let in_minute = if has(self.minutes, minute) { below(self.seconds, second) } else { 0 };
        let in_hour = below(self.minutes, minute) * seconds + in_minute;
        let in_hour = if has(self.hours, hour) { in_hour } else { 0 };
        below(self.hours, hour) * minutes * seconds + in_hour
    }

    /// The first time of a day.
    pub(super) const fn first(&self) -> u32 {
        self.hours.trailing_zeros() * HOUR
            + self.minutes.trailing_zeros() * MINUTE
            + self.seconds.trailing_zeros()
    }

    /// The last time of a day.
    pub(super) const fn last_of_day(&self) -> u32 {
        self.hours.ilog2() * HOUR + self.minutes.ilog2() * MINUTE + self.seconds.ilog2()
    }
}

/// The values below `end` that match.
fn matching(
    end: u32,
    matches: impl Fn(u32) -> Result<bool, croner::errors::CronError>,
) -> Result<u64, CronError> {
    let mut set = 0;
    for value in 0..end {
        set |= u64::from(matches(value)?) << value;
    }
    Ok(set)
}

const fn has(set: u64, value: u32) -> bool {
    set >> value & 1 == 1
}

fn count(set: u64) -> u64 {
    u64::from(set.count_ones())
}

/// The number of values below `end`.
fn below(set: u64, end: u32) -> u64 {
    count(set & ((1 << end) - 1))
}

/// The smallest value at or above `from`; values are below 64.
fn least(set: u64, from: u32) -> Option<u32> {
    let rest = set >> from;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

/// The largest value below `end`.
fn most(set: u64, end: u32) -> Option<u32> {
    (set & ((1 << end) - 1)).checked_ilog2()
}
