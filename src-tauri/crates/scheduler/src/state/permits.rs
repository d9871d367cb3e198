//! Permits of the two concurrency limits.
//!
//! Owns two counting semaphores of the same size: for scheduled runs, and for runs that a person starts. Catch-up runs
//! take scheduled permits, at most half of them (at least 1) and never more than four, so that a machine that wakes up
//! to a thousand missed slots catches up beside the on-time runs.

use rouse_core::RunTrigger;

/// Maximum catch-up runs at a time, however large the limit is.
const MAX_CATCH_UPS: usize = 4;

/// The limit of a run, and the share of that limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PermitKind {
    /// A scheduled run that is on time; also event, webhook and heartbeat runs.
    OnTime,
    /// A run for a slot that passed, or in place of an interrupted run.
    CatchUp,
    /// A run that a person starts: by hand, a retry, a tool trial or a chat message.
    Manual,
}

impl From<RunTrigger> for PermitKind {
    fn from(trigger: RunTrigger) -> Self {
        match trigger {
            RunTrigger::CatchUp => Self::CatchUp,
            RunTrigger::Manual | RunTrigger::Chat => Self::Manual,
            RunTrigger::Schedule
            | RunTrigger::Event
            | RunTrigger::Webhook
            | RunTrigger::Heartbeat => Self::OnTime,
        }
    }
}

/// Counts the permits in use.
#[derive(Debug, Clone, Copy)]
pub struct Permits {
    limit: usize,
    on_time: usize,
    catch_ups: usize,
    manual: usize,
}

impl Permits {
    /// All permits free; `limit` of each pool, at least 1.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        let limit = if limit == 0 { 1 } else { limit };
        Self { limit, on_time: 0, catch_ups: 0, manual: 0 }
    }

    /// Changes both limits. Excess permits stay in use.
    pub const fn set_limit(&mut self, limit: usize) {
        self.limit = if limit == 0 { 1 } else { limit };
    }

    /// Whether a permit of `kind` is free.
    #[must_use]
    pub fn has_free(&self, kind: PermitKind) -> bool {
        let has_scheduled = self.on_time + self.catch_ups < self.limit;
        match kind {
            PermitKind::OnTime => has_scheduled,
            PermitKind::CatchUp => {
                has_scheduled && self.catch_ups < (self.limit / 2).clamp(1, MAX_CATCH_UPS)
            }
            PermitKind::Manual => self.manual < self.limit,
        }
    }

    /// Takes a permit.
    pub const fn acquire(&mut self, kind: PermitKind) {
        *self.count_mut(kind) += 1;
    }

    /// Returns a permit.
    pub const fn release(&mut self, kind: PermitKind) {
        *self.count_mut(kind) -= 1;
    }

    /// The number of permits in use.
    #[must_use]
    pub const fn in_use(&self) -> usize {
        self.on_time + self.catch_ups + self.manual
    }

    const fn count_mut(&mut self, kind: PermitKind) -> &mut usize {
        match kind {
            PermitKind::OnTime => &mut self.on_time,
            PermitKind::CatchUp => &mut self.catch_ups,
            PermitKind::Manual => &mut self.manual,
        }
    }
}
