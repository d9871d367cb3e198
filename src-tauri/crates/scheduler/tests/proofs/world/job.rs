//! A simulated job: definition, state on the disk, and the oracle's view.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use chrono::NaiveDate;
use rouse_core::UnixMs;
use rouse_core::job::{Job, MisfireMode, Overlap, job_from_json};
use rouse_core::slots::{Plan, Slots};
use serde_json::{Value, json};

use super::rules::OverlapBounds;
use super::shape::{DAY, HOUR, MINUTE, ScheduleShape, job_id};
use crate::rules::ZoneRelease;
use rouse_core::schedule::Zones;
use rouse_testkit::Dice;

pub(crate) struct SimJob {
    pub(crate) job: Job,
    pub(crate) slots: Slots,
    pub(crate) shape: ScheduleShape,
    /// The delay of the jitter.
    pub(crate) offset: i64,
    /// Slots up to here have rows, or precede the job's creation, edit or enabling. Without the offset.
    pub(crate) covered: i64,
    /// The next slot at the instant of an earlier jitter.
    pub(crate) kept: Option<KeptSlot>,
    /// The maximum of `covered` so far.
    decided: i64,
    /// Slots up to here stay decided after a rollback, because another jitter or other rules move their instants.
    pub(crate) settled: i64,
    /// Slots with a row, without their offsets: another jitter makes no other slots.
    pub(crate) recorded: HashSet<i64>,
    /// The instants of these rows; the disk takes none twice.
    pub(crate) instants: HashSet<i64>,
    /// Slots up to here may repeat, because of a rollback or unseen rules.
    pub(crate) seen_until: i64,
    /// The dates on which a time of day has fired.
    dates: HashSet<NaiveDate>,
    /// Whether the next slot was planned by unknown rules.
    pub(crate) is_mixed: bool,
    /// The last start of a slot, if the clock was not set since.
    pub(crate) started_at: Option<i64>,
    /// The last start of a run for a slot.
    pub(crate) for_slot_at: Option<i64>,
    /// The loosest bounds of the policies since the job was idle.
    pub(crate) bounds: OverlapBounds,
}

/// A slot that keeps the instant after a change of jitter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptSlot {
    pub(crate) stands_at: i64,
    pub(crate) comes_at: i64,
}

/// Zone data for the engine and for the oracle.
#[derive(Debug, Clone)]
pub(crate) struct ZoneData {
    pub(crate) rules: ZoneRelease,
    pub(crate) zones: Zones,
}

impl SimJob {
    pub(crate) fn random(dice: &mut Dice, number: usize, now: i64, zones: &Zones) -> Self {
        let shape = ScheduleShape::random(dice, number, now);
        let jitter = ScheduleShape::jitter(dice);
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
            bounds: OverlapBounds::default(),
        };
        sim.bounds = OverlapBounds::of(&sim);
        sim.plan(now);
        sim
    }

    /// The start of the cooldown. A manual run starts no cooldown of a one-shot.
    pub(crate) fn cooldown_start(&self) -> Option<i64> {
        match self.shape {
            ScheduleShape::Once(_) => self.for_slot_at,
            _ => self.job.state.last_run_at.map(|at| at.0),
        }
    }

    /// Plans the job as new, with a new schedule, or enabled.
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

    /// Marks the slots up to `now` as decided.
    pub(crate) fn cover(&mut self, now: i64) {
        self.covered = self.over_at(now);
        self.forget_far_marks(now);
        self.decided = self.decided.max(self.covered);
        self.kept = None;
    }

    /// Forgets marks that a wrong clock has left far ahead.
    fn forget_far_marks(&mut self, now: i64) {
        self.decided = near_mark(self.decided, now).unwrap_or(i64::MIN);
        self.settled = still_settled(self.settled, now).unwrap_or(i64::MIN);
    }

    /// Up to where slots are decided at `now`. A mark in the future is from before a rollback.
    pub(crate) fn over_at(&self, now: i64) -> i64 {
        let come = match self.shape {
            // A whole interval precedes the first slot, with any offset.
            ScheduleShape::Every { anchor, .. } if now >= anchor => anchor.max(now - self.offset),
            _ => now - self.offset,
        };
        let decided = if self.decided <= now { self.decided } else { i64::MIN };
        come.max(decided).max(still_settled(self.settled, now).unwrap_or(i64::MIN))
    }

    /// After a possible rollback, advances a next slot too far ahead, unless the slot keeps its instant.
    pub(crate) fn advance_after_rollback(&mut self, now: i64, rules: ZoneRelease) {
        if self.next().is_none() {
            return;
        }
        self.follow(self.slots.plan_after_clock_rollback(self.plan_of_engine(), UnixMs(now)));
        self.expect_nearest(now, rules);
    }

    fn expect_nearest(&mut self, now: i64, rules: ZoneRelease) {
        self.forget_far_marks(now);
        let nearest = self.shape.next_after(self.over_at(now), rules).map(|at| at + self.offset);
        let is_nearer = nearest.is_some() && nearest < self.due(rules);
        if is_nearer && !self.keeps_its_instant(now) {
            self.cover(now);
        }
    }

    fn keeps_its_instant(&self, now: i64) -> bool {
        self.kept.is_some_and(|kept| kept.stands_at + self.offset <= now) && self.decided <= now
    }

    /// The instant of a slot without the offset.
    pub(crate) fn stands_at(&self, slot: i64) -> i64 {
        match self.kept {
            Some(kept) if kept.comes_at == slot => kept.stands_at,
            _ => slot - self.offset,
        }
    }

    /// The next slot, as the oracle counts.
    pub(crate) fn due(&self, rules: ZoneRelease) -> Option<i64> {
        let next = || Some(self.shape.next_after(self.covered, rules)? + self.offset);
        self.kept.map_or_else(next, |kept| Some(kept.comes_at))
    }

    /// The number of slots passed by `now`, as the oracle counts.
    pub(crate) fn passed(&self, now: i64, rules: ZoneRelease) -> u64 {
        let (from, kept) = self.kept.map_or((self.covered, 0), |kept| (kept.stands_at, 1));
        self.shape.count(from, now - self.offset, rules) + kept
    }

    /// Edits schedule, jitter and policies. A past instant would be refused, so none is drawn.
    pub(crate) fn edit(&mut self, dice: &mut Dice, number: usize, now: i64, data: &ZoneData) {
        let shape = if dice.once_in(3) {
            self.shape.clone()
        } else {
            ScheduleShape::random(dice, number, now)
        };
        let jitter = match self.job.schedule.jitter_ms {
            jitter if shape == self.shape && dice.once_in(2) => jitter,
            _ => ScheduleShape::jitter(dice),
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
            // A new schedule has other slots.
            self.job.state.decided = self.job.state.decided.for_new_schedule();
            self.settled = i64::MIN;
            self.recorded.clear();
            self.dates.clear();
            self.plan(now);
        }
        self.bounds = self.bounds.or(OverlapBounds::of(self));
    }

    /// Changes the jitter only.
    pub(crate) fn change_jitter(&mut self, jitter: Option<u32>, now: i64, data: &ZoneData) {
        self.job.schedule.jitter_ms = jitter;
        let slots =
            Slots::compile(&self.job.schedule, &self.job.id, &data.zones).expect("compiles");
        let old = std::mem::replace(&mut self.slots, slots);
        self.follow(self.slots.plan_by_new_jitter(&old, self.plan_of_engine(), UnixMs(now)));
        self.move_by(self.shape.offset(&self.job.id, jitter), now, data.rules);
    }

    /// Moves future slots by another offset, none into the past.
    fn move_by(&mut self, offset: i64, now: i64, rules: ZoneRelease) {
        let next = self.next().and_then(|_| {
            let stands_at = self.shape.next_after(self.covered, rules)?;
            Some(KeptSlot { stands_at, comes_at: stands_at + self.offset })
        });
        let kept = self.kept.or(next);
        self.settle(near_mark(self.decided, now).unwrap_or(i64::MIN), now);
        if kept.is_some_and(|kept| kept.stands_at <= self.settled) {
            // The slot would only repeat.
            self.offset = offset;
            return self.cover(now);
        }
        let moved = kept.map(|kept| kept.stands_at + offset);
        self.offset = offset;
        self.kept = kept.map(|kept| KeptSlot {
            comes_at: moved.filter(|moved| *moved > now).unwrap_or(kept.comes_at),
            ..kept
        });
    }

    /// Settles the grid slot of a row that kept the instant, or was planned by earlier rules.
    pub(crate) fn settle_kept(&mut self, slot: i64, was_mixed: bool, rules: ZoneRelease, now: i64) {
        let place = slot - self.offset;
        let is_of_before = || was_mixed && self.shape.next_after(place - 1, rules) != Some(place);
        if self.stands_at(slot) != place || is_of_before() {
            self.settle(place, now);
        }
    }

    fn settle(&mut self, until: i64, now: i64) {
        self.forget_far_marks(now);
        self.settled = self.settled.max(until.min(now + 3 * RULES_APART));
    }

    /// Applies new rules while the process is up: slots that are not due are planned with the times that passed by
    /// the old rules.
    pub(crate) fn follow_rules(&mut self, old: ZoneRelease, new: &ZoneData, now: i64) {
        self.extend_seen(now);
        let slots = Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        if self.next().is_some() {
            self.follow(slots.plan_by_new_rules(&self.slots, self.plan_of_engine(), UnixMs(now)));
            self.mark_shown(old, new.rules, now);
        }
        self.slots = slots;
    }

    /// Times that passed by the old rules do not repeat by the new rules.
    fn mark_shown(&mut self, old: ZoneRelease, new: ZoneRelease, now: i64) {
        if !self.shape.follows_rules() {
            return self.forget_far_marks(now);
        }
        self.forget_far_marks(now);
        if self.shape.zone().is_some_and(|tz| old.agrees_with(new, tz, self.plan_range(old, now))) {
            return self.expect_nearest(now, new);
        }
        let keeps = self.keeps_its_instant(now);
        // Slots before a rollback would have other instants.
        let decided = near_mark(self.decided, now).unwrap_or(i64::MIN);
        let over = self.over_at(now).max(now).max(decided);
        let kept = self.kept.take();
        let covered = kept.map_or(self.covered, |kept| kept.stands_at - 1).max(decided);
        self.covered = self.shape.covered_by_new_rules(covered, old, new);
        let Some(stands_at) = self.shape.next_after(self.covered, new) else { return };
        if keeps && stands_at + self.offset <= now {
            self.kept = kept.map(|kept| KeptSlot { stands_at, ..kept });
            return;
        }
        let shown = (stands_at - 1).min(over + RULES_APART);
        self.settle(shown, now);
        self.decided = self.decided.max(shown);
        self.forget_far_marks(now);
        // A future slot is open, however far other rules had reached.
        self.settled = self.settled.min(stands_at - 1);
        self.decided = self.decided.min(stands_at - 1);
    }

    /// The time range whose rules a plan uses, with a day on either side.
    fn plan_range(&self, rules: ZoneRelease, now: i64) -> RangeInclusive<i64> {
        let next = self.due(rules).map(|next| next - self.offset);
        let known = [self.decided, self.settled].into_iter().filter(|at| *at > i64::MIN);
        let marks: Vec<i64> = known.chain(next).chain([now - self.offset]).collect();
        let back = now - self.offset - 3 * RULES_APART;
        let first = marks.iter().copied().fold(back, i64::min);
        let last = marks.into_iter().fold(back, i64::max);
        first - RULES_APART..=last + RULES_APART
    }

    /// Applies new rules at the start, when the earlier rules are unknown. A due slot is claimed first, as planned.
    pub(crate) fn start_with_rules(&mut self, new: &ZoneData, now: i64) {
        self.slots =
            Slots::compile(&self.job.schedule, &self.job.id, &new.zones).expect("compiles");
        if !self.shape.follows_rules() {
            return;
        }
        self.extend_seen(now);
        // After a rollback, the old rules had passed times that lie ahead.
        let shown = near_mark(self.decided, now).map_or(now, |decided| decided.max(now));
        self.seen_until = self.seen_until.max(shown + NOT_KNOWN);
        match self.next() {
            Some(next) if next <= now => self.is_mixed = true,
            _ => self.plan(now),
        }
    }

    /// After a rollback by other rules, earlier slots have other instants.
    fn extend_seen(&mut self, now: i64) {
        if self.seen_until > now {
            self.seen_until += NOT_KNOWN;
        }
    }

    /// Whether the date of a time-of-day slot is new.
    pub(crate) fn shows_first_time(&mut self, slot: i64, rules: ZoneRelease) -> bool {
        let ScheduleShape::At { tz, .. } = self.shape else { return true };
        self.dates.insert(rules.local(slot, tz).date())
    }

    pub(crate) fn next(&self) -> Option<i64> {
        self.job.state.next_run_at.filter(|_| self.job.enabled).map(|at| at.0)
    }

    /// Whether the job may be enabled now.
    pub(crate) fn may_be_switched_on(&self, now: i64) -> bool {
        !matches!(self.shape, ScheduleShape::Once(at) if at + self.offset <= now)
    }

    pub(crate) fn width(&self) -> usize {
        match self.job.policies.overlap {
            Overlap::Parallel => self.job.policies.max_concurrent.unwrap_or(2) as usize,
            _ => 1,
        }
    }

    /// The maximum runs of a claim.
    pub(crate) fn most_at_once(&self) -> usize {
        match self.job.policies.misfire.mode {
            MisfireMode::RunAll => self.job.policies.misfire.limit.unwrap_or(10) as usize,
            _ => 1,
        }
    }
}

fn job(
    dice: &mut Dice,
    number: usize,
    (shape, jitter): (&ScheduleShape, Option<u32>),
    now: i64,
) -> Job {
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
    schedule["jitterMs"] = json!(jitter.filter(|_| !matches!(shape, ScheduleShape::After(_))));
    let document = json!({
        "id": job_id(number).as_str(),
        "name": "Job",
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo" },
        "deleteAfterRun": matches!(shape, ScheduleShape::Once(_)) && number.is_multiple_of(2),
        "policies": policies,
        "runtime": runtime,
    });
    job_from_json(document, UnixMs(now), chrono_tz::UTC).expect("a valid job")
}

/// Slots so soon after an unseen change of rules may have passed by the old rules.
pub(crate) const NOT_KNOWN: i64 = 3 * HOUR;

/// Maximum delay with which other rules repeat a time.
const RULES_APART: i64 = DAY;

/// None for a mark farther ahead, which a wrong clock has left.
fn near_mark(at: i64, now: i64) -> Option<i64> {
    (at <= now + 2 * RULES_APART).then_some(at)
}

/// As `near_mark`, for settled marks, which other rules have moved.
fn still_settled(at: i64, now: i64) -> Option<i64> {
    (at <= now + 3 * RULES_APART).then_some(at)
}

/// Lateness up to which a slot is on time.
pub(crate) const ON_TIME: i64 = MINUTE;
