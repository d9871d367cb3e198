//! The events of clock and jobs in order, and the slots that must have rows.
//!
//! A slot is required if an engine saw the clock pass that instant for the first time while the job existed, enabled,
//! with that schedule. Slots are counted by number, of the grid or of the day, so that 400 days of minutes cost
//! nothing.
//! Pitfall: do not require slots that the clock shows again after a rollback; those have rows.

use rouse_core::{JobId, Run};

use crate::rules::ZoneRelease;
use crate::world::shape::{DAY, HOUR, ScheduleShape};

/// Maximum distance between the times of two rules.
const APART: i64 = 4 * HOUR;

/// An event of the timeline.
#[derive(Debug, Clone)]
pub(super) enum TimelineEvent {
    /// Time passed, or the clock jumped forward.
    Passed {
        from: i64,
        to: i64,
        rules: ZoneRelease,
    },
    /// The clock was set back.
    SetBack {
        to: i64,
    },
    NewRules(ZoneRelease),
    /// An engine has seen the clock.
    Seen,
    /// A job was added, or the schedule changed, at this instant.
    Saved {
        id: JobId,
        version: usize,
        shape: ScheduleShape,
        at: i64,
    },
    Switched {
        id: JobId,
        is_on: bool,
    },
    Removed {
        id: JobId,
    },
}

/// The slots that a job must have rows for.
#[derive(Debug, Default)]
pub(super) struct RequiredSlots {
    /// The schedules, with the passed slots of each.
    pub(super) versions: Vec<ScheduleVersion>,
    pub(super) is_on: bool,
    pub(super) is_removed: bool,
    /// Whether the clock was set back since the job was added.
    pub(super) was_set_back: bool,
    /// The latest instant that an engine has seen since.
    top: i64,
    /// The clock.
    now: i64,
    rules: ZoneRelease,
    /// The rules that applied earlier since an engine has seen the clock.
    earlier_rules: Vec<ZoneRelease>,
    /// Passed time that no engine has seen.
    unseen: Vec<PassedSpan>,
}

#[derive(Debug, Clone, Copy)]
struct PassedSpan {
    from: i64,
    to: i64,
    rules: ZoneRelease,
    /// Up to here, times of day have passed by later rules as well.
    sure_to: i64,
}

#[derive(Debug)]
pub(super) struct ScheduleVersion {
    pub(super) number: usize,
    pub(super) shape: ScheduleShape,
    spans: Vec<(i64, i64)>,
    count: i64,
    /// The last day with a passed time of day; new rules do not require that day again.
    shown: Option<i64>,
    /// The last day whose time of day an engine may have seen pass, acknowledged or not.
    may_have_shown: Option<i64>,
    /// Whether the rules of the zone have changed since.
    pub(super) has_new_rules: bool,
}

impl RequiredSlots {
    /// Replays the events of job `id`.
    pub(super) fn of(id: &JobId, events: &[TimelineEvent]) -> Self {
        let mut required = Self::default();
        for event in events {
            required.play(id, event);
        }
        required
    }

    fn play(&mut self, id: &JobId, event: &TimelineEvent) {
        match event {
            TimelineEvent::Saved { id: saved, version, shape, at } if saved == id => {
                self.now = *at;
                if self.versions.is_empty() {
                    (self.is_on, self.top) = (true, *at);
                }
                self.versions.push(ScheduleVersion {
                    number: *version,
                    shape: shape.clone(),
                    spans: Vec::new(),
                    count: 0,
                    shown: day_before_next(shape, *at, self.rules),
                    may_have_shown: None,
                    has_new_rules: false,
                });
                self.top = self.top.max(*at);
            }
            TimelineEvent::Switched { id: switched, is_on } if switched == id => {
                self.is_on = *is_on
            }
            TimelineEvent::Removed { id: removed } if removed == id => self.is_removed = true,
            TimelineEvent::SetBack { to } => {
                self.now = *to;
                self.was_set_back |= !self.versions.is_empty();
                // Unseen time is still in the future.
                self.unseen.retain(|passed| passed.from < *to);
                for passed in &mut self.unseen {
                    (passed.to, passed.sure_to) = (passed.to.min(*to), passed.sure_to.min(*to));
                }
            }
            TimelineEvent::NewRules(rules) => {
                self.earlier_rules.push(self.rules);
                self.rules = *rules;
                self.versions.iter_mut().for_each(|version| version.has_new_rules = true);
                self.unseen.iter_mut().for_each(|passed| passed.sure_to = passed.to - APART);
            }
            TimelineEvent::Passed { from, to, rules } if !self.is_removed => {
                let (from, to, rules) = (*from, *to, *rules);
                self.now = to;
                self.unseen.push(PassedSpan { from, to, rules, sure_to: to });
            }
            TimelineEvent::Seen => {
                for passed in std::mem::take(&mut self.unseen) {
                    self.pass(passed);
                }
                self.earlier_rules.clear();
            }
            _ => {}
        }
        self.extend_may_have_shown();
    }

    /// Extends `may_have_shown` by the local time of each release that an engine may have planned with. The engine of a
    /// life that ended in a power cut may have seen any instant.
    fn extend_may_have_shown(&mut self) {
        let Some(version) = self.versions.last_mut() else { return };
        for rules in self.earlier_rules.iter().chain([&self.rules]) {
            let last = day_before_next(&version.shape, self.now, *rules);
            version.may_have_shown = version.may_have_shown.max(last);
        }
    }

    fn pass(&mut self, passed: PassedSpan) {
        let Some(version) = self.versions.last_mut() else { return };
        let follows = matches!(version.shape, ScheduleShape::At { .. });
        let to = if follows { passed.sure_to } else { passed.to };
        let from = passed.from.max(self.top);
        self.top = self.top.max(passed.to);
        if self.is_on && from < to {
            version.go_over(from, to, passed.rules);
        }
        version.shown = version.shown.max(day_before_next(&version.shape, passed.to, passed.rules));
    }

    /// Checks the rows of the job's slots.
    pub(super) fn check(&self, rows: &[Run]) -> Result<(), String> {
        for version in &self.versions {
            let name = name(version.number);
            let rows: Vec<&Run> =
                rows.iter().filter(|run| run.slot_at.is_some() && run.job_name == name).collect();
            version.check(&rows, !self.was_set_back)?;
        }
        Ok(())
    }
}

/// The name of a job with this schedule, and of the runs.
pub(super) fn name(version: usize) -> String {
    format!("v{version}")
}

impl ScheduleVersion {
    fn go_over(&mut self, from: i64, to: i64, rules: ZoneRelease) {
        let count = i64::try_from(self.shape.count(from, to, rules)).expect("few");
        let first = self.shape.next_after(from, rules).filter(|_| count > 0);
        let Some(first) = first.map(|slot| number(&self.shape, slot)) else { return };
        self.count += count;
        let not_shown = self.shown.map_or(first, |shown| first.max(shown + 1));
        if not_shown < first + count {
            self.spans.push((not_shown, first + count - 1));
        }
    }

    /// Whether `next` may be the next slot, where `nearest` is the first slot after now by `rules`.
    ///
    /// The next slot is the nearest slot, or follows slots whose time of day has passed already: new rules may skip
    /// such slots, because those have fired at another instant.
    pub(super) fn may_be_next(
        &self,
        next: Option<i64>,
        nearest: Option<i64>,
        rules: ZoneRelease,
    ) -> bool {
        let mut slot = nearest;
        while slot != next {
            let shown =
                |at: &i64| self.may_have_shown.is_some_and(|last| number(&self.shape, *at) <= last);
            let Some(left_out) = slot.filter(|at| self.has_new_rules && shown(at)) else {
                return false;
            };
            slot = self.shape.next_after(left_out, rules);
        }
        true
    }

    fn check(&self, rows: &[&Run], is_exact: bool) -> Result<(), String> {
        let stand_for: i64 = rows.iter().map(|run| i64::from(run.slot_count)).sum();
        let follows = matches!(self.shape, ScheduleShape::At { .. }) && self.has_new_rules;
        if is_exact && !follows && stand_for != self.count {
            return Err(format!("{} slots passed, and the rows stand for {stand_for}", self.count));
        }
        let mut covered: Vec<(i64, i64)> = Vec::new();
        for run in rows {
            let slot = run.slot_at.expect("asked for").0;
            if matches!(self.shape, ScheduleShape::Every { every_ms, anchor } if (slot - anchor) % every_ms != 0)
            {
                return Err(format!("{slot} is no slot"));
            }
            let last = number(&self.shape, slot);
            covered.push((last - i64::from(run.slot_count) + 1, last));
        }
        covered.sort_unstable();
        let mut spans = self.spans.clone();
        spans.sort_unstable();
        for (first, last) in spans {
            let mut next = first;
            for (from, to) in &covered {
                if *from <= next {
                    next = next.max(to + 1);
                }
            }
            if next <= last {
                return Err(format!("slot {next} of {first} to {last} is in no row"));
            }
        }
        Ok(())
    }
}

/// The last day whose time of day has passed at `at`.
fn day_before_next(shape: &ScheduleShape, at: i64, rules: ZoneRelease) -> Option<i64> {
    let follows = matches!(shape, ScheduleShape::At { .. });
    let next = shape.next_after(at, rules).filter(|_| follows);
    next.map(|slot| number(shape, slot) - 1)
}

/// The number of a slot on the grid, or of the day, which is the same by all rules.
fn number(shape: &ScheduleShape, slot: i64) -> i64 {
    match shape {
        ScheduleShape::Every { every_ms, anchor } => (slot - anchor).div_euclid(*every_ms),
        ScheduleShape::Once(_) | ScheduleShape::After(_) => 0,
        ScheduleShape::Quarters(_) => slot.div_euclid(DAY / 96),
        ScheduleShape::At { hour, minute, tz, .. } => {
            let base = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).expect("a date");
            let first = ZoneRelease::default().instant(base, *hour, *minute, *tz);
            (slot - first + DAY / 2).div_euclid(DAY)
        }
    }
}

#[cfg(test)]
mod tests {

    use rouse_core::{RunId, RunState, RunTrigger, UnixMs};

    use super::*;
    use crate::world::shape::MINUTE;

    fn row(minute: i64, slot_count: u32) -> Run {
        Run {
            job_id: Some(JobId::new("job")),
            job_name: name(1),
            slot_at: Some(UnixMs(minute * MINUTE)),
            state: RunState::Succeeded,
            slot_count,
            attempt: 1,
            ..Run::queued(RunId::new(minute.to_string()), RunTrigger::Schedule, UnixMs(0))
        }
    }

    /// A minutely job over ten minutes, five of them twice.
    fn required(set_back: bool) -> RequiredSlots {
        let rules = ZoneRelease::default();
        let passed =
            |from, to| TimelineEvent::Passed { from: from * MINUTE, to: to * MINUTE, rules };
        let shape = ScheduleShape::Every { every_ms: MINUTE, anchor: 0 };
        let id = JobId::new("job");
        let mut events = vec![TimelineEvent::Saved { id: id.clone(), version: 1, shape, at: 0 }];
        events.extend([passed(0, 10), TimelineEvent::Seen]);
        if set_back {
            events.extend([
                TimelineEvent::SetBack { to: 5 * MINUTE },
                passed(5, 10),
                TimelineEvent::Seen,
            ]);
        }
        // No engine has seen these.
        events.push(passed(10, 20));
        RequiredSlots::of(&id, &events)
    }

    #[test]
    fn next_slot_skips_only_shown_days_after_new_rules() {
        let rules = ZoneRelease::default();
        let shape =
            ScheduleShape::At { hour: 12, minute: 0, day: None, tz: crate::world::shape::ZONES[0] };
        let first = shape.next_after(1_799_929_063_013, rules).expect("a slot");
        let day = |n: i64| Some(first + n * DAY);
        let version = |shown: i64, has_new_rules| ScheduleVersion {
            number: 1,
            shape: shape.clone(),
            spans: Vec::new(),
            count: 0,
            shown: None,
            may_have_shown: Some(number(&shape, first) + shown),
            has_new_rules,
        };
        let shown_twice = version(1, true);
        for n in 0..3 {
            assert!(shown_twice.may_be_next(day(n), day(0), rules), "day {n}");
        }
        assert!(!shown_twice.may_be_next(day(3), day(0), rules), "a slot is lost");
        assert!(!version(1, false).may_be_next(day(1), day(0), rules), "the rules are the same");
        assert!(!version(-1, true).may_be_next(day(1), day(0), rules), "the day has not passed");
        assert!(!shown_twice.may_be_next(None, day(0), rules));
    }

    #[test]
    fn rows_that_lose_or_double_a_slot_are_rejected() {
        let rows = [row(3, 3), row(4, 1), row(10, 6)];
        assert_eq!(required(false).check(&rows), Ok(()));
        assert!(required(false).check(&rows[..2]).is_err(), "the last slots are lost");
        assert!(required(false).check(&[row(3, 3), row(10, 6)]).is_err(), "one is lost");
        assert!(
            required(false).check(&[row(3, 3), row(4, 2), row(10, 5)]).is_err(),
            "a slot in place of another"
        );
        assert!(required(false).check(&[row(3, 3), row(4, 2), row(10, 6)]).is_err(), "one twice");

        assert_eq!(required(true).check(&[row(10, 10), row(7, 2), row(9, 2)]), Ok(()));
        assert!(required(true).check(&[row(10, 6), row(3, 3)]).is_err(), "one is lost");
    }
}
