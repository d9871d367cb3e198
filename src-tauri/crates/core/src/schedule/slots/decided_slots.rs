//! The grid slots of a job that are decided and never fire again.

use crate::UnixMs;

/// The maximum delay by which other rules repeat a wall time.
pub(super) const RULES_APART_MS: i64 = 24 * 3_600_000;
/// The maximum distance ahead of a held slot; a longer distance means a wrong clock.
pub(super) const MAX_HELD_AHEAD_MS: i64 = 2 * RULES_APART_MS;
/// The same for settled slots, over a clock rollback and other rules.
pub(super) const MAX_SETTLED_AHEAD_MS: i64 = MAX_HELD_AHEAD_MS + RULES_APART_MS;

/// The last decided grid slots. Empty for a new job, or a job of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecidedSlots {
    /// The furthest decided grid slot. If ahead, the clock was set back since: slots recur, and fired slots are known
    /// by their rows.
    pub until: Option<UnixMs>,
    /// Up to here slots do not recur even then: by other jitter or rules their instants would have no row.
    pub settled_until: Option<UnixMs>,
}

impl DecidedSlots {
    /// The same for a job with a new schedule.
    #[must_use]
    pub const fn for_new_schedule(self) -> Self {
        Self { settled_until: None, ..self }
    }

    /// Drops values far ahead, left by a wrong clock: such values must not count later.
    pub(super) fn held_at(self, now: UnixMs) -> Self {
        Self {
            until: self.until_at(now).map(UnixMs),
            settled_until: self.settled_at(now).map(UnixMs),
        }
    }

    pub(super) fn until_at(self, now: UnixMs) -> Option<i64> {
        self.until.filter(|at| *at <= now.plus_ms(MAX_HELD_AHEAD_MS)).map(|at| at.0)
    }

    pub(super) fn settled_at(self, now: UnixMs) -> Option<i64> {
        self.settled_until.filter(|at| *at <= now.plus_ms(MAX_SETTLED_AHEAD_MS)).map(|at| at.0)
    }

    /// Decided also up to `slot`.
    pub(super) fn decided_until(self, slot: i64, now: UnixMs) -> Self {
        let held = self.held_at(now);
        Self { until: held.until.max(Some(UnixMs(slot))), ..held }
    }

    /// Settles the slots up to `slot`, within the maximum distance ahead.
    pub(super) fn settled(self, slot: Option<i64>, now: UnixMs) -> Self {
        let held = self.held_at(now);
        let slot = slot.map(|slot| UnixMs(slot).min(now.plus_ms(MAX_SETTLED_AHEAD_MS)));
        Self { settled_until: held.settled_until.max(slot), ..held }
    }

    /// Reopens `slot` and all later slots. By rules that put `slot` later, the earlier slots reached further.
    pub(super) fn reopened_from(self, slot: i64) -> Self {
        let cut = |at: Option<UnixMs>| at.map(|at| at.min(UnixMs(slot - 1)));
        Self { until: cut(self.until), settled_until: cut(self.settled_until) }
    }
}
