//! One server of the pool: its phase, its leases, and the backoff after failed starts.
//!
//! Owns the state under one lock that no task holds across an await; the gate orders starts, listings and stops. Never
//! starts a server. Pitfall: a start whose caller goes away; its guard resets the phase.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::extension::{
    Extension, ServerDefinition, ServerState, ServerStatus, ServerUnavailable, ToolDefinition,
    ToolListing, UnavailableKind, compare_listing,
};
use rouse_core::{Clock, UnixMs};
use tokio::sync::Notify;

use crate::catalogue::RefusedServerTool;
use crate::connection::Connection;

/// How long a server without a lease stays.
const IDLE_LIMIT: Duration = Duration::from_mins(10);

/// The delay after many failed starts.
const LONGEST_BACKOFF: Duration = Duration::from_mins(5);

/// A server of the pool.
pub(super) struct PooledServer {
    /// Held while the server is started, listed or stopped.
    pub(super) gate: tokio::sync::Mutex<()>,
    /// Ends a start that is under way.
    pub(super) stop_request: Notify,
    record: Mutex<ServerRecord>,
}

struct ServerRecord {
    phase: ServerPhase,
    failed_starts: u32,
    /// The monotonic time of the next attempt.
    retry_at: Duration,
    leases: usize,
    /// The monotonic time of the last end of a lease.
    used_at: Duration,
}

enum ServerPhase {
    Off,
    Starting,
    Running(Arc<RunningServer>),
    Failed {
        failed: FailedStart,
        /// The definition of the start; another one is tried at once.
        definition: Box<ServerDefinition>,
    },
}

/// A server that runs.
pub(super) struct RunningServer {
    pub(super) connection: Connection,
    /// The definition at the start.
    pub(super) definition: ServerDefinition,
    pub(super) started_at: UnixMs,
    pub(super) listed: Mutex<ListedTools>,
}

/// The last list of a server's tools.
#[derive(Clone)]
pub(super) struct ListedTools {
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) refused: Vec<RefusedServerTool>,
    /// The monotonic time of the list.
    pub(super) listed_at: Duration,
}

/// A start that failed.
pub(super) struct FailedStart {
    pub(super) unavailable: ServerUnavailable,
    pub(super) stderr_tail: Option<String>,
}

impl RunningServer {
    /// The last list of tools.
    pub(super) fn listed(&self) -> ListedTools {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The monotonic time of the last list.
    pub(super) fn listed_at(&self) -> Duration {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).listed_at
    }

    /// The last list, compared with the accepted tools of `entry`.
    pub(super) fn listing(&self, entry: &Extension) -> ToolListing {
        compare_listing(&entry.tools, self.listed().tools)
    }
}

impl PooledServer {
    pub(super) fn new() -> Self {
        Self {
            gate: tokio::sync::Mutex::new(()),
            stop_request: Notify::new(),
            record: Mutex::new(ServerRecord {
                phase: ServerPhase::Off,
                failed_starts: 0,
                retry_at: Duration::ZERO,
                leases: 0,
                used_at: Duration::ZERO,
            }),
        }
    }

    /// The running server, unless its connection is closed or its definition is another one.
    pub(super) fn usable(&self, definition: &ServerDefinition) -> Option<Arc<RunningServer>> {
        match &self.record().phase {
            ServerPhase::Running(running)
                if !running.connection.is_closed() && running.definition == *definition =>
            {
                Some(Arc::clone(running))
            }
            _ => None,
        }
    }

    /// The last failure, while the backoff after it lasts.
    pub(super) fn recent_failure(
        &self,
        definition: &ServerDefinition,
        now: Duration,
    ) -> Option<ServerUnavailable> {
        let record = self.record();
        match &record.phase {
            ServerPhase::Failed { failed, definition: tried }
                if **tried == *definition && now < record.retry_at =>
            {
                Some(failed.unavailable.clone())
            }
            _ => None,
        }
    }

    /// Marks the server as starting until the guard is dropped or another phase is set.
    pub(super) fn begin_start(&self) -> StartGuard<'_> {
        self.record().phase = ServerPhase::Starting;
        StartGuard(self)
    }

    pub(super) fn set_running(&self, running: Arc<RunningServer>, now: Duration) {
        let mut record = self.record();
        record.phase = ServerPhase::Running(running);
        record.failed_starts = 0;
        record.used_at = now;
    }

    /// Records a failed start and its backoff.
    pub(super) fn set_failed(
        &self,
        failed: FailedStart,
        definition: &ServerDefinition,
        now: Duration,
    ) {
        let mut record = self.record();
        record.failed_starts = record.failed_starts.saturating_add(1);
        record.retry_at = now + backoff(record.failed_starts);
        record.phase = ServerPhase::Failed { failed, definition: Box::new(definition.clone()) };
    }

    /// Records why the server was not tried; the next use tries at once.
    pub(super) fn set_untried(
        &self,
        unavailable: ServerUnavailable,
        definition: &ServerDefinition,
    ) {
        let failed = FailedStart { unavailable, stderr_tail: None };
        let mut record = self.record();
        record.retry_at = Duration::ZERO;
        record.phase = ServerPhase::Failed { failed, definition: Box::new(definition.clone()) };
    }

    /// Forgets failures, so that the next use tries at once.
    pub(super) fn reset(&self) {
        let mut record = self.record();
        record.phase = ServerPhase::Off;
        record.failed_starts = 0;
    }

    /// Ends the server if it runs. The caller holds the gate.
    pub(super) async fn close(&self) {
        let running = {
            let mut record = self.record();
            match std::mem::replace(&mut record.phase, ServerPhase::Off) {
                ServerPhase::Running(running) => running,
                other => {
                    record.phase = other;
                    return;
                }
            }
        };
        running.connection.close().await;
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.record().phase, ServerPhase::Running(_))
    }

    /// Whether the server runs without a lease for the idle limit.
    pub(super) fn is_idle(&self, now: Duration) -> bool {
        let record = self.record();
        matches!(record.phase, ServerPhase::Running(_))
            && record.leases == 0
            && now.saturating_sub(record.used_at) >= IDLE_LIMIT
    }

    /// The state for people.
    pub(super) fn status(&self) -> ServerStatus {
        let state =
            |state| ServerStatus { state, reason: None, stderr_tail: None, started_at_ms: None };
        match &self.record().phase {
            ServerPhase::Off => state(ServerState::Off),
            ServerPhase::Starting => state(ServerState::Starting),
            ServerPhase::Running(running) => {
                let is_closed = running.connection.is_closed();
                ServerStatus {
                    state: if is_closed { ServerState::Broken } else { ServerState::Ready },
                    reason: is_closed.then(|| running.connection.closed_reason()),
                    stderr_tail: running.connection.stderr_tail(),
                    started_at_ms: Some(running.started_at),
                }
            }
            ServerPhase::Failed { failed, .. } => ServerStatus {
                state: match failed.unavailable.kind {
                    UnavailableKind::NeedsSignIn => ServerState::NeedsSignIn,
                    UnavailableKind::Quarantined => ServerState::Quarantined,
                    _ => ServerState::Broken,
                },
                reason: Some(failed.unavailable.to_string()),
                stderr_tail: failed.stderr_tail.clone(),
                started_at_ms: None,
            },
        }
    }

    fn record(&self) -> MutexGuard<'_, ServerRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The delay after a number of failed starts: 1, 2, 4, 8, 16 s, then 5 min.
fn backoff(failed_starts: u32) -> Duration {
    match failed_starts {
        0 => Duration::ZERO,
        1..=5 => Duration::from_secs(1 << (failed_starts - 1)),
        _ => LONGEST_BACKOFF,
    }
}

/// Resets the phase when a start is abandoned.
pub(super) struct StartGuard<'s>(&'s PooledServer);

impl Drop for StartGuard<'_> {
    fn drop(&mut self) {
        let mut record = self.0.record();
        if matches!(record.phase, ServerPhase::Starting) {
            record.phase = ServerPhase::Off;
        }
    }
}

/// Keeps a server from the idle stop until dropped.
pub(super) struct PoolLease {
    server: Arc<PooledServer>,
    clock: Arc<dyn Clock>,
}

impl PoolLease {
    pub(super) fn new(server: Arc<PooledServer>, clock: Arc<dyn Clock>) -> Self {
        server.record().leases += 1;
        Self { server, clock }
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        let now = self.clock.monotonic();
        let mut record = self.server.record();
        record.leases -= 1;
        record.used_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_five_times_then_stays() {
        let seconds: Vec<u64> = (0..8).map(|failed| backoff(failed).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 300, 300]);
    }
}
