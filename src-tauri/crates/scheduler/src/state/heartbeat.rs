//! Timing of the heartbeat: the next turn by schedule, and requests for a turn.
//!
//! Turns lie on a grid from a stored anchor, so neither a restart nor a long turn moves them. A request gets a turn at
//! once, except without a model or during a turn. Requests within a short time share a turn, and a burst of requests
//! gets a few turns a minute, because each may cost money.
//! Pitfall: forget a request only when there is a run for it.

use std::collections::VecDeque;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::schedule::{Zones, every_next_after};

use crate::config::HeartbeatConfig;
use crate::status::{HeartbeatRequest, HeartbeatSkip, PendingReason};

/// Minimum interval of the heartbeat.
pub(crate) const MIN_INTERVAL_MS: i64 = 1_000;
/// Backoff after a turn that no model answered, doubled each time up to the maximum.
const UNANSWERED_BACKOFF: Duration = Duration::from_secs(60);
const MAX_UNANSWERED_BACKOFF: Duration = Duration::from_secs(30 * 60);
/// Maximum requested turns within `BURST_WINDOW`; further requests wait.
const MAX_BURST_TURNS: usize = 6;
const BURST_WINDOW: Duration = Duration::from_secs(60);

/// The heartbeat's timing and last events.
#[derive(Debug, Default)]
pub(crate) struct HeartbeatTimer {
    pub(crate) next_at: Option<UnixMs>,
    pub(crate) request: Option<TurnRequest>,
    pub(crate) last_request: Option<HeartbeatRequest>,
    pub(crate) last_skip: Option<HeartbeatSkip>,
    /// Whether a turn has run since the last skip.
    pub(crate) is_skip_outdated: bool,
    /// Whether a heartbeat run is queued or active.
    pub(crate) has_run: bool,
    /// Whether `next_at` must be planned again.
    pub(crate) is_stale: bool,
    /// Turns in a row that no model answered.
    unanswered: u32,
    /// Starts of the latest requested turns, the oldest first.
    burst: VecDeque<Duration>,
}

/// A request for a turn that has no run yet.
#[derive(Debug)]
pub(crate) struct TurnRequest {
    pub(crate) reason: String,
    /// Requests until then share the turn.
    pub(crate) not_before: Duration,
    /// Whether the turn is needed only if a system event is queued then.
    pub(crate) only_for_events: bool,
    /// Whether the request repeats a turn that no model answered.
    pub(crate) is_repeat: bool,
    pub(crate) is_stored: bool,
}

impl TurnRequest {
    pub(crate) fn new(reason: &str, not_before: Duration, only_for_events: bool) -> Self {
        Self {
            reason: reason.to_owned(),
            not_before,
            only_for_events,
            is_repeat: false,
            is_stored: false,
        }
    }
}

impl HeartbeatTimer {
    /// Requests a turn at the monotonic instant `not_before`, for all requests until then. An open request keeps its
    /// earlier instant. During a turn, which may see everything, a further turn needs a queued event.
    pub(crate) fn request(&mut self, reason: &str, now: UnixMs, not_before: Duration) {
        self.last_request = Some(HeartbeatRequest { reason: reason.to_owned(), at: now });
        let new = TurnRequest::new(reason, not_before, self.has_run);
        let request = self.request.get_or_insert(new);
        request.not_before = request.not_before.min(not_before);
        request.is_repeat = false;
    }

    /// As `request`, for a request that is in the store.
    pub(crate) fn request_stored(&mut self, reason: &str, now: UnixMs, not_before: Duration) {
        self.request(reason, now, not_before);
        if let Some(request) = &mut self.request {
            request.is_stored = true;
        }
    }

    /// Requests another turn after a turn that no model answered, with a backoff.
    pub(crate) fn request_repeat(&mut self, now: Duration) {
        let backoff = UNANSWERED_BACKOFF * 2_u32.saturating_pow(self.unanswered.min(16));
        self.unanswered += 1;
        let not_before = now + backoff.min(MAX_UNANSWERED_BACKOFF);
        let repeat = TurnRequest::new("no answer before", not_before, true);
        self.request.get_or_insert(TurnRequest { is_repeat: true, ..repeat });
    }

    /// Notes that a turn was answered.
    pub(crate) const fn reset_unanswered(&mut self) {
        self.unanswered = 0;
    }

    /// Requests a turn if a system event is queued then.
    pub(crate) fn request_for_events(&mut self, reason: &str) {
        self.request.get_or_insert(TurnRequest::new(reason, Duration::ZERO, true));
    }

    /// When an open request gets its turn; none while a turn is queued or active.
    pub(crate) fn request_due_at(&self) -> Option<Duration> {
        let request = self.request.as_ref().filter(|_| !self.has_run)?;
        Some(request.not_before.max(self.burst_ends_at()))
    }

    /// Until then, another requested turn would exceed the maximum.
    fn burst_ends_at(&self) -> Duration {
        match self.burst.len().checked_sub(MAX_BURST_TURNS) {
            Some(index) => self.burst[index] + BURST_WINDOW,
            None => Duration::ZERO,
        }
    }

    /// Counts a requested turn that has its run.
    pub(crate) fn count_requested_turn(&mut self, now: Duration) {
        self.burst.push_back(now);
        if self.burst.len() > MAX_BURST_TURNS {
            self.burst.pop_front();
        }
    }

    /// Notes a queued heartbeat run; false if noted already.
    pub(crate) const fn begin_run(&mut self) -> bool {
        !std::mem::replace(&mut self.has_run, true)
    }

    /// Notes the end of the heartbeat run.
    pub(crate) const fn end_run(&mut self) {
        self.has_run = false;
    }

    /// Why an open request waits, while slots fire.
    pub(crate) fn pending_reason(&self, has_model: bool, now: Duration) -> Option<PendingReason> {
        let request = self.request.as_ref()?;
        Some(if !has_model {
            PendingReason::Model
        } else if self.has_run {
            PendingReason::Turn
        } else if self.burst_ends_at() > now {
            PendingReason::Burst
        } else if request.is_repeat {
            PendingReason::Backoff
        } else {
            PendingReason::Coalesce
        })
    }
}

/// The first turn after `now`: on the grid, or at the start of the active hours that no grid point meets.
pub(crate) fn next_turn(
    config: &HeartbeatConfig,
    zones: &Zones,
    anchor: i64,
    now: UnixMs,
) -> Option<UnixMs> {
    let interval = config.every_ms.max(MIN_INTERVAL_MS);
    let on_grid = |after: i64| every_next_after(anchor, interval, after).map(UnixMs);
    let next = on_grid(now.0)?;
    let Some(hours) = config.active_hours.as_ref().filter(|hours| !hours.contains(next, zones))
    else {
        return Some(next);
    };
    let begin = hours.first_inside(next, zones)?;
    let end = hours.first_outside(begin, zones)?;
    on_grid(begin.0 - 1).filter(|turn| *turn < end).or(Some(begin))
}
