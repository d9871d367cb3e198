//! Cron patterns: reading them and asking them for slots.
//!
//! Owns the way from a text to slots: `fields` reads it, `dates` and `times` match it on a wall clock without changes,
//! `rule` turns matches into slots and `count` counts them. A pattern that never fires is refused when it is read.
//! Reading takes a microsecond and a pattern is some hundred bytes, so nobody needs to keep patterns to have them fast.
//! One could get it wrong by looking for a matching time and then for a matching date: the time of day begins anew with
//! every date.

use std::fmt;
use std::sync::Arc;

use super::dates::Dates;
use super::fields::{CronError, Fields};
use super::rules::Zone;
use super::times::Times;
use super::wall::{DAY, FIRST_SECOND, LAST_SECOND, Wall};

/// A cron pattern that fires. Cheap to clone.
#[derive(Clone)]
pub struct CronPattern(Arc<Parsed>);

struct Parsed {
    text: String,
    fields: Fields,
    dates: Dates,
    times: Times,
    is_interval: bool,
}

impl CronPattern {
    /// Reads five fields (minute, hour, day of month, month, day of week), six with seconds first, or an alias such as
    /// `@daily`.
    ///
    /// # Errors
    /// What is wrong, with the field and what was expected there; also for a pattern that matches no date at all.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let fields = Fields::read(text)?;
        let (dates, times) = (Dates::of(&fields), Times::of(&fields));
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

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether the pattern follows the clock (`*` or a step in its seconds, minute or hour field) rather than naming
    /// fixed times. The two behave differently where the clock changes.
    #[must_use]
    pub fn is_interval(&self) -> bool {
        self.0.is_interval
    }

    /// The first slot strictly after the instant `after`, both in unix milliseconds. `None` only near the year 5000.
    #[must_use]
    pub fn next_after(&self, zone: Zone, after: i64) -> Option<i64> {
        // Slots are whole seconds, so a slot after a part of a second is a slot after the second it belongs to.
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

    /// The next slot when the rules of the zone `old` gave way to those of `new` at the instant `now`. That is a change of
    /// the clock like any other: fixed times that it jumped over are one slot, which may lie before `now` and is then
    /// due; times that it shows again are none. An interval pattern follows the clock.
    #[must_use]
    pub fn next_by_new_rules(&self, old: Zone, new: Zone, now: i64) -> Option<i64> {
        let at = now.div_euclid(1000);
        if self.0.is_interval || old == new || !(FIRST_SECOND..=LAST_SECOND).contains(&at) {
            return self.next_after(new, now);
        }
        self.next_fixed_by_new_rules(old, new, at).map(|seconds| seconds * 1000)
    }

    /// The last slot up to and including the instant `until`. `None` only near the year 1.
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

    /// The newest `keep` slots after `from` up to and including `to`, oldest first. Walks back from `to`, so `keep`
    /// bounds the cost.
    #[must_use]
    pub fn newest_slots(&self, zone: Zone, from: i64, to: i64, keep: usize) -> Vec<i64> {
        let before = |slot: i64| self.last_until(zone, slot.checked_sub(1)?);
        let back = std::iter::successors(self.last_until(zone, to), |slot| before(*slot));
        let mut newest: Vec<i64> = back.take_while(|slot| *slot > from).take(keep).collect();
        newest.reverse();
        newest
    }

    /// All slots strictly after `after`, in order.
    pub fn slots(&self, zone: Zone, after: i64) -> impl Iterator<Item = i64> + '_ {
        std::iter::successors(self.next_after(zone, after), move |slot| {
            self.next_after(zone, *slot)
        })
    }

    pub(super) fn dates(&self) -> &Dates {
        &self.0.dates
    }

    pub(super) fn times(&self) -> &Times {
        &self.0.times
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.0.fields
    }

    /// The first time at or after `from` that matches, on a wall clock without changes.
    pub(super) fn next_match(&self, from: Wall) -> Option<Wall> {
        let Parsed { dates, times, .. } = &*self.0;
        let (today, time) = from.day_and_time();
        let date = dates.next(today, LAST_SECOND / DAY)?;
        if date > today {
            return Some(Wall::at(date, times.first()));
        }
        if let Some(time) = times.next(time) {
            return Some(Wall::at(today, time));
        }
        dates.next(today + 1, LAST_SECOND / DAY).map(|date| Wall::at(date, times.first()))
    }

    /// The last time at or before `until` that matches, on a wall clock without changes.
    pub(super) fn last_match(&self, until: Wall) -> Option<Wall> {
        let Parsed { dates, times, .. } = &*self.0;
        let (today, time) = until.day_and_time();
        let date = dates.last(today, FIRST_SECOND / DAY)?;
        if date < today {
            return Some(Wall::at(date, times.final_one()));
        }
        if let Some(time) = times.last(time) {
            return Some(Wall::at(today, time));
        }
        dates.last(today - 1, FIRST_SECOND / DAY).map(|date| Wall::at(date, times.final_one()))
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
