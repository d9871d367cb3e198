//! What happened to the clock and to the jobs, in order, and which slots must therefore be on record.
//!
//! A slot is required when an engine found that the clock had gone over it for the first time while its job was there,
//! switched on and had that schedule. Slots are counted as numbers, of the grid or of the day, so that four hundred days
//! of minutes cost nothing. One could get it wrong by asking for the slots that a clock shows again after it was set
//! back: those have their rows.

use rouse_core::{JobId, Run};

use crate::rules::Rules;
use crate::world::shape::{DAY, HOUR, Shape};

/// Rules lie less than this apart.
const APART: i64 = 4 * HOUR;

/// What happened.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// Time passed, or the clock was set forward.
    Passed {
        from: i64,
        to: i64,
        rules: Rules,
    },
    /// The clock was set back to this.
    SetBack {
        to: i64,
    },
    NewRules(Rules),
    /// An engine was there and has seen the clock as it is.
    Seen,
    /// A job was made or its schedule changed, at this instant.
    Saved {
        id: JobId,
        version: usize,
        shape: Shape,
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

/// What one job must have on record.
#[derive(Debug, Default)]
pub(super) struct Required {
    /// Its schedules; what the clock went over, in numbers of slots; and how many these are.
    pub(super) versions: Vec<Version>,
    pub(super) is_on: bool,
    pub(super) is_removed: bool,
    /// The clock was set back since it was made.
    pub(super) was_set_back: bool,
    /// The highest that an engine has seen of the clock since.
    top: i64,
    rules: Rules,
    /// What the clock went over and nobody has seen yet.
    unseen: Vec<Passed>,
}

#[derive(Debug, Clone, Copy)]
struct Passed {
    from: i64,
    to: i64,
    rules: Rules,
    /// Up to where the times of a day are sure to be over: by the rules that came later, the last ones may not be.
    sure_to: i64,
}

#[derive(Debug)]
pub(super) struct Version {
    pub(super) number: usize,
    pub(super) shape: Shape,
    spans: Vec<(i64, i64)>,
    count: i64,
    /// The last day whose time the clock has shown: when new rules show it again, it is not required again.
    shown: Option<i64>,
    /// The rules of its zone changed since.
    pub(super) has_new_rules: bool,
}

impl Required {
    /// Plays the events of job `id`.
    pub(super) fn of(id: &JobId, events: &[Event]) -> Self {
        let mut required = Self::default();
        for event in events {
            required.play(id, event);
        }
        required
    }

    fn play(&mut self, id: &JobId, event: &Event) {
        match event {
            Event::Saved { id: saved, version, shape, at } if saved == id => {
                if self.versions.is_empty() {
                    (self.is_on, self.top) = (true, *at);
                }
                self.versions.push(Version {
                    number: *version,
                    shape: shape.clone(),
                    spans: Vec::new(),
                    count: 0,
                    shown: day_before_next(shape, *at, self.rules),
                    has_new_rules: false,
                });
                self.top = self.top.max(*at);
            }
            Event::Switched { id: switched, is_on } if switched == id => self.is_on = *is_on,
            Event::Removed { id: removed } if removed == id => self.is_removed = true,
            Event::SetBack { to } => {
                self.was_set_back |= !self.versions.is_empty();
                // What nobody saw is still to come.
                self.unseen.retain(|passed| passed.from < *to);
                for passed in &mut self.unseen {
                    (passed.to, passed.sure_to) = (passed.to.min(*to), passed.sure_to.min(*to));
                }
            }
            Event::NewRules(rules) => {
                self.rules = *rules;
                self.versions.iter_mut().for_each(|version| version.has_new_rules = true);
                self.unseen.iter_mut().for_each(|passed| passed.sure_to = passed.to - APART);
            }
            Event::Passed { from, to, rules } if !self.is_removed => {
                let (from, to, rules) = (*from, *to, *rules);
                self.unseen.push(Passed { from, to, rules, sure_to: to });
            }
            Event::Seen => {
                for passed in std::mem::take(&mut self.unseen) {
                    self.pass(passed);
                }
            }
            _ => {}
        }
    }

    fn pass(&mut self, passed: Passed) {
        let Some(version) = self.versions.last_mut() else { return };
        let follows = matches!(version.shape, Shape::At { .. });
        let to = if follows { passed.sure_to } else { passed.to };
        let from = passed.from.max(self.top);
        self.top = self.top.max(passed.to);
        if self.is_on && from < to {
            version.go_over(from, to, passed.rules);
        }
        version.shown = version.shown.max(day_before_next(&version.shape, passed.to, passed.rules));
    }

    /// Compares the rows that slots of this job have.
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

/// What a job is called while it has this schedule, and its rows with it.
pub(super) fn name(version: usize) -> String {
    format!("v{version}")
}

impl Version {
    fn go_over(&mut self, from: i64, to: i64, rules: Rules) {
        let count = i64::try_from(self.shape.count(from, to, rules)).expect("few");
        let first = self.shape.next_after(from, rules).filter(|_| count > 0);
        let Some(first) = first.map(|slot| number(&self.shape, slot)) else { return };
        self.count += count;
        let not_shown = self.shown.map_or(first, |shown| first.max(shown + 1));
        if not_shown < first + count {
            self.spans.push((not_shown, first + count - 1));
        }
    }

    /// Whether `next` may be the next slot, where `nearest` is the first one after now by `rules`.
    ///
    /// A slot is never lost: the next one is the nearest, or comes after slots whose time of day the clock has shown
    /// already. After new rules such a slot may be left out, because it has fired at another instant.
    pub(super) fn may_be_next(
        &self,
        next: Option<i64>,
        nearest: Option<i64>,
        rules: Rules,
    ) -> bool {
        let mut slot = nearest;
        while slot != next {
            let shown =
                |at: &i64| self.shown.is_some_and(|shown| number(&self.shape, *at) <= shown);
            let Some(left_out) = slot.filter(|at| self.has_new_rules && shown(at)) else {
                return false;
            };
            slot = self.shape.next_after(left_out, rules);
        }
        true
    }

    fn check(&self, rows: &[&Run], is_exact: bool) -> Result<(), String> {
        let stand_for: i64 = rows.iter().map(|run| i64::from(run.stands_for)).sum();
        let follows = matches!(self.shape, Shape::At { .. }) && self.has_new_rules;
        if is_exact && !follows && stand_for != self.count {
            return Err(format!("{} slots passed, and the rows stand for {stand_for}", self.count));
        }
        let mut covered: Vec<(i64, i64)> = Vec::new();
        for run in rows {
            let slot = run.slot_at.expect("asked for").0;
            if matches!(self.shape, Shape::Every { every_ms, anchor } if (slot - anchor) % every_ms != 0)
            {
                return Err(format!("{slot} is no slot"));
            }
            let last = number(&self.shape, slot);
            covered.push((last - i64::from(run.stands_for) + 1, last));
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

/// The last day whose time of day was over at `at`.
fn day_before_next(shape: &Shape, at: i64, rules: Rules) -> Option<i64> {
    let follows = matches!(shape, Shape::At { .. });
    let next = shape.next_after(at, rules).filter(|_| follows);
    next.map(|slot| number(shape, slot) - 1)
}

/// The number of a slot: of the grid, or of its day, which is the same by whatever rules.
fn number(shape: &Shape, slot: i64) -> i64 {
    match shape {
        Shape::Every { every_ms, anchor } => (slot - anchor).div_euclid(*every_ms),
        Shape::Once(_) | Shape::After(_) => 0,
        Shape::Quarters(_) => slot.div_euclid(DAY / 96),
        Shape::At { hour, minute, tz, .. } => {
            let base = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).expect("a date");
            let first = Rules::default().instant(base, *hour, *minute, *tz);
            (slot - first + DAY / 2).div_euclid(DAY)
        }
    }
}

#[cfg(test)]
mod tests {

    use rouse_core::{RunId, RunState, RunTrigger, UnixMs};

    use super::*;
    use crate::world::shape::MINUTE;

    fn row(minute: i64, stands_for: u32) -> Run {
        Run {
            job_id: Some(JobId::new("job")),
            job_name: name(1),
            slot_at: Some(UnixMs(minute * MINUTE)),
            state: RunState::Succeeded,
            stands_for,
            attempt: 1,
            ..Run::queued(RunId::new(minute.to_string()), RunTrigger::Schedule, UnixMs(0))
        }
    }

    /// A job of every minute that was there for ten minutes, five of them twice.
    fn required(set_back: bool) -> Required {
        let rules = Rules::default();
        let passed = |from, to| Event::Passed { from: from * MINUTE, to: to * MINUTE, rules };
        let shape = Shape::Every { every_ms: MINUTE, anchor: 0 };
        let id = JobId::new("job");
        let mut events = vec![Event::Saved { id: id.clone(), version: 1, shape, at: 0 }];
        events.extend([passed(0, 10), Event::Seen]);
        if set_back {
            events.extend([Event::SetBack { to: 5 * MINUTE }, passed(5, 10), Event::Seen]);
        }
        // Nobody has seen these.
        events.push(passed(10, 20));
        Required::of(&id, &events)
    }

    #[test]
    fn next_slot_skips_only_shown_days_after_new_rules() {
        let rules = Rules::default();
        let shape = Shape::At { hour: 12, minute: 0, day: None, tz: crate::world::shape::ZONES[0] };
        let first = shape.next_after(1_799_929_063_013, rules).expect("a slot");
        let day = |n: i64| Some(first + n * DAY);
        let version = |shown: i64, has_new_rules| Version {
            number: 1,
            shape: shape.clone(),
            spans: Vec::new(),
            count: 0,
            shown: Some(number(&shape, first) + shown),
            has_new_rules,
        };
        let shown_twice = version(1, true);
        for n in 0..3 {
            assert!(shown_twice.may_be_next(day(n), day(0), rules), "day {n}");
        }
        assert!(!shown_twice.may_be_next(day(3), day(0), rules), "a slot is lost");
        assert!(!version(1, false).may_be_next(day(1), day(0), rules), "the rules are the same");
        assert!(!version(-1, true).may_be_next(day(1), day(0), rules), "nobody has seen its day");
        assert!(!shown_twice.may_be_next(None, day(0), rules));
    }

    #[test]
    fn rows_that_lose_or_double_a_slot_are_refused() {
        let rows = [row(3, 3), row(4, 1), row(10, 6)];
        assert_eq!(required(false).check(&rows), Ok(()));
        assert!(required(false).check(&rows[..2]).is_err(), "the last ones are lost");
        assert!(required(false).check(&[row(3, 3), row(10, 6)]).is_err(), "one is lost");
        assert!(
            required(false).check(&[row(3, 3), row(4, 2), row(10, 5)]).is_err(),
            "one for another"
        );
        assert!(required(false).check(&[row(3, 3), row(4, 2), row(10, 6)]).is_err(), "one twice");

        assert_eq!(required(true).check(&[row(10, 10), row(7, 2), row(9, 2)]), Ok(()));
        assert!(required(true).check(&[row(10, 6), row(3, 3)]).is_err(), "one is lost");
    }
}
