//! The engine: a single task that owns all state of the scheduler.
//!
//! The event loop takes an event (timer, request, ended attempt, change of the model) into the state, then writes and
//! starts all that state and clock require, in a fixed order. A step that the store refuses leaves the state unchanged
//! and is repeated later, so failures need no other way.
//! Pitfall: never await a run in here, or the engine stands still.

mod event_loop;
mod tick;
mod claim_planner;
mod claims;
mod prefetch;
mod staging;
mod execution;
mod retries;
mod cancellation;
mod run_end;
mod finish;
mod run_log;
mod event_triggers;
mod invalid_patterns;
mod missed_notices;
mod undelivered_events;
mod approvals;
mod heartbeat;
mod jobs;
mod manual_runs;
mod pause;
mod clock_change;
mod clock_rollback;
mod restore;
mod recovery;
mod requests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::channel::SharedDirectory;
use rouse_core::decide::Firing;
use rouse_core::time::{Clock, Timer};
use rouse_store::{Store, StoreError};
use tokio::sync::Notify;

use crate::config::SchedulerConfig;
use crate::ports::{MainSession, RunHooks};
use crate::state::active_runs::ActiveRuns;
use crate::state::event_listeners::EventListeners;
use crate::state::heartbeat::HeartbeatTimer;
use crate::state::inbox::Inbox;
use crate::state::incidents::OpenIncidents;
use crate::state::lanes::Lanes;
use crate::state::model_presence::ModelPresence;
use crate::state::parked_runs::ParkedRuns;
use crate::state::queued_run::{QueueExit, QueuedRun};
use crate::state::slot_schedule::SlotSchedule;
use crate::state::store_backoff::StoreBackoff;
use crate::state::zone_rules::ZoneRules;
use crate::status::JobsPause;

/// The reason of slots that a pause skips.
const PAUSED: &str = "Everything was paused";

/// The scheduler at work.
pub(crate) struct Engine {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) hooks: Arc<dyn RunHooks>,
    pub(crate) main_session: Arc<dyn MainSession>,
    pub(crate) channels: SharedDirectory,
    pub(crate) outbox: Arc<Notify>,
    pub(crate) config: SchedulerConfig,
    pub(crate) pause: Option<JobsPause>,
    pub(crate) model: ModelPresence,
    pub(crate) heartbeat: HeartbeatTimer,
    pub(crate) lanes: Lanes<QueuedRun>,
    pub(crate) active: ActiveRuns,
    pub(crate) parked: ParkedRuns,
    /// Runs with an end still to be recorded.
    pub(crate) queue_exits: VecDeque<QueueExit>,
    pub(crate) slots: SlotSchedule,
    pub(crate) zones: ZoneRules,
    pub(crate) listeners: EventListeners,
    pub(crate) incidents: OpenIncidents,
    pub(crate) store_backoff: StoreBackoff,
    /// Whether the runs of an earlier process are in their lanes; nothing is claimed before.
    pub(crate) is_recovered: bool,
    pub(crate) inbox: Inbox,
}

impl Engine {
    /// Whether slots fire at `at`. A pause that is over by then is ignored, even before the end of the pause is
    /// recorded.
    fn firing_at(&self, at: UnixMs) -> Firing {
        let is_paused = self.pause.is_some_and(|pause| pause.covers(at));
        if !self.config.firing {
            Firing::Off(self.config.off_reason.clone())
        } else if is_paused {
            Firing::Off(PAUSED.to_owned())
        } else {
            Firing::On
        }
    }

    fn pause_end(&self) -> Option<UnixMs> {
        self.pause.and_then(|pause| pause.until)
    }

    /// The earliest next slot of all jobs.
    async fn next_due(&mut self) -> Result<Option<UnixMs>, StoreError> {
        if self.slots.is_stale() {
            self.slots.set_next_due(self.store.next_due_at().await?);
        }
        Ok(self.slots.last_next_due())
    }

    /// The earliest instant of anything but a slot that needs the engine.
    fn next_wake_besides_slots(&self, now: UnixMs, monotonic: Duration) -> Option<UnixMs> {
        let wall = |at: Option<Duration>| at.map(|at| wall_instant(now, monotonic, at));
        let deadline = wall(self.active.next_deadline());
        if let Some(until) = self.store_backoff.pauses_until(monotonic) {
            return [deadline, wall(Some(until))].into_iter().flatten().min();
        }
        let backoff_end = wall(self.active.next_backoff_end());
        let request_due = self.heartbeat.request_due_at().filter(|_| self.may_request_turn());
        let instants = [
            deadline,
            backoff_end,
            self.pause_end(),
            self.heartbeat.next_at,
            wall(request_due),
            self.parked.next_expiry(),
        ];
        instants.into_iter().flatten().min()
    }
}

/// The wall instant at which the monotonic clock shows `at`, rounded up, so never too early. A clock jump wakes the
/// timer, and the instant is computed again.
fn wall_instant(now: UnixMs, monotonic: Duration, at: Duration) -> UnixMs {
    let left = at.saturating_sub(monotonic).as_micros().div_ceil(1_000);
    now.plus_ms(i64::try_from(left).unwrap_or(i64::MAX))
}
