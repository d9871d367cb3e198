//! `CronPattern`: a parsed pattern and the search for slots.
//!
//! Owns the search on a wall clock without clock changes; `clock_changes` maps matches to slots. A pattern that never fires
//! is refused. Parsing takes tens of microseconds, and many jobs can be due at once, so parsed
//! patterns are cached.
//! Pitfall: searching the time of day before the date; the time of day begins anew with every date.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use croner::parser::CronParser;

use super::dates::Dates;
use super::grammar::{CronError, PatternFields};
use super::times::TimesOfDay;
use crate::time::Zone;
use crate::time::wall_clock::{DAY, FIRST_SECOND, LAST_SECOND, WallTime};

/// Maximum number of cached patterns; at some 500 bytes each, half a megabyte.
const MAX_CACHED: usize = 1_000;

/// Parsed patterns by text.
static CACHE: LazyLock<Mutex<HashMap<String, CronPattern>>> = LazyLock::new(Mutex::default);

/// A cron pattern that fires. Cheap to clone.
#[derive(Clone)]
pub struct CronPattern(Arc<Parsed>);

struct Parsed {
    text: String,
    fields: PatternFields,
    dates: Dates,
    times: TimesOfDay,
    is_interval: bool,
}

impl CronPattern {
    /// Parses five fields (minute, hour, day of month, month, day of week), six with seconds first, or an alias such as
    /// `@daily`.
    ///
    /// # Errors
    /// The wrong field with the expected values; also when no date matches.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pattern) = cache.get(text) {
            return Ok(pattern.clone());
        }
        let pattern = Self::parse_fields(text)?;
        if cache.len() == MAX_CACHED {
            cache.clear();
        }
        cache.insert(text.to_owned(), pattern.clone());
        Ok(pattern)
    }

    fn parse_fields(text: &str) -> Result<Self, CronError> {
        let fields = PatternFields::read(text)?;
        // croner reads the checked fields, with numbers instead of names.
        let pattern = CronParser::new().parse(&fields.to_string())?;
        let (dates, times) = (Dates::of(&pattern)?, TimesOfDay::of(&pattern)?);
        if !dates.has_any() {
            let [day, month, weekday] =
                [&fields.day, &fields.month, &fields.weekday].map(ToString::to_string);
            return Err(CronError::NeverFires { day, month, weekday });
        }
        let is_interval = fields.is_interval();
        Ok(Self(Arc::new(Parsed {
            text: text.trim().to_owned(),
            fields,
            dates,
            times,
            is_interval,
        })))
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether the pattern follows the clock (`*` or a step in the seconds, minute or hour field) instead of naming
    /// fixed times. The two differ at clock changes.
    #[must_use]
    pub fn is_interval(&self) -> bool {
        self.0.is_interval
    }

    /// The first slot after `after`, both in unix milliseconds; none only near the year 5000.
    #[must_use]
    pub fn next_after(&self, zone: Zone, after: i64) -> Option<i64> {
        // Slots are whole seconds.
        let after = after.div_euclid(1000).max(FIRST_SECOND);
        if after > LAST_SECOND {
            return None;
        }
        let next = if self.0.is_interval {
            self.next_interval(zone, after)
        } else {
            self.next_fixed(zone, after)
        };
        next.map(|seconds| seconds * 1000)
    }

    /// The next slot after the zone's rules changed from `old` to `new` at `now`. This counts as a clock change:
    /// skipped fixed times are a single slot, perhaps before `now` and then due; repeated times are none. Interval
    /// patterns follow the clock.
    #[must_use]
    pub fn next_by_new_rules(&self, old: Zone, new: Zone, now: i64) -> Option<i64> {
        let at = now.div_euclid(1000);
        if self.0.is_interval || old == new || !(FIRST_SECOND..=LAST_SECOND).contains(&at) {
            return self.next_after(new, now);
        }
        self.next_fixed_by_new_rules(old, new, at).map(|seconds| seconds * 1000)
    }

    /// The last slot up to and including `until`; none only near the year 1.
    #[must_use]
    pub fn last_until(&self, zone: Zone, until: i64) -> Option<i64> {
        let until = until.div_euclid(1000).min(LAST_SECOND);
        if until < FIRST_SECOND {
            return None;
        }
        let last = if self.0.is_interval {
            self.last_interval(zone, until)
        } else {
            self.last_fixed(zone, until)
        };
        last.map(|seconds| seconds * 1000)
    }

    /// The newest `keep` slots in `(from, to]`, oldest first. The cost is bounded by `keep`.
    #[must_use]
    pub fn newest_slots(&self, zone: Zone, from: i64, to: i64, keep: usize) -> Vec<i64> {
        let before = |slot: i64| self.last_until(zone, slot.checked_sub(1)?);
        let back = std::iter::successors(self.last_until(zone, to), |slot| before(*slot));
        let mut newest: Vec<i64> = back.take_while(|slot| *slot > from).take(keep).collect();
        newest.reverse();
        newest
    }

    /// All slots after `after`, ascending.
    pub fn slots(&self, zone: Zone, after: i64) -> impl Iterator<Item = i64> + '_ {
        std::iter::successors(self.next_after(zone, after), move |slot| {
            self.next_after(zone, *slot)
        })
    }

    pub(super) fn dates(&self) -> &Dates {
        &self.0.dates
    }

    pub(super) fn times(&self) -> &TimesOfDay {
        &self.0.times
    }

    pub(in crate::schedule) fn fields(&self) -> &PatternFields {
        &self.0.fields
    }

    /// The first match at or after `from`, clock changes aside.
    pub(super) fn next_match(&self, from: WallTime) -> Option<WallTime> {
        let Parsed { dates, times, .. } = &*self.0;
        let (today, time) = from.day_and_time();
        let date = dates.next(today, LAST_SECOND / DAY)?;
        if date > today {
            return Some(WallTime::at(date, times.first()));
        }
        if let Some(time) = times.next(time) {
            return Some(WallTime::at(today, time));
        }
        dates.next(today + 1, LAST_SECOND / DAY).map(|date| WallTime::at(date, times.first()))
    }

    /// The last match at or before `until`, clock changes aside.
    pub(super) fn last_match(&self, until: WallTime) -> Option<WallTime> {
        let Parsed { dates, times, .. } = &*self.0;
        let (today, time) = until.day_and_time();
        let date = dates.last(today, FIRST_SECOND / DAY)?;
        if date < today {
            return Some(WallTime::at(date, times.last_of_day()));
        }
        if let Some(time) = times.last(time) {
            return Some(WallTime::at(today, time));
        }
        dates
            .last(today - 1, FIRST_SECOND / DAY)
            .map(|date| WallTime::at(date, times.last_of_day()))
    }
}

impl fmt::Debug for CronPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CronPattern").field(&self.0.text).finish()
    }
}

impl PartialEq for CronPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.fields == other.0.fields
    }
}

impl Eq for CronPattern {}

#[cfg(test)]
mod tests {
    use chrono::Datelike as _;

    use super::super::grammar::FieldItems;
    use super::*;

    #[test]
    fn described_times_equal_the_times_of_croner() {
        for text in [
            "*/7 3-50/9 1,2,20-23 * * *",
            "0-59/30 5 */5 * * *",
            "59 59 23 * * *",
            "* * * * *",
            "0,15,30 8-18/2 * * *",
        ] {
            let pattern = CronPattern::parse(text).expect("a pattern");
            let fields = pattern.fields();
            let of_day: Vec<u32> = std::iter::successors(pattern.times().next(0), |time| {
                pattern.times().next(time + 1)
            })
            .collect();
            let seconds = fields.seconds.as_ref().map_or_else(|| vec![0], FieldItems::values);
            let mut described = Vec::new();
            for hour in fields.hour.values() {
                for minute in fields.minute.values() {
                    for second in &seconds {
                        let minutes = u32::from(hour) * 60 + u32::from(minute);
                        described.push(minutes * 60 + u32::from(*second));
                    }
                }
            }
            assert_eq!(of_day, described, "{text}");
        }
    }

    #[test]
    fn described_days_equal_the_days_of_croner() {
        for text in ["0 0 1-31/6 2-12/5 *", "0 0 * 3,5 FRI-SUN", "0 0 * JAN 7", "0 0 * * 0-6/4"] {
            let pattern = CronPattern::parse(text).expect("a pattern");
            let fields = pattern.fields();
            // 2027, in days since 1970.
            for day in 20_819..20_819 + 365 {
                let date = chrono::NaiveDate::from_epoch_days(day).expect("a date");
                let has = |field: &FieldItems, value: u32| {
                    field.values().iter().any(|described| u32::from(*described) == value)
                };
                let is_described = has(&fields.month, date.month())
                    && has(&fields.day, date.day())
                    && has(&fields.weekday, date.weekday().num_days_from_sunday());
                assert_eq!(pattern.dates().has(day.into()), is_described, "{text} at {date}");
            }
        }
    }
}
