//! A simulated job: its definition, what the disk holds of it, and what the oracle knows.

use std::collections::HashSet;

use chrono::NaiveDate;
use rouse_core::UnixMs;
use rouse_core::job::{Job, MisfireMode, Overlap, job_from_json};
use rouse_core::slots::Slots;
use serde_json::{Value, json};

use super::rules::Bounds;
use super::shape::{HOUR, MINUTE, Shape};
use crate::rules::Rules;
use rouse_core::schedule::Zones;
use rouse_testkit::Dice;

pub(crate) struct SimJob {
    pub(crate) job: Job,
    pub(crate) slots: Slots,
    pub(crate) shape: Shape,
    /// Every slot up to here has its row or lies before the job was made, edited or switched on.
    pub(crate) covered: i64,
    /// Slots that have a row; the unique index of the store.
    pub(crate) recorded: HashSet<i64>,
    /// Up to here a slot may have come before, because the clock was set back since.
    pub(crate) seen_until: i64,
    /// The dates on which a time of day has fired.
    dates: HashSet<NaiveDate>,
    /// Its next slot was planned by rules that nobody knows any more.
    pub(crate) is_mixed: bool,
    /// When a slot of it started last, while nobody has set the clock since.
    pub(crate) started_at: Option<i64>,
    /// The widest that its policies allowed since it was idle.
    pub(crate) bounds: Bounds,
}

/// A machine's zone data, as the engine has it and as the oracle has it.
#[derive(Debug, Clone)]
pub(crate) struct ZoneData {
    pub(crate) rules: Rules,
    pub(crate) zones: Zones,
}

impl SimJob {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64, zones: &Zones) -> Self {
        let shape = Shape::random(dice, now);
        let job = job(dice, number, &shape, now);
        let slots = Slots::compile(&job.schedule, &job.id, zones).expect("compiles");
        let mut sim = Self {
            job,
            slots,
            shape,
            covered: now,
            recorded: HashSet::new(),
            seen_until: now,
            dates: HashSet::new(),
            is_mixed: false,
            started_at: None,
            bounds: Bounds::default(),
        };
        sim.bounds = Bounds::of(&sim);
        sim.plan(now);
        sim
    }

    /// As the engine plans a job that is new, has a new schedule or was switched on.
    pub(crate) fn plan(&mut self, now: i64) {
        let next = self.slots.next_after(UnixMs(now)).filter(|_| self.job.enabled);
        self.job.state.next_run_at = next;
        self.covered = now;
        // By other rules the clock may show a time again that it showed before the plan.
        self.dates.clear();
    }

    /// Another schedule and other policies. An instant that has passed would be refused, so it is never drawn.
    pub(crate) fn edit(&mut self, dice: &mut Dice, number: usize, now: i64, zones: &Zones) {
        let shape = if dice.once_in(3) { self.shape.clone() } else { Shape::random(dice, now) };
        let fires_alike = shape == self.shape;
        let state = self.job.state.clone();
        let enabled = self.job.enabled;
        self.job = job(dice, number, &shape, now);
        (self.job.state, self.job.enabled) = (state, enabled);
        self.slots = Slots::compile(&self.job.schedule, &self.job.id, zones).expect("compiles");
        self.shape = shape;
        self.bounds = self.bounds.or(Bounds::of(self));
        if !fires_alike {
            self.plan(now);
        }
    }

    /// New rules while the process is up: what is not due is planned with what the clock has shown by the old ones.
    pub(crate) fn follow_rules(&mut self, old: Rules, new: &ZoneData, now: i64) {
        if self.seen_until > now {
            // What had come before the clock was set back comes at another instant.
            self.seen_until += NOT_KNOWN;
        }
        let slots = Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        if self.next().is_some() {
            self.job.state.next_run_at = slots.next_by_new_rules(&self.slots, UnixMs(now));
            self.covered = self.shape.covered_by_new_rules(self.covered, old, new.rules);
        }
        self.slots = slots;
    }

    /// New rules while the process was off: those of its earlier life are not known any more. What is due is claimed
    /// first, as it was planned.
    pub(crate) fn start_with_rules(&mut self, new: &ZoneData, now: i64) {
        self.slots =
            Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        self.seen_until = self.seen_until.max(now + NOT_KNOWN);
        match self.next() {
            Some(next) if next <= now => self.is_mixed = true,
            _ => self.plan(now),
        }
    }

    /// Whether the date on which a slot of a time of day stands is a new one.
    pub(crate) fn shows_first_time(&mut self, slot: i64, rules: Rules) -> bool {
        let Shape::At { tz, .. } = self.shape else { return true };
        self.dates.insert(rules.local(slot, tz).date())
    }

    pub(crate) fn next(&self) -> Option<i64> {
        self.job.state.next_run_at.filter(|_| self.job.enabled).map(|at| at.0)
    }

    /// Whether the clock alone decides that this job may be switched on.
    pub(crate) fn may_be_switched_on(&self, now: i64) -> bool {
        !matches!(self.shape, Shape::Once(at) if at <= now)
    }

    pub(crate) fn width(&self) -> usize {
        match self.job.policies.overlap {
            Overlap::Parallel => self.job.policies.max_concurrent.unwrap_or(2) as usize,
            _ => 1,
        }
    }

    /// The most runs that one claim may make.
    pub(crate) fn most_at_once(&self) -> usize {
        match self.job.policies.misfire.mode {
            MisfireMode::RunAll => self.job.policies.misfire.limit.unwrap_or(10) as usize,
            _ => 1,
        }
    }
}

fn job(dice: &mut Dice, number: usize, shape: &Shape, now: i64) -> Job {
    let mut misfire = json!({ "mode": dice.pick(&["skip", "runOnce", "runAll"]) });
    if misfire["mode"] == "runAll" && dice.once_in(2) {
        misfire["limit"] = json!(dice.between(1, 5));
    }
    if dice.once_in(4) {
        misfire["maxLatenessSeconds"] = json!(dice.between(1, 40) * 3_600);
    }
    let mut policies = json!({ "misfire": misfire });
    policies["overlap"] = json!(dice.pick(&["skip", "queue", "parallel", "cancelOther"]));
    if policies["overlap"] == "parallel" {
        policies["maxConcurrent"] = json!(dice.between(1, 3));
    }
    let mut maybe = |key: &str, odds: usize, value: &mut dyn FnMut(&mut Dice) -> Value| {
        if dice.once_in(odds) {
            policies[key] = value(dice);
        }
    };
    maybe("cooldownSeconds", 5, &mut |dice| {
        let most = *dice.pick(&[10, 7_200, 40 * 3_600]);
        json!(dice.between(1, most))
    });
    maybe("pauseAfterFailures", 4, &mut |dice| json!(dice.between(1, 4)));
    let document = json!({
        "id": format!("job-{number}"),
        "name": "Job",
        "schedule": shape.schedule(),
        "payload": { "kind": "toolCall", "tool": "echo" },
        "deleteAfterRun": matches!(shape, Shape::Once(_)) && number.is_multiple_of(2),
        "policies": policies,
    });
    job_from_json(document, UnixMs(now), chrono_tz::UTC).expect("a valid job")
}

/// What lies so soon after rules that were not seen to change may have been shown by the old ones.
pub(crate) const NOT_KNOWN: i64 = 3 * HOUR;

/// Up to this much lateness a slot is on time.
pub(crate) const ON_TIME: i64 = MINUTE;
