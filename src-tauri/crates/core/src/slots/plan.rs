//! Which slot is next, and which never comes again, whatever is changed: the jitter, the rules of the zone, the clock, the
//! schedule, or whether the job is on.
//!
//! Owns the promise that a place on the grid, which is a slot without its jitter, is decided once. An instant cannot keep
//! it alone: the same place has another one by another jitter or by other rules. So a job remembers up to where its places
//! are decided, and whatever plans it begins behind that. One could get it wrong by planning from now: what is ahead by
//! the jitter of today may have fired by that of yesterday.

use super::{Grid, Slots};
use crate::UnixMs;
use crate::job::JobError;
use crate::json_fields::FieldError;
use crate::schedule::Zone;

/// How much later a clock may show a time again by other rules.
const RULES_APART_MS: i64 = 24 * 3_600_000;
/// How far ahead it may lie what holds still: beyond that a clock had been wrong, and nobody is to wait for it.
const HOLDS_MS: i64 = 2 * RULES_APART_MS;
/// The same of what stays decided over a clock that is set back: other rules put it so much farther away.
const SETTLES_MS: i64 = HOLDS_MS + RULES_APART_MS;

/// Up to where the places on a job's grid are decided. Nothing is known of a job that is new, or of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecidedSlots {
    /// The furthest at which this was so. When it is ahead, the clock was set back since: then slots come again, and those
    /// that have fired are known by their rows.
    pub until: Option<UnixMs>,
    /// Up to here they are not: by another jitter or other rules they would come at instants that have no row.
    pub settled_until: Option<UnixMs>,
}

impl DecidedSlots {
    /// The same for a job that goes by another schedule from now on, whose times are others.
    #[must_use]
    pub const fn of_another_schedule(self) -> Self {
        Self { settled_until: None, ..self }
    }

    /// Without what a wrong clock has left far ahead: it must not count again when its time comes near.
    fn held_at(self, now: UnixMs) -> Self {
        Self {
            until: self.until_at(now).map(UnixMs),
            settled_until: self.settled_at(now).map(UnixMs),
        }
    }

    fn until_at(self, now: UnixMs) -> Option<i64> {
        self.until.filter(|at| *at <= now.plus_ms(HOLDS_MS)).map(|at| at.0)
    }

    fn settled_at(self, now: UnixMs) -> Option<i64> {
        self.settled_until.filter(|at| *at <= now.plus_ms(SETTLES_MS)).map(|at| at.0)
    }

    /// Now also up to `place`.
    fn reaching(self, place: i64, now: UnixMs) -> Self {
        let held = self.held_at(now);
        Self { until: held.until.max(Some(UnixMs(place))), ..held }
    }

    /// What is decided stays so even when the clock is set back, as far ahead as anything does.
    fn settled(self, place: Option<i64>, now: UnixMs) -> Self {
        let held = self.held_at(now);
        let place = place.map(|place| UnixMs(place).min(now.plus_ms(SETTLES_MS)));
        Self { settled_until: held.settled_until.max(place), ..held }
    }

    /// The same where `place` is still to come. By rules that put it later, what stands before it reached farther.
    fn before(self, place: i64) -> Self {
        let cut = |at: Option<UnixMs>| at.map(|at| at.min(UnixMs(place - 1)));
        Self { until: cut(self.until), settled_until: cut(self.settled_until) }
    }
}

/// What is next, and what is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The next slot.
    pub next: Option<UnixMs>,
    /// Up to where those before it are decided.
    pub decided: DecidedSlots,
}

impl Slots {
    /// The plan of a job that is new, has another schedule or was switched on at `now`. What has come by then is over.
    ///
    /// # Errors
    /// It is a one-shot, and its slot has passed.
    pub fn first_plan(&self, decided: DecidedSlots, now: UnixMs) -> Result<Plan, JobError> {
        match (self.plan_after(decided, now), &self.grid) {
            (Plan { next: None, .. }, Grid::Once(_)) => Err(JobError(vec![FieldError {
                path: "schedule.atMs".to_owned(),
                message: "has passed: give it a time in the future".to_owned(),
            }])),
            (plan, _) => Ok(plan),
        }
    }

    /// The plan when everything that has come by `now` is decided.
    #[must_use]
    pub fn plan_after(&self, decided: DecidedSlots, now: UnixMs) -> Plan {
        let floor = self.floor(decided, now);
        let next = self.place_after(floor).map(|place| self.off_grid(place));
        Plan { next, decided: decided.reaching(floor, now) }
    }

    /// The plan when `slot`, which was next, and all that has come since by `now` is decided. A slot off the grid, which had
    /// kept its instant or come right after another one, would have another row if the clock were set back.
    #[must_use]
    pub fn plan_after_claim(&self, decided: DecidedSlots, slot: UnixMs, now: UnixMs) -> Plan {
        let off_grid = (!self.is_on_grid(slot)).then(|| self.on_grid(slot));
        self.plan_after(decided.settled(off_grid, now), now)
    }

    /// What is decided of a job that was removed and comes back, whose newest slot was `newest`, by this jitter or by another one.
    #[must_use]
    pub fn remembering(&self, newest: UnixMs) -> DecidedSlots {
        let until = if self.is_on_grid(newest) { self.on_grid(newest) } else { newest.0 };
        DecidedSlots { until: Some(UnixMs(until)), settled_until: None }
    }

    /// The plan when nothing but the jitter was changed at `now`; `old` are the slots before.
    ///
    /// What counts is the grid without the offset. What stands before the next slot there is decided and does not come
    /// again, wherever the new offset moves it. What stands there from that on is still to come: at its new instant, or,
    /// where that has passed, at its old one, which has not. So a change of the jitter loses nothing, doubles nothing and
    /// fires nothing. Where slots are closer together than the offsets, the first of them keeps its instant, and the others
    /// that the new offset puts before it are decided together with it (`Slots::passed`).
    #[must_use]
    pub fn plan_by_new_jitter(&self, old: &Self, plan: Plan, now: UnixMs) -> Plan {
        let decided = plan.decided.settled(plan.decided.until_at(now), now);
        let Some(next) = plan.next else { return Plan { next: None, decided } };
        let place = old.place_of(next, plan.decided);
        if decided.settled_at(now).is_some_and(|settled| place <= settled) {
            // The clock was set back, and it would only have come again.
            return self.plan_after(decided, now);
        }
        match self.off_grid(place) {
            moved if moved > now => Plan { next: Some(moved), decided },
            _ => Plan { next: Some(next), decided: decided.reaching(place - 1, now) },
        }
    }

    /// The plan when these slots take the place of `old`, those of the same job by the rules that its zone had until `now`.
    /// The next one lies before `now` only where the clock jumped over it, and then after every slot by the old rules:
    /// these have come, and an instant at which another time has fired would be taken for that one.
    #[must_use]
    pub fn plan_by_new_rules(&self, old: &Self, plan: Plan, now: UnixMs) -> Plan {
        let (Grid::Cron { pattern, zone }, Grid::Cron { zone: before, .. }) =
            (&self.grid, &old.grid)
        else {
            return self.nearer_plan(plan, now);
        };
        if zone == before || self.agrees_around(*before, *zone, plan, now) {
            return self.nearer_plan(plan, now);
        }
        let kept = old.kept_place(plan, now);
        let decided = plan.decided.settled(plan.decided.until_at(now), now);
        let shown = kept.map_or_else(|| old.floor(decided, now), |kept| kept - 1);
        let Some(place) = pattern.next_by_new_rules(*before, *zone, shown) else {
            return Plan { next: None, ..plan };
        };
        let at = self.on_grid(now);
        if kept.is_some() && place <= at {
            let decided = DecidedSlots { until: Some(UnixMs(place - 1)), ..plan.decided };
            return Plan { decided, ..plan };
        }
        let has_come = if place <= at { pattern.last_until(*before, at) } else { None };
        let place = has_come.map_or(place, |last| place.max(last + 1));
        let shown_again = (place - 1).min(shown.max(now.0).saturating_add(RULES_APART_MS));
        let decided = plan.decided.reaching(shown_again, now).settled(Some(shown_again), now);
        Plan { next: Some(self.off_grid(place)), decided: decided.before(place) }
    }

    /// Whether the rules are the same for all that a plan is made of: from what is decided, or what a clock set back may show
    /// again, until after what is next. Then there is nothing to plan anew, nor to write.
    fn agrees_around(&self, before: Zone, after: Zone, plan: Plan, now: UnixMs) -> bool {
        let DecidedSlots { until, settled_until } = plan.decided.held_at(now);
        let now = self.on_grid(now);
        let decided = [until, settled_until].into_iter().flatten().map(|at| at.0);
        let next = plan.next.map(|next| self.on_grid(next));
        let marks = || decided.clone().chain(next).chain([now]);
        let first = marks().fold(now - SETTLES_MS, i64::min);
        let last = marks().fold(now, i64::max);
        after.shows_the_same_as(before, first - RULES_APART_MS, last + RULES_APART_MS)
    }

    /// The plan when the clock may have been set back: a next slot that is farther away than need be is taken nearer.
    #[must_use]
    pub fn nearer_plan(&self, plan: Plan, now: UnixMs) -> Plan {
        let plan = Plan { decided: plan.decided.held_at(now), ..plan };
        let nearer = self.plan_after(plan.decided, now);
        let is_nearer = nearer.next.is_some() && nearer.next < plan.next;
        if is_nearer && self.kept_place(plan, now).is_none() { nearer } else { plan }
    }

    /// Whether a slot has its place on this grid, also one that nobody would plan any more.
    fn is_on_grid(&self, slot: UnixMs) -> bool {
        let place = self.on_grid(slot);
        self.place_after(place - 1) == Some(place)
    }

    /// Up to where nothing is planned at `now`.
    fn floor(&self, decided: DecidedSlots, now: UnixMs) -> i64 {
        let until = decided.until.filter(|until| *until <= now).map(|until| until.0);
        let come = self.come_by(now);
        [until, decided.settled_at(now)].into_iter().flatten().fold(come, i64::max)
    }

    /// Where the next slot stands on the grid. One that kept its instant over a change lies behind its place, and others
    /// may lie between.
    fn place_of(&self, next: UnixMs, decided: DecidedSlots) -> i64 {
        let nearest = self.place_at(self.on_grid(next));
        let first = decided.until.and_then(|until| self.place_after(until.0));
        first.map_or(nearest, |first| first.min(nearest))
    }

    /// The place of a next slot that is ahead only because it kept its instant.
    fn kept_place(&self, plan: Plan, now: UnixMs) -> Option<i64> {
        let (next, until) = (plan.next?, plan.decided.until.filter(|until| *until <= now)?);
        let place = self.place_after(until.0)?;
        (next > now && self.off_grid(place) <= now).then_some(place)
    }

    /// How many places a slot stands for that keeps its instant: itself, and those that the new offset puts before it.
    pub(super) fn stands_for(&self, slot: UnixMs, decided: DecidedSlots) -> u32 {
        let at = self.on_grid(slot);
        let place = decided.until.and_then(|until| self.place_after(until.0));
        let others = match place.filter(|place| *place < at) {
            Some(place) => self.count_between(place, at),
            None => 0,
        };
        others.saturating_add(1)
    }

    /// The newest place on the grid at `at` or before.
    fn place_at(&self, at: i64) -> i64 {
        let place = match &self.grid {
            Grid::Once(once) => Some(once.0),
            Grid::Every { anchor, every_ms, .. } => {
                let every_ms = (*every_ms).max(1);
                Some(at - (at - anchor.0).rem_euclid(every_ms))
            }
            Grid::Cron { pattern, zone } => pattern.last_until(*zone, at),
            Grid::Never => None,
        };
        place.unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::JobId;
    use crate::job::{Schedule, ScheduleSpec};

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
    fn the_slot_of_a_one_shot_is_what_has_passed() {
        let slots = slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, 30_000);
        let first = |slots: &Slots, decided, now| {
            slots.first_plan(decided, UnixMs(now)).map(|plan| plan.next)
        };
        let new = DecidedSlots::default();
        assert_eq!(first(&slots, new, 8_605), Ok(Some(UnixMs(8_606))));
        for (decided, now) in [(new, 8_606), (until(5_000), 8_605)] {
            let refused = first(&slots, decided, now).expect_err("it has passed");
            let words = "schedule.atMs: has passed: give it a time in the future";
            assert_eq!(refused.to_string(), words);
        }
        assert_eq!(first(&slots_of(ScheduleSpec::Manual, 0), new, 0), Ok(None));
    }

    #[test]
    fn another_jitter_loses_nothing_doubles_nothing_and_fires_nothing() {
        // Of 30 s the offset is 3.606 s, of 7 s it is 5.606 s.
        const LATE: u32 = 7_000;
        const EARLY: u32 = 30_000;
        let minute = NEW_YEAR + MINUTE;
        let table = [
            // (jitter before and after, next slot before, now) → next slot, all since the minute on the grid
            // Not decided, and ahead by both.
            ((EARLY, LATE, 3_606, -5_000), 5_606),
            ((LATE, EARLY, 5_606, -5_000), 3_606),
            ((LATE, 0, 5_606, -5_000), 0),
            ((0, LATE, 0, -1), 5_606),
            // Not decided, and by the new one it has passed: it keeps its instant, to the millisecond.
            ((LATE, EARLY, 5_606, 3_605), 3_606),
            ((LATE, EARLY, 5_606, 3_606), 5_606),
            ((LATE, 0, 5_606, 5_605), 5_606),
            ((LATE, 0, 5_606, 0), 5_606),
            // DecidedSlots, and by the new one it would come again: the next one is that of the minute after.
            ((0, LATE, 60_000, 2_000), 65_606),
            ((EARLY, LATE, 63_606, 3_606), 65_606),
            // And if the jitter goes back meanwhile.
            ((LATE, 0, 65_606, 3_000), 60_000),
            // A slot that has kept its instant once is moved from its place.
            ((0, LATE, 5_606, 1_000), 5_606),
            ((0, EARLY, 5_606, 1_000), 3_606),
        ];
        for ((before, after, next, now), expected) in table {
            let (next, now) = (UnixMs(minute + next), UnixMs(minute + now));
            let plan = Plan { next: Some(next), decided: DecidedSlots::default() };
            let plan = minutes(after).plan_by_new_jitter(&minutes(before), plan, now);
            let found = plan.next.expect("a slot");
            assert_eq!(found.0 - minute, expected, "{before} → {after}, {next:?} at {now:?}");
            // What follows is the next one on the grid, once.
            let follows = minutes(after).next_after(found).expect("a slot");
            let on_grid = |at: UnixMs| minutes(after).on_grid(at).div_euclid(MINUTE);
            assert_eq!(on_grid(follows), on_grid(found) + 1, "{before} → {after}");
        }
        let once = |jitter| slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, jitter);
        let plan = Plan { next: Some(UnixMs(8_606)), decided: DecidedSlots::default() };
        let moved = once(0).plan_by_new_jitter(&once(EARLY), plan, UnixMs(6_000));
        assert_eq!(moved.next, Some(UnixMs(8_606)));
    }

    #[test]
    fn places_closer_together_than_their_offsets_are_decided_with_the_one_that_keeps_its_instant() {
        // Of 600 s the offset is more than two minutes.
        let (late, early) = (minutes(600_000), minutes(0));
        let offset = late.offset_ms;
        let [whole, rest] = [offset / MINUTE, offset % MINUTE];
        assert!(whole > 2 && rest > 2, "{offset}");
        let place = NEW_YEAR;
        let kept = UnixMs(place + offset);
        let plan = Plan { next: Some(kept), decided: until(place - MINUTE) };
        let plan = early.plan_by_new_jitter(&late, plan, kept.plus_ms(-1));
        assert_eq!(plan.next, Some(kept));
        let passed = early.passed(kept, plan.decided, kept, 3);
        assert_eq!(i64::from(passed.count), whole + 1);
        assert_eq!(passed.newest, [kept]);
        // It keeps its instant over a look at the clock, and what it stands for over another jitter.
        assert_eq!(early.nearer_plan(plan, kept.plus_ms(-1)), plan);
        let again = late.plan_by_new_jitter(&early, plan, kept.plus_ms(-1));
        assert_eq!(again.next, Some(kept));
        assert_eq!(late.passed(kept, again.decided, kept, 3).count, 1);
        let after = early.plan_after(plan.decided, kept);
        assert_eq!(after.next, Some(UnixMs(place + (whole + 1) * MINUTE)));
    }

    #[test]
    fn what_is_decided_is_not_planned_unless_the_clock_was_set_back() {
        let (now, hour) = (UnixMs(NEW_YEAR), 60 * MINUTE);
        let at = |minute: i64| Some(UnixMs(NEW_YEAR + minute * MINUTE));
        let slots = minutes(0);
        let next = |until: Option<UnixMs>, settled_until: Option<UnixMs>| {
            slots.plan_after(DecidedSlots { until, settled_until }, now).next
        };
        assert_eq!(next(None, None), at(1));
        assert_eq!(next(at(0), None), at(1));
        // Ahead: the clock was set back. What fired is known by its rows, but for what is settled.
        assert_eq!(next(at(10), None), at(1));
        assert_eq!(next(at(10), at(5)), at(6));
        // Far ahead: a clock was wrong.
        assert_eq!(next(at(60 * 73), at(60 * 73)), at(1));
        let wrong = DecidedSlots { until: at(60 * 49), settled_until: None };
        assert_eq!(slots.plan_after(wrong, now).decided.until, at(0));
        let nearby = DecidedSlots { until: at(60), settled_until: None };
        assert_eq!(slots.plan_after(nearby, now).decided.until, at(60));
        // Another jitter settles it.
        let plan = Plan { next: at(1), decided: nearby };
        let plan = slots.plan_by_new_jitter(&slots, plan, now);
        assert_eq!(plan.next, Some(UnixMs(NEW_YEAR + hour + MINUTE)));
        assert_eq!(plan.decided.of_another_schedule(), nearby);
    }

    #[test]
    fn the_place_of_the_anchor_is_on_the_grid_also_when_a_whole_interval_is_waited_for() {
        let hour = 60 * MINUTE;
        let spec = ScheduleSpec::Every { every_ms: hour, anchor: UnixMs(NEW_YEAR) };
        let slots = slots_of(spec, 600_000);
        assert!(slots.offset_ms > 0);
        // The clock had been set back behind the anchor.
        let slot = UnixMs(NEW_YEAR + slots.offset_ms);
        let plan = slots.plan_after_claim(until(NEW_YEAR), slot, slot);
        assert_eq!(plan.next, Some(slot.plus_ms(hour)));
        assert_eq!(plan.decided, until(NEW_YEAR));
        assert_eq!(slots.remembering(slot), until(NEW_YEAR));
    }

    /// Daily at nine in one time zone after the other, as if the rules of one had changed.
    fn daily(tz: &str) -> Slots {
        let spec = ScheduleSpec::Cron { expr: "0 9 * * *".to_owned(), tz: "UTC".to_owned() };
        let mut slots = slots_of(spec, 0);
        if let Grid::Cron { zone, .. } = &mut slots.grid {
            *zone = crate::schedule::Zones::built_in(chrono_tz::UTC).zone(tz).expect("a zone");
        }
        slots
    }

    #[test]
    fn what_the_clock_has_not_shown_stays_to_come_however_often_the_rules_change() {
        let [first, second, third] = ["UTC", "Etc/GMT+1", "Etc/GMT+2"].map(daily);
        let nine = NEW_YEAR + 9 * 60 * MINUTE;
        let now = UnixMs(nine - 30 * MINUTE);
        let plan = Plan { next: Some(UnixMs(nine)), decided: until(NEW_YEAR) };
        let there = second.plan_by_new_rules(&first, plan, now);
        let back = first.plan_by_new_rules(&second, there, now);
        assert_eq!(back.next, Some(UnixMs(nine)));
        // Switched off and on, or by other rules again.
        assert_eq!(first.plan_after(back.decided, now).next, Some(UnixMs(nine)), "{back:?}");
        let again = third.plan_by_new_rules(&first, back, now);
        assert_eq!(again.next, Some(UnixMs(nine + 2 * 60 * MINUTE)), "{back:?}");
    }

    #[test]
    fn what_the_clock_has_shown_is_not_planned_again_however_often_the_rules_change() {
        let [first, second, third] = ["UTC", "Etc/GMT+1", "Etc/GMT+2"].map(daily);
        let fired = UnixMs(NEW_YEAR + 9 * 60 * MINUTE);
        // It had fired on the third day, and the clock was set back by nearly two.
        let day = 24 * 60 * MINUTE;
        let newest = fired.plus_ms(2 * day);
        let now = newest.plus_ms(60 * MINUTE - HOLDS_MS);
        let plan = Plan { next: Some(newest.plus_ms(day)), decided: until(newest.0) };
        let plan = second.plan_by_new_rules(&first, plan, now);
        let plan = third.plan_by_new_rules(&second, plan, now);
        let plan = third.nearer_plan(plan, now);
        let expected = newest.plus_ms(day + 2 * 60 * MINUTE);
        assert_eq!(plan.next, Some(expected), "{plan:?}");
    }

    #[test]
    fn rules_that_agree_where_a_plan_is_made_write_nothing() {
        let [utc, london, paris] = ["UTC", "Europe/London", "Europe/Paris"].map(daily);
        let day = 24 * 60 * MINUTE;
        let nine = |days: i64| UnixMs(NEW_YEAR + days * day + 9 * 60 * MINUTE);
        let now = UnixMs(NEW_YEAR);
        let winter = Plan { next: Some(nine(0)), decided: until(NEW_YEAR - MINUTE) };
        assert_eq!(london.plan_by_new_rules(&utc, winter, now), winter);
        // In what is decided lies a summer, whose slots have come at other instants.
        let settled_until = Some(UnixMs(NEW_YEAR - 100 * day));
        let summer = Plan { decided: DecidedSlots { settled_until, ..winter.decided }, ..winter };
        let planned = london.plan_by_new_rules(&utc, summer, now);
        assert_eq!(planned.next, summer.next);
        assert!(planned.decided.until > summer.decided.until, "{planned:?}");
        // Before what is next lies the spring.
        let far = Plan { next: Some(nine(120)), ..winter };
        assert_eq!(london.plan_by_new_rules(&utc, far, now).next, Some(nine(0)));
        assert_eq!(
            paris.plan_by_new_rules(&utc, winter, now).next,
            Some(nine(0).plus_ms(-60 * MINUTE))
        );
    }

    #[test]
    fn a_job_that_comes_back_remembers_its_newest_slot_by_whatever_jitter() {
        let slots = minutes(30_000);
        let slot = UnixMs(NEW_YEAR + 3_606);
        assert_eq!(slots.remembering(slot), until(NEW_YEAR));
        assert_eq!(minutes(0).remembering(slot), until(slot.0));
    }
}
