//! What a hook has answered since Rouse began, for a person who wonders whether it works.
//!
//! It is kept in memory alone: what a hook said to a call stands in the journal of its run, and a failure in the log.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rouse_core::{Clock, UnixMs};

use super::HookError;
use super::command::HookCommand;

/// A hook of the settings, and how it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The hook.
    pub hook: HookCommand,
    /// How it did.
    pub record: HookRecord,
}

/// How a hook did since Rouse began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookRecord {
    /// How often it was told or asked.
    pub calls: u64,
    /// How often it failed.
    pub failures: u64,
    /// The last time.
    pub last: Option<LastCall>,
}

/// One time a hook was told or asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCall {
    /// When it had ended.
    pub at: UnixMs,
    /// How long it took.
    pub took: Duration,
    /// What went wrong; none when nothing did.
    pub problem: Option<String>,
}

/// A record that is being written.
#[derive(Default)]
pub(super) struct Recorder(Mutex<HookRecord>);

impl Recorder {
    /// Adds a call that began at `began` and has just ended.
    pub(super) fn add(&self, clock: &dyn Clock, began: Duration, problem: Option<&HookError>) {
        let last = LastCall {
            at: clock.now(),
            took: clock.monotonic().saturating_sub(began),
            problem: problem.map(ToString::to_string),
        };
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        record.calls += 1;
        record.failures += u64::from(last.problem.is_some());
        record.last = Some(last);
    }

    pub(super) fn so_far(&self) -> HookRecord {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
