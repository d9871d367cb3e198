//! A simulated job: its definition, what the disk holds of it, and what the oracle knows.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use chrono::NaiveDate;
use rouse_core::UnixMs;
use rouse_core::job::{Job, MisfireMode, Overlap, job_from_json};
use rouse_core::slots::{Plan, Slots};
use serde_json::{Value, json};

use super::rules::Bounds;
use super::shape::{DAY, HOUR, MINUTE, Shape, job_id};
use crate::rules::Rules;
use rouse_core::schedule::Zones;
use rouse_testkit::Dice;

pub(crate) struct SimJob {
    pub(crate) job: Job,
    pub(crate) slots: Slots,
    pub(crate) shape: Shape,
    /// How much later than its shape says it fires.
    pub(crate) offset: i64,
    /// Every slot up to here has its row or lies before the job was made, edited or switched on. Told without the offset.
    pub(crate) covered: i64,
    /// The next slot, which comes by the jitter of before: where it stands without the offset, and when it comes.
    pub(crate) kept: Option<Kept>,
    /// The furthest that this has been.
    decided: i64,
    /// Up to where it stays so when the clock is set back: by another jitter or other rules a slot has another instant.
    pub(crate) settled: i64,
    /// Slots that have a row, without their offsets: another jitter makes no other slots.
    pub(crate) recorded: HashSet<i64>,
    /// The instants of these rows, of which the disk takes none twice.
    pub(crate) instants: HashSet<i64>,
    /// Up to here a slot may have come before, because the clock was set far back since, or other rules were not seen.
    pub(crate) seen_until: i64,
    /// The dates on which a time of day has fired.
    dates: HashSet<NaiveDate>,
    /// Its next slot was planned by rules that nobody knows any more.
    pub(crate) is_mixed: bool,
    /// When a slot of it started last, while nobody has set the clock since.
    pub(crate) started_at: Option<i64>,
    /// When a run of it began last that a slot has asked for.
    pub(crate) for_slot_at: Option<i64>,
    /// The widest that its policies allowed since it was idle.
    pub(crate) bounds: Bounds,
}

/// A slot that keeps its instant when the jitter changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) stands_at: i64,
    pub(crate) comes_at: i64,
}

/// A machine's zone data, as the engine has it and as the oracle has it.
#[derive(Debug, Clone)]
pub(crate) struct ZoneData {
    pub(crate) rules: Rules,
    pub(crate) zones: Zones,
}

impl SimJob {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64, zones: &Zones) -> Self {
        let shape = Shape::random(dice, number, now);
        let jitter = Shape::jitter(dice);
        let job = job(dice, number, (&shape, jitter), now);
        let slots = Slots::compile(&job.schedule, &job.id, zones).expect("compiles");
        let mut sim = Self {
            offset: shape.offset(&job.id, jitter),
            job,
            slots,
            shape,
            covered: now,
            kept: None,
            decided: i64::MIN,
            settled: i64::MIN,
            recorded: HashSet::new(),
            instants: HashSet::new(),
            seen_until: now,
            dates: HashSet::new(),
            is_mixed: false,
            started_at: None,
            for_slot_at: None,
            bounds: Bounds::default(),
        };
        sim.bounds = Bounds::of(&sim);
        sim.plan(now);
        sim
    }

    /// When the run began that its cooldown counts from: a run by hand leaves a one-shot its slot.
    pub(crate) fn rests_since(&self) -> Option<i64> {
        match self.shape {
            Shape::Once(_) => self.for_slot_at,
            _ => self.job.state.last_run_at.map(|at| at.0),
        }
    }

    /// As the engine plans a job that is new, has a new schedule or was switched on.
    pub(crate) fn plan(&mut self, now: i64) {
        if self.job.enabled {
            let plan = self.slots.plan_after(self.job.state.decided, UnixMs(now));
            self.follow(plan);
            self.cover(now);
        }
    }

    fn follow(&mut self, plan: Plan) {
        (self.job.state.next_run_at, self.job.state.decided) = (plan.next, plan.decided);
    }

    fn plan_of_engine(&self) -> Plan {
        Plan { next: self.job.state.next_run_at, decided: self.job.state.decided }
    }

    /// What has come by `now` is over.
    pub(crate) fn cover(&mut self, now: i64) {
        self.covered = self.over_at(now);
        self.forget_what_is_far(now);
        self.decided = self.decided.max(self.covered);
        self.kept = None;
    }

    /// What a wrong clock has left far ahead.
    fn forget_what_is_far(&mut self, now: i64) {
        self.decided = held(self.decided, now).unwrap_or(i64::MIN);
        self.settled = still_settled(self.settled, now).unwrap_or(i64::MIN);
    }

    /// Up to where slots are over at `now`. When the furthest that they were is ahead, the clock was set back.
    pub(crate) fn over_at(&self, now: i64) -> i64 {
        let come = match self.shape {
            // A whole interval passes before the first one, whatever the offset.
            Shape::Every { anchor, .. } if now >= anchor => anchor.max(now - self.offset),
            _ => now - self.offset,
        };
        let decided = if self.decided <= now { self.decided } else { i64::MIN };
        come.max(decided).max(still_settled(self.settled, now).unwrap_or(i64::MIN))
    }

    /// The clock may have been set back: what lies too far ahead is taken nearer, but for a slot that keeps its instant.
    pub(crate) fn take_nearer(&mut self, now: i64, rules: Rules) {
        if self.next().is_none() {
            return;
        }
        self.follow(self.slots.nearer_plan(self.plan_of_engine(), UnixMs(now)));
        self.expect_nearest(now, rules);
    }

    fn expect_nearest(&mut self, now: i64, rules: Rules) {
        self.forget_what_is_far(now);
        let nearest = self.shape.next_after(self.over_at(now), rules).map(|at| at + self.offset);
        let is_nearer = nearest.is_some() && nearest < self.due(rules);
        if is_nearer && !self.keeps_its_instant(now) {
            self.cover(now);
        }
    }

    fn keeps_its_instant(&self, now: i64) -> bool {
        self.kept.is_some_and(|kept| kept.stands_at + self.offset <= now) && self.decided <= now
    }

    /// Where a slot of now stands without the offset.
    pub(crate) fn stands_at(&self, slot: i64) -> i64 {
        match self.kept {
            Some(kept) if kept.comes_at == slot => kept.stands_at,
            _ => slot - self.offset,
        }
    }

    /// When the next slot comes, as the oracle counts.
    pub(crate) fn due(&self, rules: Rules) -> Option<i64> {
        let next = || Some(self.shape.next_after(self.covered, rules)? + self.offset);
        self.kept.map_or_else(next, |kept| Some(kept.comes_at))
    }

    /// The slots that have come by `now`, as the oracle counts.
    pub(crate) fn passed(&self, now: i64, rules: Rules) -> u64 {
        let (from, kept) = self.kept.map_or((self.covered, 0), |kept| (kept.stands_at, 1));
        self.shape.count(from, now - self.offset, rules) + kept
    }

    /// Another schedule, another jitter and other policies. An instant that has passed would be refused, so it is never
    /// drawn.
    pub(crate) fn edit(&mut self, dice: &mut Dice, number: usize, now: i64, data: &ZoneData) {
        let shape =
            if dice.once_in(3) { self.shape.clone() } else { Shape::random(dice, number, now) };
        let jitter = match self.job.schedule.jitter_ms {
            jitter if shape == self.shape && dice.once_in(2) => jitter,
            _ => Shape::jitter(dice),
        };
        let (state, enabled) = (self.job.state.clone(), self.job.enabled);
        let schedule = self.job.schedule.clone();
        self.job = job(dice, number, (&shape, jitter), now);
        (self.job.state, self.job.enabled) = (state, enabled);
        if shape == self.shape {
            self.job.schedule = schedule;
            self.change_jitter(jitter, now, data);
        } else {
            self.slots =
                Slots::compile(&self.job.schedule, &self.job.id, &data.zones).expect("compiles");
            self.offset = shape.offset(&self.job.id, jitter);
            self.shape = shape;
            // These are other slots.
            self.job.state.decided = self.job.state.decided.of_another_schedule();
            self.settled = i64::MIN;
            self.recorded.clear();
            self.dates.clear();
            self.plan(now);
        }
        self.bounds = self.bounds.or(Bounds::of(self));
    }

    /// Another jitter and nothing else.
    pub(crate) fn change_jitter(&mut self, jitter: Option<u32>, now: i64, data: &ZoneData) {
        self.job.schedule.jitter_ms = jitter;
        let slots =
            Slots::compile(&self.job.schedule, &self.job.id, &data.zones).expect("compiles");
        let old = std::mem::replace(&mut self.slots, slots);
        self.follow(self.slots.plan_by_new_jitter(&old, self.plan_of_engine(), UnixMs(now)));
        self.move_by(self.shape.offset(&self.job.id, jitter), now, data.rules);
    }

    /// Another offset moves what is still to come, but nothing into the past.
    fn move_by(&mut self, offset: i64, now: i64, rules: Rules) {
        let next = self.next().and_then(|_| {
            let stands_at = self.shape.next_after(self.covered, rules)?;
            Some(Kept { stands_at, comes_at: stands_at + self.offset })
        });
        let kept = self.kept.or(next);
        self.settle(held(self.decided, now).unwrap_or(i64::MIN), now);
        if kept.is_some_and(|kept| kept.stands_at <= self.settled) {
            // It would only have come again.
            self.offset = offset;
            return self.cover(now);
        }
        let moved = kept.map(|kept| kept.stands_at + offset);
        self.offset = offset;
        self.kept = kept.map(|kept| Kept {
            comes_at: moved.filter(|moved| *moved > now).unwrap_or(kept.comes_at),
            ..kept
        });
    }

    /// The row of a slot that had kept its instant, or came as rules of before had planned it, does not tell of its own.
    pub(crate) fn settle_kept(&mut self, slot: i64, was_mixed: bool, rules: Rules, now: i64) {
        let place = slot - self.offset;
        let is_of_before = || was_mixed && self.shape.next_after(place - 1, rules) != Some(place);
        if self.stands_at(slot) != place || is_of_before() {
            self.settle(place, now);
        }
    }

    fn settle(&mut self, until: i64, now: i64) {
        self.forget_what_is_far(now);
        self.settled = self.settled.max(until.min(now + 3 * RULES_APART));
    }

    /// New rules while the process is up: what is not due is planned with what the clock has shown by the old ones.
    pub(crate) fn follow_rules(&mut self, old: Rules, new: &ZoneData, now: i64) {
        self.see_by_other_rules(now);
        let slots = Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        if self.next().is_some() {
            self.follow(slots.plan_by_new_rules(&self.slots, self.plan_of_engine(), UnixMs(now)));
            self.show_by(old, new.rules, now);
        }
        self.slots = slots;
    }

    /// What the clock has shown by the old rules does not come again by the new ones.
    fn show_by(&mut self, old: Rules, new: Rules, now: i64) {
        if !self.shape.follows_rules() {
            return self.forget_what_is_far(now);
        }
        self.forget_what_is_far(now);
        if self.shape.zone().is_some_and(|tz| old.agrees_with(new, tz, self.looks_at(old, now))) {
            return self.expect_nearest(now, new);
        }
        let keeps = self.keeps_its_instant(now);
        // What has come before the clock was set back would have other instants.
        let decided = held(self.decided, now).unwrap_or(i64::MIN);
        let over = self.over_at(now).max(now).max(decided);
        let kept = self.kept.take();
        let covered = kept.map_or(self.covered, |kept| kept.stands_at - 1).max(decided);
        self.covered = self.shape.covered_by_new_rules(covered, old, new);
        let Some(stands_at) = self.shape.next_after(self.covered, new) else { return };
        if keeps && stands_at + self.offset <= now {
            self.kept = kept.map(|kept| Kept { stands_at, ..kept });
            return;
        }
        let shown = (stands_at - 1).min(over + RULES_APART);
        self.settle(shown, now);
        self.decided = self.decided.max(shown);
        self.forget_what_is_far(now);
        // What is to come is not over, however far that had reached by other rules.
        self.settled = self.settled.min(stands_at - 1);
        self.decided = self.decided.min(stands_at - 1);
    }

    /// The time whose rules a plan is made by, with a day before and after.
    fn looks_at(&self, rules: Rules, now: i64) -> RangeInclusive<i64> {
        let next = self.due(rules).map(|next| next - self.offset);
        let known = [self.decided, self.settled].into_iter().filter(|at| *at > i64::MIN);
        let marks: Vec<i64> = known.chain(next).chain([now - self.offset]).collect();
        let back = now - self.offset - 3 * RULES_APART;
        let first = marks.iter().copied().fold(back, i64::min);
        let last = marks.into_iter().fold(back, i64::max);
        first - RULES_APART..=last + RULES_APART
    }

    /// New rules while the process was off: those of its earlier life are not known any more. What is due is claimed
    /// first, as it was planned.
    pub(crate) fn start_with_rules(&mut self, new: &ZoneData, now: i64) {
        self.slots =
            Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        if !self.shape.follows_rules() {
            return;
        }
        self.see_by_other_rules(now);
        // When the clock was set back, too, the old rules had shown what lies ahead.
        let shown = held(self.decided, now).map_or(now, |decided| decided.max(now));
        self.seen_until = self.seen_until.max(shown + NOT_KNOWN);
        match self.next() {
            Some(next) if next <= now => self.is_mixed = true,
            _ => self.plan(now),
        }
    }

    /// What had come before the clock was set back comes at another instant.
    fn see_by_other_rules(&mut self, now: i64) {
        if self.seen_until > now {
            self.seen_until += NOT_KNOWN;
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
        !matches!(self.shape, Shape::Once(at) if at + self.offset <= now)
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

fn job(dice: &mut Dice, number: usize, (shape, jitter): (&Shape, Option<u32>), now: i64) -> Job {
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
    let runtime = dice.once_in(3).then(|| {
        let backoff = *dice.pick(&[1_000, 5 * MINUTE, 3 * HOUR]);
        json!({ "maxAttempts": dice.between(2, 4), "retryBackoffMs": backoff })
    });
    let mut schedule = shape.schedule();
    schedule["jitterMs"] = json!(jitter.filter(|_| !matches!(shape, Shape::After(_))));
    let document = json!({
        "id": job_id(number).as_str(),
        "name": "Job",
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo" },
        "deleteAfterRun": matches!(shape, Shape::Once(_)) && number.is_multiple_of(2),
        "policies": policies,
        "runtime": runtime,
    });
    job_from_json(document, UnixMs(now), chrono_tz::UTC).expect("a valid job")
}

/// What lies so soon after rules that were not seen to change may have been shown by the old ones.
pub(crate) const NOT_KNOWN: i64 = 3 * HOUR;

/// By other rules a clock shows a time again at most so much later.
const RULES_APART: i64 = DAY;

/// What lies farther ahead was left there by a clock that was wrong.
fn held(at: i64, now: i64) -> Option<i64> {
    (at <= now + 2 * RULES_APART).then_some(at)
}

/// The same of what is settled, which other rules have put farther.
fn still_settled(at: i64, now: i64) -> Option<i64> {
    (at <= now + 3 * RULES_APART).then_some(at)
}

/// Up to this much lateness a slot is on time.
pub(crate) const ON_TIME: i64 = MINUTE;
