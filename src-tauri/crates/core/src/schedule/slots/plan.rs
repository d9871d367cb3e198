//! The next slot of a job, and the slots that never fire again after any change: jitter, zone rules, clock, schedule,
//! enabled state.
//!
//! Owns the invariant that each grid slot is decided once. An instant cannot express that: the same grid slot has
//! another instant with other jitter or other rules. So a job stores the last decided grid slot, and every plan begins
//! behind that slot.
//! Pitfall: planning from now; a slot ahead by today's jitter may have fired by yesterday's.

use super::decided_slots::{DecidedSlots, MAX_SETTLED_AHEAD_MS, RULES_APART_MS};
use super::{Grid, Slots};
use crate::UnixMs;
use crate::json_fields::FieldError;
use crate::schedule::Zone;

/// The next slot, and the decided slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The next slot.
    pub next: Option<UnixMs>,
    /// The decided slots before the next slot.
    pub decided: DecidedSlots,
}

impl Slots {
    /// The plan of a job that is new, rescheduled or enabled at `now`. Slots up to `now` are over.
    ///
    /// # Errors
    /// The slot of a one-shot has passed.
    pub fn first_plan(&self, decided: DecidedSlots, now: UnixMs) -> Result<Plan, FieldError> {
        match (self.plan_after(decided, now), &self.grid) {
            (Plan { next: None, .. }, Grid::Once(_)) => Err(FieldError {
                path: "schedule.atMs".to_owned(),
                message: "has passed: choose a time in the future".to_owned(),
            }),
            (plan, _) => Ok(plan),
        }
    }

    /// The plan when all slots up to `now` are decided.
    #[must_use]
    pub fn plan_after(&self, decided: DecidedSlots, now: UnixMs) -> Plan {
        let floor = self.floor(decided, now);
        let next = self.grid_slot_after(floor).map(|slot| self.off_grid(slot));
        Plan { next, decided: decided.decided_until(floor, now) }
    }

    /// The plan after `slot`, which was next, and all slots since up to `now` were claimed. A slot off the grid (held
    /// at its instant) is settled, because after a clock rollback such a slot would get another row.
    #[must_use]
    pub fn plan_after_claim(&self, decided: DecidedSlots, slot: UnixMs, now: UnixMs) -> Plan {
        let off_grid = (!self.is_on_grid(slot)).then(|| self.to_grid(slot));
        self.plan_after(decided.settled(off_grid, now), now)
    }

    /// The decided slots of a restored job with the newest slot `newest`, by this jitter or another.
    #[must_use]
    pub fn decided_by_newest(&self, newest: UnixMs) -> DecidedSlots {
        let until = if self.is_on_grid(newest) { self.to_grid(newest) } else { newest.0 };
        DecidedSlots { until: Some(UnixMs(until)), settled_until: None }
    }

    /// The plan after a change of jitter alone at `now`; `old` are the slots before.
    ///
    /// The grid without offset counts. Grid slots before the next slot are decided and do not recur at any new offset.
    /// Later slots are still to come: at the new instant, or, if that has passed, at the old instant. So a change of
    /// jitter loses, doubles and fires nothing. With slots closer than the offsets, the first is held at its instant,
    /// and the slots that the new offset moves before that instant are decided at the same time ([`Slots::passed`]).
    #[must_use]
    pub fn plan_by_new_jitter(&self, old: &Self, plan: Plan, now: UnixMs) -> Plan {
        let decided = plan.decided.settled(plan.decided.until_at(now), now);
        let Some(next) = plan.next else { return Plan { next: None, decided } };
        let slot = old.grid_slot_of(next, plan.decided);
        if decided.settled_at(now).is_some_and(|settled| slot <= settled) {
            // After a clock rollback the slot would only recur.
            return self.plan_after(decided, now);
        }
        match self.off_grid(slot) {
            moved if moved > now => Plan { next: Some(moved), decided },
            _ => Plan { next: Some(next), decided: decided.decided_until(slot - 1, now) },
        }
    }

    /// The plan when these slots replace `old`, the slots of the same job by the zone's rules until `now`. The next
    /// slot lies before `now` only if the clock jumped over the slot, and then after every slot by the old rules: old
    /// slots have fired, and an instant that fired must not be taken for another slot.
    #[must_use]
    pub fn plan_by_new_rules(&self, old: &Self, plan: Plan, now: UnixMs) -> Plan {
        let (Grid::Cron { pattern, zone }, Grid::Cron { zone: before, .. }) =
            (&self.grid, &old.grid)
        else {
            return self.plan_after_clock_rollback(plan, now);
        };
        if zone == before || self.is_unaffected_by_rules(*before, *zone, plan, now) {
            return self.plan_after_clock_rollback(plan, now);
        }
        let kept = old.held_grid_slot(plan, now);
        let decided = plan.decided.settled(plan.decided.until_at(now), now);
        let shown = kept.map_or_else(|| old.floor(decided, now), |kept| kept - 1);
        let Some(slot) = pattern.next_by_new_rules(*before, *zone, shown) else {
            return Plan { next: None, ..plan };
        };
        let at = self.to_grid(now);
        if kept.is_some() && slot <= at {
            let decided = DecidedSlots { until: Some(UnixMs(slot - 1)), ..plan.decided };
            return Plan { decided, ..plan };
        }
        let has_come = if slot <= at { pattern.last_until(*before, at) } else { None };
        let slot = has_come.map_or(slot, |last| slot.max(last + 1));
        let shown_again = (slot - 1).min(shown.max(now.0).saturating_add(RULES_APART_MS));
        let decided = plan.decided.decided_until(shown_again, now).settled(Some(shown_again), now);
        Plan { next: Some(self.off_grid(slot)), decided: decided.reopened_from(slot) }
    }

    /// Whether old and new rules agree on everything that the plan depends on, from the decided slots (or a clock rollback)
    /// to the next slot. Then there is nothing to plan or write.
    fn is_unaffected_by_rules(&self, before: Zone, after: Zone, plan: Plan, now: UnixMs) -> bool {
        let DecidedSlots { until, settled_until } = plan.decided.held_at(now);
        let now = self.to_grid(now);
        let decided = [until, settled_until].into_iter().flatten().map(|at| at.0);
        let next = plan.next.map(|next| self.to_grid(next));
        let marks = || decided.clone().chain(next).chain([now]);
        let first = marks().fold(now - MAX_SETTLED_AHEAD_MS, i64::min);
        let last = marks().fold(now, i64::max);
        after.agrees_with(before, first - RULES_APART_MS, last + RULES_APART_MS)
    }

    /// The plan after a possible clock rollback: a nearer slot replaces a next slot that is too far ahead.
    #[must_use]
    pub fn plan_after_clock_rollback(&self, plan: Plan, now: UnixMs) -> Plan {
        let plan = Plan { decided: plan.decided.held_at(now), ..plan };
        let nearer = self.plan_after(plan.decided, now);
        let is_nearer = nearer.next.is_some() && nearer.next < plan.next;
        if is_nearer && self.held_grid_slot(plan, now).is_none() { nearer } else { plan }
    }

    /// Whether a slot lies on this grid, decided or not.
    fn is_on_grid(&self, slot: UnixMs) -> bool {
        let slot = self.to_grid(slot);
        self.grid_slot_after(slot - 1) == Some(slot)
    }

    /// The grid instant up to which nothing is planned at `now`.
    fn floor(&self, decided: DecidedSlots, now: UnixMs) -> i64 {
        let until = decided.until.filter(|until| *until <= now).map(|until| until.0);
        let come = self.reached_at(now);
        [until, decided.settled_at(now)].into_iter().flatten().fold(come, i64::max)
    }

    /// The grid slot of the next slot. A slot held over a change lies behind its grid slot, perhaps with others in between.
    fn grid_slot_of(&self, next: UnixMs, decided: DecidedSlots) -> i64 {
        let nearest = self.grid_slot_at(self.to_grid(next));
        let first = decided.until.and_then(|until| self.grid_slot_after(until.0));
        first.map_or(nearest, |first| first.min(nearest))
    }

    /// The grid slot of a next slot that is ahead only because the slot was held.
    fn held_grid_slot(&self, plan: Plan, now: UnixMs) -> Option<i64> {
        let (next, until) = (plan.next?, plan.decided.until.filter(|until| *until <= now)?);
        let slot = self.grid_slot_after(until.0)?;
        (next > now && self.off_grid(slot) <= now).then_some(slot)
    }

    /// The number of grid slots of a held slot: the slot itself, and slots that the new offset moves before it.
    pub(super) fn slot_count(&self, slot: UnixMs, decided: DecidedSlots) -> u32 {
        let at = self.to_grid(slot);
        let slot = decided.until.and_then(|until| self.grid_slot_after(until.0));
        let others = match slot.filter(|slot| *slot < at) {
            Some(slot) => self.count_between(slot, at),
            None => 0,
        };
        others.saturating_add(1)
    }

    /// The newest grid slot at or before `at`.
    fn grid_slot_at(&self, at: i64) -> i64 {
        let slot = match &self.grid {
            Grid::Once(once) => Some(once.0),
            Grid::Every { anchor, every_ms, .. } => {
                let every_ms = (*every_ms).max(1);
                Some(at - (at - anchor.0).rem_euclid(every_ms))
            }
            Grid::Cron { pattern, zone } => pattern.last_until(*zone, at),
            Grid::Never => None,
        };
        slot.unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::JobId;
    use crate::job::{Schedule, ScheduleSpec};
    use crate::schedule::slots::decided_slots::MAX_HELD_AHEAD_MS;

    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_767_225_600_000;
    const MINUTE: i64 = 60_000;

    fn slots_of(spec: ScheduleSpec, jitter_ms: u32) -> Slots {
        let schedule = Schedule { spec, jitter_ms: Some(jitter_ms), extra: Map::new() };
        Slots::compile(&schedule, &JobId::new("job-1"), &chrono_tz::UTC.into()).expect("compiles")
    }

    fn minutes(jitter_ms: u32) -> Slots {
        let spec = ScheduleSpec::Cron { expr: "* * * * *".to_owned(), tz: "UTC".to_owned() };
        slots_of(spec, jitter_ms)
    }

    fn until(at: i64) -> DecidedSlots {
        DecidedSlots { until: Some(UnixMs(at)), settled_until: None }
    }

    #[test]
    fn passed_one_shot_has_no_plan() {
        let slots = slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, 30_000);
        let first = |slots: &Slots, decided, now| {
            slots.first_plan(decided, UnixMs(now)).map(|plan| plan.next)
        };
        let new = DecidedSlots::default();
        assert_eq!(first(&slots, new, 8_605), Ok(Some(UnixMs(8_606))));
        for (decided, now) in [(new, 8_606), (until(5_000), 8_605)] {
            let refused = first(&slots, decided, now).expect_err("passed");
            let words = "schedule.atMs: has passed: choose a time in the future";
            assert_eq!(refused.to_string(), words);
        }
        assert_eq!(first(&slots_of(ScheduleSpec::Manual, 0), new, 0), Ok(None));
    }

    #[test]
    fn new_jitter_loses_doubles_and_fires_nothing() {
        // The offset is 3.606 s of 30 s and 5.606 s of 7 s.
        const LATE: u32 = 7_000;
        const EARLY: u32 = 30_000;
        let minute = NEW_YEAR + MINUTE;
        let table = [
            // (old and new jitter, next slot before, now) → next slot, relative to the minute on the grid
            // Undecided, ahead by both.
            ((EARLY, LATE, 3_606, -5_000), 5_606),
            ((LATE, EARLY, 5_606, -5_000), 3_606),
            ((LATE, 0, 5_606, -5_000), 0),
            ((0, LATE, 0, -1), 5_606),
            // Undecided, passed by the new jitter: held at its instant, to the millisecond.
            ((LATE, EARLY, 5_606, 3_605), 3_606),
            ((LATE, EARLY, 5_606, 3_606), 5_606),
            ((LATE, 0, 5_606, 5_605), 5_606),
            ((LATE, 0, 5_606, 0), 5_606),
            // Decided, would recur by the new jitter: the slot of the next minute.
            ((0, LATE, 60_000, 2_000), 65_606),
            ((EARLY, LATE, 63_606, 3_606), 65_606),
            // The same with the jitter changed back.
            ((LATE, 0, 65_606, 3_000), 60_000),
            // A slot held once before moves from the grid slot.
            ((0, LATE, 5_606, 1_000), 5_606),
            ((0, EARLY, 5_606, 1_000), 3_606),
        ];
        for ((before, after, next, now), expected) in table {
            let (next, now) = (UnixMs(minute + next), UnixMs(minute + now));
            let plan = Plan { next: Some(next), decided: DecidedSlots::default() };
            let plan = minutes(after).plan_by_new_jitter(&minutes(before), plan, now);
            let found = plan.next.expect("a slot");
            assert_eq!(found.0 - minute, expected, "{before} → {after}, {next:?} at {now:?}");
            // The following slot is the next grid slot, once.
            let follows = minutes(after).next_after(found).expect("a slot");
            let to_grid = |at: UnixMs| minutes(after).to_grid(at).div_euclid(MINUTE);
            assert_eq!(to_grid(follows), to_grid(found) + 1, "{before} → {after}");
        }
        let once = |jitter| slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, jitter);
        let plan = Plan { next: Some(UnixMs(8_606)), decided: DecidedSlots::default() };
        let moved = once(0).plan_by_new_jitter(&once(EARLY), plan, UnixMs(6_000));
        assert_eq!(moved.next, Some(UnixMs(8_606)));
    }

    #[test]
    fn held_slot_decides_closer_slots_with_it() {
        // The offset of 600 s is over two minutes.
        let (late, early) = (minutes(600_000), minutes(0));
        let offset = late.offset_ms;
        let [whole, rest] = [offset / MINUTE, offset % MINUTE];
        assert!(whole > 2 && rest > 2, "{offset}");
        let slot = NEW_YEAR;
        let kept = UnixMs(slot + offset);
        let plan = Plan { next: Some(kept), decided: until(slot - MINUTE) };
        let plan = early.plan_by_new_jitter(&late, plan, kept.plus_ms(-1));
        assert_eq!(plan.next, Some(kept));
        let passed = early.passed(kept, plan.decided, kept, 3);
        assert_eq!(i64::from(passed.count), whole + 1);
        assert_eq!(passed.newest, [kept]);
        // The slot stays held over a clock check, with the count over another jitter.
        assert_eq!(early.plan_after_clock_rollback(plan, kept.plus_ms(-1)), plan);
        let again = late.plan_by_new_jitter(&early, plan, kept.plus_ms(-1));
        assert_eq!(again.next, Some(kept));
        assert_eq!(late.passed(kept, again.decided, kept, 3).count, 1);
        let after = early.plan_after(plan.decided, kept);
        assert_eq!(after.next, Some(UnixMs(slot + (whole + 1) * MINUTE)));
    }

    #[test]
    fn decided_slot_recurs_only_after_clock_rollback() {
        let (now, hour) = (UnixMs(NEW_YEAR), 60 * MINUTE);
        let at = |minute: i64| Some(UnixMs(NEW_YEAR + minute * MINUTE));
        let slots = minutes(0);
        let next = |until: Option<UnixMs>, settled_until: Option<UnixMs>| {
            slots.plan_after(DecidedSlots { until, settled_until }, now).next
        };
        assert_eq!(next(None, None), at(1));
        assert_eq!(next(at(0), None), at(1));
        // Ahead by a clock rollback: fired slots are known by their rows, settled slots by the mark.
        assert_eq!(next(at(10), None), at(1));
        assert_eq!(next(at(10), at(5)), at(6));
        // Far ahead by a wrong clock.
        assert_eq!(next(at(60 * 73), at(60 * 73)), at(1));
        let wrong = DecidedSlots { until: at(60 * 49), settled_until: None };
        assert_eq!(slots.plan_after(wrong, now).decided.until, at(0));
        let nearby = DecidedSlots { until: at(60), settled_until: None };
        assert_eq!(slots.plan_after(nearby, now).decided.until, at(60));
        // A change of jitter settles the slot.
        let plan = Plan { next: at(1), decided: nearby };
        let plan = slots.plan_by_new_jitter(&slots, plan, now);
        assert_eq!(plan.next, Some(UnixMs(NEW_YEAR + hour + MINUTE)));
        assert_eq!(plan.decided.for_new_schedule(), nearby);
    }

    #[test]
    fn anchor_is_on_the_grid() {
        let hour = 60 * MINUTE;
        let spec = ScheduleSpec::Every { every_ms: hour, anchor: UnixMs(NEW_YEAR) };
        let slots = slots_of(spec, 600_000);
        assert!(slots.offset_ms > 0);
        // After a clock rollback behind the anchor.
        let slot = UnixMs(NEW_YEAR + slots.offset_ms);
        let plan = slots.plan_after_claim(until(NEW_YEAR), slot, slot);
        assert_eq!(plan.next, Some(slot.plus_ms(hour)));
        assert_eq!(plan.decided, until(NEW_YEAR));
        assert_eq!(slots.decided_by_newest(slot), until(NEW_YEAR));
    }

    /// Daily at nine in a sequence of zones, as if the rules of a zone changed.
    fn daily(tz: &str) -> Slots {
        let spec = ScheduleSpec::Cron { expr: "0 9 * * *".to_owned(), tz: "UTC".to_owned() };
        let mut slots = slots_of(spec, 0);
        if let Grid::Cron { zone, .. } = &mut slots.grid {
            *zone = crate::schedule::Zones::built_in(chrono_tz::UTC).zone(tz).expect("a zone");
        }
        slots
    }

    #[test]
    fn unseen_slot_survives_repeated_rule_changes() {
        let [first, second, third] = ["UTC", "Etc/GMT+1", "Etc/GMT+2"].map(daily);
        let nine = NEW_YEAR + 9 * 60 * MINUTE;
        let now = UnixMs(nine - 30 * MINUTE);
        let plan = Plan { next: Some(UnixMs(nine)), decided: until(NEW_YEAR) };
        let there = second.plan_by_new_rules(&first, plan, now);
        let back = first.plan_by_new_rules(&second, there, now);
        assert_eq!(back.next, Some(UnixMs(nine)));
        // Disabled and enabled, or changed rules again.
        assert_eq!(first.plan_after(back.decided, now).next, Some(UnixMs(nine)), "{back:?}");
        let again = third.plan_by_new_rules(&first, back, now);
        assert_eq!(again.next, Some(UnixMs(nine + 2 * 60 * MINUTE)), "{back:?}");
    }

    #[test]
    fn seen_slot_is_not_repeated_by_rule_changes() {
        let [first, second, third] = ["UTC", "Etc/GMT+1", "Etc/GMT+2"].map(daily);
        let fired = UnixMs(NEW_YEAR + 9 * 60 * MINUTE);
        // Fired on the third day, then a clock rollback by nearly two days.
        let day = 24 * 60 * MINUTE;
        let newest = fired.plus_ms(2 * day);
        let now = newest.plus_ms(60 * MINUTE - MAX_HELD_AHEAD_MS);
        let plan = Plan { next: Some(newest.plus_ms(day)), decided: until(newest.0) };
        let plan = second.plan_by_new_rules(&first, plan, now);
        let plan = third.plan_by_new_rules(&second, plan, now);
        let plan = third.plan_after_clock_rollback(plan, now);
        let expected = newest.plus_ms(day + 2 * 60 * MINUTE);
        assert_eq!(plan.next, Some(expected), "{plan:?}");
    }

    #[test]
    fn agreeing_rules_leave_the_plan_unchanged() {
        let [utc, london, paris] = ["UTC", "Europe/London", "Europe/Paris"].map(daily);
        let day = 24 * 60 * MINUTE;
        let nine = |days: i64| UnixMs(NEW_YEAR + days * day + 9 * 60 * MINUTE);
        let now = UnixMs(NEW_YEAR);
        let winter = Plan { next: Some(nine(0)), decided: until(NEW_YEAR - MINUTE) };
        assert_eq!(london.plan_by_new_rules(&utc, winter, now), winter);
        // The decided span holds a summer, with other instants.
        let settled_until = Some(UnixMs(NEW_YEAR - 100 * day));
        let summer = Plan { decided: DecidedSlots { settled_until, ..winter.decided }, ..winter };
        let planned = london.plan_by_new_rules(&utc, summer, now);
        assert_eq!(planned.next, summer.next);
        assert!(planned.decided.until > summer.decided.until, "{planned:?}");
        // Before the next slot lies the spring.
        let far = Plan { next: Some(nine(120)), ..winter };
        assert_eq!(london.plan_by_new_rules(&utc, far, now).next, Some(nine(0)));
        assert_eq!(
            paris.plan_by_new_rules(&utc, winter, now).next,
            Some(nine(0).plus_ms(-60 * MINUTE))
        );
    }

    #[test]
    fn restored_job_remembers_its_newest_slot() {
        let slots = minutes(30_000);
        let slot = UnixMs(NEW_YEAR + 3_606);
        assert_eq!(slots.decided_by_newest(slot), until(NEW_YEAR));
        assert_eq!(minutes(0).decided_by_newest(slot), until(slot.0));
    }
}
