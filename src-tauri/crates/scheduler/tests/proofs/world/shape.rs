//! When a simulated job fires, told twice: as the schedule of a job, and as plain arithmetic that judges it.
//!
//! The arithmetic walks dates and asks the zone for each of them; it shares nothing with the search of the engine. One
//! could get it wrong by letting the oracle ask `Slots`: then both would be wrong together.

use chrono::Datelike as _;
use chrono::{Days, NaiveDate, TimeZone as _, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

use rouse_core::job::{Schedule, ScheduleSpec};
use rouse_core::slots::Slots;
use rouse_core::{JobId, UnixMs};
use rouse_testkit::Dice;

use crate::rules::Rules;

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
pub(crate) enum Shape {
    Every {
        every_ms: i64,
        anchor: i64,
    },
    /// Every quarter of an hour of the clock; no zone of these has an offset that is none.
    Quarters(Tz),
    /// At a time of day, on all days or on one of the week.
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

impl Shape {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64) -> Self {
        let tz = *dice.pick(&ZONES);
        let hour = u32::try_from(dice.below(24)).expect("small");
        let minute = u32::try_from(dice.below(60)).expect("small");
        // What fires often costs most of the time of a world, so it is rare.
        match dice.below(96) {
            0 => Self::Quarters(tz),
            1 => Self::Every { every_ms: dice.between(20, 90) * MINUTE, anchor: now },
            2..=9 => Self::Once(now + dice.between(1, 20 * DAY)),
            10..=25 => Self::Every { every_ms: dice.between(3, 30) * HOUR, anchor: now - 7 },
            // One that is there, or was, or is to come.
            26..=29 => Self::After(number.checked_sub(1 + dice.below(8)).unwrap_or(number + 1)),
            30..=55 => {
                let days = [Weekday::Mon, Weekday::Wed, Weekday::Fri, Weekday::Sun];
                Self::At { hour, minute, day: Some(*dice.pick(&days)), tz }
            }
            // The hours in which clocks are set.
            56..=75 => Self::At { hour: hour % 4, minute, day: None, tz },
            _ => Self::At { hour, minute, day: None, tz },
        }
    }

    /// None, little or much of it.
    pub(crate) fn jitter(dice: &mut Dice) -> Option<u32> {
        let jitter = match dice.below(4) {
            0 => return Some(0),
            1 => return None,
            2 => dice.between(1, MINUTE),
            _ => dice.between(MINUTE, HOUR),
        };
        Some(u32::try_from(jitter).expect("small"))
    }

    /// What a jitter makes of the instants of a job: asked of the slot of a single instant, as its size is nobody's choice.
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

    /// Whether the rules of a zone say when it fires.
    pub(crate) fn follows_rules(&self) -> bool {
        self.zone().is_some_and(|tz| tz != Tz::UTC)
    }

    /// Whose clock it goes by.
    pub(crate) fn zone(&self) -> Option<Tz> {
        match self {
            Self::Quarters(tz) | Self::At { tz, .. } => Some(*tz),
            Self::Every { .. } | Self::Once(_) | Self::After(_) => None,
        }
    }

    /// As the job format says it.
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
    pub(crate) fn next_after(&self, after: i64, rules: Rules) -> Option<i64> {
        match self {
            // The grid begins with its anchor.
            Self::Every { every_ms, anchor } => {
                Some(next_on_grid(*anchor, *every_ms, after.max(anchor - 1)))
            }
            Self::Quarters(_) => Some(next_on_grid(0, 15 * MINUTE, after)),
            Self::Once(at) => (*at > after).then_some(*at),
            Self::At { .. } => self.slots_since(date_of(after), rules).find(|at| *at > after),
            Self::After(_) => None,
        }
    }

    /// How many slots there are after `after`, up to `until`.
    pub(crate) fn count(&self, after: i64, until: i64, rules: Rules) -> u64 {
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

    /// Up to where this shape's slots are over when the rules `old` give way to `new` at `now`, where those up to `covered`
    /// were over: a time of day that the clock has shown by the old rules is, and one that it has not shown is not.
    pub(crate) fn covered_by_new_rules(&self, covered: i64, old: Rules, new: Rules) -> i64 {
        let Self::At { hour, minute, tz, .. } = *self else { return covered };
        let Some(next) = self.next_after(covered, old) else { return covered };
        // A time in a gap is shown later than it is called, on the same date but for a lost day, which these have not.
        let date = old.local(next, tz).date();
        new.instant(date, hour, minute, tz) - 1
    }

    /// The slots of a time of day, from the day before `date` on.
    fn slots_since(&self, date: NaiveDate, rules: Rules) -> impl Iterator<Item = i64> {
        let Self::At { hour, minute, day, tz } = *self else { panic!("not a time of day") };
        let first = date.checked_sub_days(Days::new(2)).expect("a date");
        let dates =
            first.iter_days().filter(move |date| day.is_none_or(|day| date.weekday() == day));
        dates.map(move |date| rules.instant(date, hour, minute, tz))
    }
}

/// What the job with this number is called.
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
