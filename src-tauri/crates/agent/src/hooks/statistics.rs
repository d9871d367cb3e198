//! Statistics of each hook since the start of Rouse.
//!
//! Kept in memory only. The decision about a call is in the journal of the run, and a failure in the log.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rouse_core::{Clock, UnixMs};

/// The statistics of a hook since the start of Rouse.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookStatistics {
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub failures: u64,
    /// The last call.
    pub last: Option<LastHookCall>,
}

/// The last call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastHookCall {
    /// The time of the end.
    pub at: UnixMs,
    /// The duration.
    pub took: Duration,
    /// The error of a failed call.
    pub problem: Option<String>,
}

/// Collects the statistics of a hook.
#[derive(Default)]
pub(super) struct StatisticsCollector(Mutex<HookStatistics>);

impl StatisticsCollector {
    /// Adds a call that began at `began` on the monotonic clock and has just ended.
    pub(super) fn add(&self, clock: &dyn Clock, began: Duration, problem: Option<String>) {
        let last = LastHookCall {
            at: clock.now(),
            took: clock.monotonic().saturating_sub(began),
            problem,
        };
        let mut statistics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        statistics.calls += 1;
        statistics.failures += u64::from(last.problem.is_some());
        statistics.last = Some(last);
    }

    pub(super) fn snapshot(&self) -> HookStatistics {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
