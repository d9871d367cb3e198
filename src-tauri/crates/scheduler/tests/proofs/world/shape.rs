//! The schedule of a simulated job, twice: in the job format, and as plain arithmetic for the oracle.
//!
//! The arithmetic walks dates and asks the zone for each; the search of the engine is not shared.
//! Pitfall: an oracle that uses `Slots` is wrong together with `Slots`.

use chrono::Datelike as _;
use chrono::{Days, NaiveDate, TimeZone as _, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

use rouse_core::job::{Schedule, ScheduleSpec};
use rouse_core::slots::Slots;
use rouse_core::{JobId, UnixMs};
use rouse_testkit::Dice;

use crate::rules::ZoneRelease;

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

pub(crate) const ZONES: [Tz; 8] = [
    Tz::UTC,
    Tz::Europe__Berlin,
    Tz::America__New_York,
    Tz::Australia__Lord_Howe,
    Tz::Asia__Kathmandu,
    Tz::America__St_Johns,
    Tz::Africa__Casablanca,
    Tz::Pacific__Chatham,
];

/// When a job fires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScheduleShape {
    Every {
        every_ms: i64,
        anchor: i64,
    },
    /// Every quarter of an hour of the clock; the offsets of these zones are multiples of a quarter.
    Quarters(Tz),
    /// At a time of day, daily or weekly.
    At {
        hour: u32,
        minute: u32,
        day: Option<Weekday>,
        tz: Tz,
    },
    Once(i64),
    /// After each run of the job with this number.
    After(usize),
}

impl ScheduleShape {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64) -> Self {
        let tz = *dice.pick(&ZONES);
        let hour = u32::try_from(dice.below(24)).expect("small");
        let minute = u32::try_from(dice.below(60)).expect("small");
        // Frequent schedules take most of the time, so these are rare.
        match dice.below(96) {
            0 => Self::Quarters(tz),
            1 => Self::Every { every_ms: dice.between(20, 90) * MINUTE, anchor: now },
            2..=9 => Self::Once(now + dice.between(1, 20 * DAY)),
            10..=25 => Self::Every { every_ms: dice.between(3, 30) * HOUR, anchor: now - 7 },
            // An existing, deleted or future job.
            26..=29 => Self::After(number.checked_sub(1 + dice.below(8)).unwrap_or(number + 1)),
            30..=55 => {
                let days = [Weekday::Mon, Weekday::Wed, Weekday::Fri, Weekday::Sun];
                Self::At { hour, minute, day: Some(*dice.pick(&days)), tz }
            }
            // The hours of DST changes.
            56..=75 => Self::At { hour: hour % 4, minute, day: None, tz },
            _ => Self::At { hour, minute, day: None, tz },
        }
    }

    /// No, little or much jitter.
    pub(crate) fn jitter(dice: &mut Dice) -> Option<u32> {
        let jitter = match dice.below(4) {
            0 => return Some(0),
            1 => return None,
            2 => dice.between(1, MINUTE),
            _ => dice.between(MINUTE, HOUR),
        };
        Some(u32::try_from(jitter).expect("small"))
    }

    /// The delay of a jitter, read from the slot of a one-shot, since the delay depends on the job's id.
    pub(crate) fn offset(&self, id: &JobId, jitter: Option<u32>) -> i64 {
        let at = UnixMs(DAY);
        let spec = ScheduleSpec::At { at, tz: None };
        let schedule = Schedule { spec, jitter_ms: jitter, extra: Map::new() };
        let slots = Slots::compile(&schedule, id, &Tz::UTC.into()).expect("compiles");
        let offset = slots.next_after(at.plus_ms(-1)).expect("a slot").since(at);
        match self {
            Self::Every { every_ms, .. } => offset % every_ms,
            Self::Quarters(_) | Self::At { .. } | Self::Once(_) | Self::After(_) => offset,
        }
    }

    /// Whether the instants depend on zone rules.
    pub(crate) fn follows_rules(&self) -> bool {
        self.zone().is_some_and(|tz| tz != Tz::UTC)
    }

    /// The zone.
    pub(crate) fn zone(&self) -> Option<Tz> {
        match self {
            Self::Quarters(tz) | Self::At { tz, .. } => Some(*tz),
            Self::Every { .. } | Self::Once(_) | Self::After(_) => None,
        }
    }

    /// The schedule in the job format.
    pub(crate) fn schedule(&self) -> Value {
        match self {
            Self::Every { every_ms, anchor } => {
                json!({ "kind": "every", "everyMs": every_ms, "anchorMs": anchor })
            }
            Self::Quarters(tz) => {
                json!({ "kind": "cron", "expr": "*/15 * * * *", "tz": tz.name() })
            }
            Self::At { hour, minute, day, tz } => {
                let day = day.map_or("*".to_owned(), |day| day.num_days_from_sunday().to_string());
                let expr = format!("{minute} {hour} * * {day}");
                json!({ "kind": "cron", "expr": expr, "tz": tz.name() })
            }
            Self::Once(at) => json!({ "kind": "at", "atMs": at }),
            Self::After(job) => {
                let filters = json!({ "jobId": job_id(*job).as_str() });
                json!({ "kind": "event", "source": "job", "filters": filters })
            }
        }
    }

    /// The first slot after `after`.
    pub(crate) fn next_after(&self, after: i64, rules: ZoneRelease) -> Option<i64> {
        match self {
            // The grid starts at the anchor.
            Self::Every { every_ms, anchor } => {
                Some(next_on_grid(*anchor, *every_ms, after.max(anchor - 1)))
            }
            Self::Quarters(_) => Some(next_on_grid(0, 15 * MINUTE, after)),
            Self::Once(at) => (*at > after).then_some(*at),
            Self::At { .. } => self.slots_since(date_of(after), rules).find(|at| *at > after),
            Self::After(_) => None,
        }
    }

    /// The number of slots after `after`, up to `until`.
    pub(crate) fn count(&self, after: i64, until: i64, rules: ZoneRelease) -> u64 {
        let count = match self {
            Self::Every { every_ms, anchor } => {
                let before = anchor - 1;
                on_grid(*anchor, *every_ms, after.max(before), until.max(before))
            }
            Self::Quarters(_) => on_grid(0, 15 * MINUTE, after, until),
            Self::Once(at) => i64::from(*at > after && *at <= until),
            Self::After(_) => 0,
            Self::At { .. } => {
                let slots = self.slots_since(date_of(after), rules).take_while(|at| *at <= until);
                i64::try_from(slots.filter(|at| *at > after).count()).expect("few")
            }
        };
        u64::try_from(count).expect("time goes on")
    }

    /// Up to where slots are decided when the rules `old` change to `new`, with slots up to `covered` decided before: a
    /// time of day that passed by the old rules is decided, any other is open.
    pub(crate) fn covered_by_new_rules(
        &self,
        covered: i64,
        old: ZoneRelease,
        new: ZoneRelease,
    ) -> i64 {
        let Self::At { hour, minute, tz, .. } = *self else { return covered };
        let Some(next) = self.next_after(covered, old) else { return covered };
        // A time in a gap fires later, on the same date, except for a skipped day, which these zones do not have.
        let date = old.local(next, tz).date();
        new.instant(date, hour, minute, tz) - 1
    }

    /// The slots of a time of day, from two days before `date`.
    fn slots_since(&self, date: NaiveDate, rules: ZoneRelease) -> impl Iterator<Item = i64> {
        let Self::At { hour, minute, day, tz } = *self else { panic!("not a time of day") };
        let first = date.checked_sub_days(Days::new(2)).expect("a date");
        let dates =
            first.iter_days().filter(move |date| day.is_none_or(|day| date.weekday() == day));
        dates.map(move |date| rules.instant(date, hour, minute, tz))
    }
}

/// The id of the job with this number.
pub(crate) fn job_id(number: usize) -> JobId {
    JobId::new(format!("job-{number}"))
}

fn next_on_grid(anchor: i64, every: i64, after: i64) -> i64 {
    anchor + ((after - anchor).div_euclid(every) + 1) * every
}

fn on_grid(anchor: i64, every: i64, after: i64, until: i64) -> i64 {
    (until - anchor).div_euclid(every) - (after - anchor).div_euclid(every)
}

fn date_of(at: i64) -> NaiveDate {
    Utc.timestamp_millis_opt(at).single().expect("an instant").date_naive()
}
