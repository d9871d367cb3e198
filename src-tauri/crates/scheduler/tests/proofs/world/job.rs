//! A simulated job: its definition, what the disk holds of it, and what the oracle knows.

use std::collections::HashSet;

use rouse_core::UnixMs;
use rouse_core::job::{Job, MisfireMode, Overlap, job_from_json};
use rouse_core::slots::Slots;
use serde_json::{Value, json};

use super::shape::{MINUTE, Shape};
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
}

impl SimJob {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64) -> Self {
        let shape = Shape::random(dice, now);
        let job = job(dice, number, &shape, now);
        let slots =
            Slots::compile(&job.schedule, &job.id, &chrono_tz::UTC.into()).expect("compiles");
        let mut sim =
            Self { job, slots, shape, covered: now, recorded: HashSet::new(), seen_until: now };
        sim.plan(now);
        sim
    }

    /// As the engine plans a job that is new, has a new schedule or was switched on.
    pub(crate) fn plan(&mut self, now: i64) {
        let next = self.slots.next_after(UnixMs(now)).filter(|_| self.job.enabled);
        self.job.state.next_run_at = next;
        self.covered = now;
    }

    /// Another schedule and other policies. An instant that has passed would be refused, so it is never drawn.
    pub(crate) fn edit(&mut self, dice: &mut Dice, number: usize, now: i64) {
        let shape = if dice.once_in(3) { self.shape.clone() } else { Shape::random(dice, now) };
        let fires_alike = shape == self.shape;
        let state = self.job.state.clone();
        let enabled = self.job.enabled;
        self.job = job(dice, number, &shape, now);
        (self.job.state, self.job.enabled) = (state, enabled);
        self.slots = Slots::compile(&self.job.schedule, &self.job.id, &chrono_tz::UTC.into())
            .expect("compiles");
        self.shape = shape;
        if !fires_alike {
            self.plan(now);
        }
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
    maybe("cooldownSeconds", 5, &mut |dice| json!(dice.between(1, 7_200)));
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

/// Up to this much lateness a slot is on time.
pub(crate) const ON_TIME: i64 = MINUTE;
