//! The slots of a job: the compiled schedule, moved by the jitter offset.
//!
//! Owns the next slot, for preview and engine alike. `jitter` computes the offset, which adds to the first interval.
//! `plan` chooses the job's next slot. A *grid slot* is a slot without jitter.
//! Pitfall: searching the newest slot from the first slot on, through all passed slots.

mod decided_slots;
mod jitter;
mod plan;

pub use decided_slots::DecidedSlots;
pub use plan::Plan;

use crate::job::{Schedule, ScheduleSpec};
use crate::schedule::{CronPattern, Zone, Zones, every_count_slots, every_next_after};
use crate::{JobId, UnixMs};
use jitter::jitter_offset;

/// The compiled schedule of a job. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Slots {
    grid: Grid,
    offset_ms: i64,
}

#[derive(Debug, Clone)]
enum Grid {
    Once(UnixMs),
    Every { anchor: UnixMs, every_ms: i64, reaches_back: bool },
    Cron { pattern: CronPattern, zone: Zone },
    Never,
}

/// The passed slots, with the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedSlots {
    /// Their number.
    pub count: u32,
    /// The newest slots, ascending; never empty.
    pub newest: Vec<UnixMs>,
}

impl Slots {
    /// The jitter offset in milliseconds.
    #[must_use]
    pub const fn offset_ms(&self) -> i64 {
        self.offset_ms
    }

    /// Compiles `schedule` for the job `id`. A saved schedule always compiles, unless this version no longer knows the
    /// zone or accepts the pattern.
    ///
    /// # Errors
    /// The reason in words.
    pub fn compile(schedule: &Schedule, id: &JobId, zones: &Zones) -> Result<Self, String> {
        let grid = match &schedule.spec {
            ScheduleSpec::At { at, .. } => Grid::Once(*at),
            ScheduleSpec::Every { every_ms, anchor } => {
                Grid::Every { anchor: *anchor, every_ms: *every_ms, reaches_back: false }
            }
            ScheduleSpec::Cron { expr, tz } => Grid::Cron {
                pattern: CronPattern::parse(expr).map_err(|error| error.to_string())?,
                zone: zones.zone(tz).ok_or_else(|| format!("the zone {tz} is not known"))?,
            },
            ScheduleSpec::Event(_) | ScheduleSpec::Webhook | ScheduleSpec::Manual => Grid::Never,
        };
        Ok(Self { grid, offset_ms: jitter_offset(schedule, id) })
    }

    /// The same for a job created at `created_at`. A default anchor equals that instant; an anchor in the future means
    /// that the clock was ahead at creation, and the slots begin now.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn of_job(
        schedule: &Schedule,
        id: &JobId,
        created_at: UnixMs,
        zones: &Zones,
    ) -> Result<Self, String> {
        let mut slots = Self::compile(schedule, id, zones)?;
        if let Grid::Every { anchor, reaches_back, .. } = &mut slots.grid {
            *reaches_back = *anchor == created_at;
        }
        Ok(slots)
    }

    /// The first slot after `after`, decided or not.
    #[must_use]
    pub fn next_after(&self, after: UnixMs) -> Option<UnixMs> {
        self.grid_slot_after(self.reached_at(after)).map(|slot| self.off_grid(slot))
    }

    /// The slots passed by `until` when `first` was the next slot: their number, and the newest `keep`. The cost does not
    /// grow with the number.
    #[must_use]
    pub fn passed(
        &self,
        first: UnixMs,
        decided: DecidedSlots,
        until: UnixMs,
        keep: usize,
    ) -> PassedSlots {
        let (from, to) = (self.to_grid(first), self.to_grid(until));
        let later = self.count_between(from, to);
        let newest = match &self.grid {
            Grid::Once(_) | Grid::Never => Vec::new(),
            Grid::Every { anchor, every_ms, reaches_back } => {
                let first = first_slot(anchor.0, *every_ms, from, *reaches_back);
                newest_of_interval((first, *every_ms), from, later, keep)
            }
            Grid::Cron { pattern, zone } => pattern.newest_slots(*zone, from, to, keep),
        };
        // `first` is prepended, not searched: after a change of jitter or zone rules that slot may lie off today's
        // grid.
        let room_for_first = newest.len() < keep.max(1);
        let newest = newest.into_iter().map(|at| self.off_grid(at));
        let newest = room_for_first.then_some(first).into_iter().chain(newest).collect();
        PassedSlots { count: later.saturating_add(self.slot_count(first, decided)), newest }
    }

    /// The number of grid slots in `(from, to]`.
    fn count_between(&self, from: i64, to: i64) -> u32 {
        match &self.grid {
            Grid::Once(_) | Grid::Never => 0,
            Grid::Every { anchor, every_ms, reaches_back } => {
                let first = first_slot(anchor.0, *every_ms, from, *reaches_back);
                every_count_slots(first, *every_ms, from, to, u32::MAX)
            }
            Grid::Cron { pattern, zone } => pattern.count_slots(*zone, from, to),
        }
    }

    /// The first grid slot after `after`.
    fn grid_slot_after(&self, after: i64) -> Option<i64> {
        match &self.grid {
            Grid::Once(at) => Some(at.0).filter(|at| *at > after),
            Grid::Every { anchor, every_ms, reaches_back } => {
                let first = first_slot(anchor.0, *every_ms, after, *reaches_back);
                every_next_after(first, *every_ms, after)
            }
            Grid::Cron { pattern, zone } => pattern.next_after(*zone, after),
            Grid::Never => None,
        }
    }

    /// The grid instant reached at `now`. Once the anchor of an interval has passed, a new job waits for a whole
    /// interval, with any offset.
    fn reached_at(&self, now: UnixMs) -> i64 {
        let reached = self.to_grid(now);
        match &self.grid {
            Grid::Every { anchor, .. } if now >= *anchor => reached.max(anchor.0),
            _ => reached,
        }
    }

    const fn to_grid(&self, at: UnixMs) -> i64 {
        at.plus_ms(-self.offset_ms).0
    }

    const fn off_grid(&self, at: i64) -> UnixMs {
        UnixMs(at).plus_ms(self.offset_ms)
    }
}

/// The first slot of an interval grid, seen from `at`.
fn first_slot(anchor: i64, every_ms: i64, at: i64, reaches_back: bool) -> i64 {
    if !reaches_back || at >= anchor || every_ms <= 0 {
        return anchor;
    }
    at.saturating_sub(at.saturating_sub(anchor).rem_euclid(every_ms))
}

/// The newest `keep` of `count` slots after `from`.
fn newest_of_interval(
    (anchor, every_ms): (i64, i64),
    from: i64,
    count: u32,
    keep: usize,
) -> Vec<i64> {
    let first = every_next_after(anchor, every_ms, from).unwrap_or(from);
    let kept = u32::try_from(keep).unwrap_or(u32::MAX).min(count);
    let slot = |k: u32| first.saturating_add(i64::from(k).saturating_mul(every_ms));
    (count - kept..count).map(slot).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    const DAY: i64 = 86_400_000;
    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_767_225_600_000;

    fn slots_of(spec: ScheduleSpec, jitter_ms: u32) -> Slots {
        let schedule = Schedule { spec, jitter_ms: Some(jitter_ms), extra: Map::new() };
        Slots::compile(&schedule, &JobId::new("job-1"), &chrono_tz::UTC.into()).expect("compiles")
    }

    fn every(every_ms: i64, anchor: i64) -> Slots {
        slots_of(ScheduleSpec::Every { every_ms, anchor: UnixMs(anchor) }, 0)
    }

    fn cron(expr: &str) -> Slots {
        slots_of(ScheduleSpec::Cron { expr: expr.to_owned(), tz: "UTC".to_owned() }, 0)
    }

    fn instants(passed: &PassedSlots) -> Vec<i64> {
        passed.newest.iter().map(|at| at.0).collect()
    }

    #[test]
    fn next_is_strictly_after() {
        let at = slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, 0);
        assert_eq!(at.next_after(UnixMs(4_999)), Some(UnixMs(5_000)));
        assert_eq!(at.next_after(UnixMs(5_000)), None);
        assert_eq!(every(2_000, 1_000).next_after(UnixMs(3_000)), Some(UnixMs(5_000)));
        assert_eq!(cron("* * * * *").next_after(UnixMs(NEW_YEAR)), Some(UnixMs(NEW_YEAR + 60_000)));
        assert_eq!(slots_of(ScheduleSpec::Manual, 0).next_after(UnixMs(0)), None);
    }

    #[test]
    fn passed_slots_of_an_interval() {
        let slots = every(1_000, 0);
        let table = [
            // (first, until, keep) → (count, newest)
            ((5_000, 5_000, 1), (1, vec![5_000])),
            ((5_000, 5_999, 3), (1, vec![5_000])),
            ((5_000, 7_000, 1), (3, vec![7_000])),
            ((5_000, 7_000, 2), (3, vec![6_000, 7_000])),
            ((5_000, 7_000, 9), (3, vec![5_000, 6_000, 7_000])),
            ((5_000, 5_000 + 400 * DAY, 1), (34_560_001, vec![5_000 + 400 * DAY])),
            // A first slot that is not on the grid counts, too.
            ((5_500, 7_000, 9), (3, vec![5_500, 6_000, 7_000])),
        ];
        for ((first, until, keep), (count, newest)) in table {
            let passed = slots.passed(UnixMs(first), DecidedSlots::default(), UnixMs(until), keep);
            assert_eq!(
                (passed.count, instants(&passed)),
                (count, newest),
                "{first} {until} {keep}"
            );
        }
    }

    #[test]
    fn slots_of_a_pattern_are_counted_with_the_newest() {
        let slots = cron("* * * * *");
        let first = NEW_YEAR;
        let passed =
            slots.passed(UnixMs(first), DecidedSlots::default(), UnixMs(first + 120_000), 2);
        assert_eq!((passed.count, instants(&passed)), (3, vec![first + 60_000, first + 120_000]));

        let year = first + 365 * DAY;
        let passed = slots.passed(UnixMs(first), DecidedSlots::default(), UnixMs(year), 1);
        assert_eq!((passed.count, instants(&passed)), (525_601, vec![year]));
    }

    #[test]
    fn passed_slot_of_a_one_shot_is_its_slot() {
        let slots = slots_of(ScheduleSpec::At { at: UnixMs(5_000), tz: None }, 0);
        let passed = slots.passed(UnixMs(5_000), DecidedSlots::default(), UnixMs(5_000 + DAY), 3);
        assert_eq!((passed.count, instants(&passed)), (1, vec![5_000]));
    }

    #[test]
    fn jitter_moves_the_whole_grid_by_one_stable_offset() {
        let spec = || ScheduleSpec::Every { every_ms: 60_000, anchor: UnixMs(0) };
        let slots = slots_of(spec(), 30_000);
        // The offset is part of the stored grid of every job: a change of the hash would move all grids.
        assert_eq!(slots.offset_ms, 3_606);
        // A job stored with this slot keeps the slot.
        let first = UnixMs(3_606);
        assert_eq!(slots.next_after(first), Some(UnixMs(63_606)));
        let passed = slots.passed(first, DecidedSlots::default(), UnixMs(123_606), 2);
        assert_eq!((passed.count, instants(&passed)), (3, vec![63_606, 123_606]));
        let cron_slots =
            slots_of(ScheduleSpec::Cron { expr: "* * * * *".into(), tz: "UTC".into() }, 30_000);
        let passed = cron_slots.passed(UnixMs(3_606), DecidedSlots::default(), UnixMs(63_606), 1);
        assert_eq!((passed.count, instants(&passed)), (2, vec![63_606]));
    }

    #[test]
    fn jittered_interval_waits_a_whole_interval_first() {
        let spec = || ScheduleSpec::Every { every_ms: 60_000, anchor: UnixMs(100_000) };
        let slots = slots_of(spec(), 30_000);
        for (after, first) in [
            (100_000, 163_606),
            (100_001, 163_606),
            (103_606, 163_606),
            (163_605, 163_606),
            (163_606, 223_606),
            // An anchor that is still to be reached is a slot, as without jitter.
            (99_999, 103_606),
            (0, 103_606),
        ] {
            assert_eq!(slots.next_after(UnixMs(after)), Some(UnixMs(first)), "after {after}");
        }
    }

    #[test]
    fn jitter_is_less_than_the_interval() {
        let spec = || ScheduleSpec::Every { every_ms: 1_000, anchor: UnixMs(0) };
        let slots = slots_of(spec(), 30_000);
        assert_eq!(slots.offset_ms, 606);
        assert_eq!(slots.next_after(UnixMs(0)), Some(UnixMs(1_606)));
        // A slot that was planned by the whole offset lies on the same grid.
        assert_eq!(slots.next_after(UnixMs(4_606)), Some(UnixMs(5_606)));
    }

    #[test]
    fn default_anchor_ahead_does_not_delay_the_first_slot() {
        let made_at = 400 * DAY + 5_000;
        let spec = ScheduleSpec::Every { every_ms: 60_000, anchor: UnixMs(made_at) };
        let schedule = Schedule { spec, jitter_ms: None, extra: Map::new() };
        let of_job = |created_at| {
            let (id, zones) = (JobId::new("job-1"), chrono_tz::UTC.into());
            Slots::of_job(&schedule, &id, UnixMs(created_at), &zones).expect("compiles")
        };
        let slots = of_job(made_at);
        for (after, next) in [
            // The clock is right again, 400 days before the job was made.
            (0, 5_000),
            (5_000, 65_000),
            (64_999, 65_000),
            (made_at - 1, made_at),
            // And with a clock ahead: a whole interval passes first.
            (made_at, made_at + 60_000),
            (made_at + 60_000, made_at + 120_000),
        ] {
            assert_eq!(slots.next_after(UnixMs(after)), Some(UnixMs(next)), "after {after}");
        }
        let passed = slots.passed(UnixMs(5_000), DecidedSlots::default(), UnixMs(125_000), 2);
        assert_eq!((passed.count, instants(&passed)), (3, vec![65_000, 125_000]));
        let chosen = of_job(0);
        assert_eq!(chosen.next_after(UnixMs(0)), Some(UnixMs(made_at)));
    }

    #[test]
    fn uncompilable_schedule_states_the_reason() {
        let spec = ScheduleSpec::Cron { expr: "* * * * *".into(), tz: "Mars/Base".into() };
        let schedule = Schedule { spec, jitter_ms: None, extra: Map::new() };
        let reason = Slots::compile(&schedule, &JobId::new("j"), &chrono_tz::UTC.into())
            .expect_err("no such zone");
        assert_eq!(reason, "the zone Mars/Base is not known");
    }
}
