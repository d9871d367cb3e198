//! The job format: what the user schedules, as JSON (camelCase) and as types.
//!
//! Owns the shapes of the cron RFC plus Rouse's own optional fields, their reading with exact complaints and their
//! writing back. Unknown keys survive a round trip at every level, so that a file from a newer Rouse, or from another
//! program, loses nothing here. It refuses to know what is due (`slots`) or what a run did (`run`).

mod parse;
mod author;
mod bounds;
mod claimed;
mod facts;
mod folder;
mod named;
mod payload;
mod policies;
mod schedule;
mod work;
mod write;

pub use author::{CREATED_BY, MESSAGE_BY, signature};
pub use facts::facts;
pub use folder::{FolderAccess, FolderGrant};
pub use named::NamedGrants;
pub use parse::{
    JobError, check_bounds, imported_job_from_json, job_from_json, patch_job, schedule_from_json,
    stored_job_from_json, stored_payload_from_json, stored_schedule_from_json, strangers_of_state,
};
pub use payload::{AgentTurn, NotifyWhen, Payload, ToolCall};
pub use policies::{Approvals, Budget, Misfire, MisfireMode, Notify, Overlap, Policies, Sandbox};
pub use schedule::{EventTrigger, Schedule, ScheduleSpec};
pub use write::{job_to_json, payload_to_json, state_to_json};

use serde_json::{Map, Value};

use crate::slots::DecidedSlots;
use crate::{JobId, RunState, UnixMs};

/// What the user schedules: trigger + payload + policies.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Identity, for ever.
    pub id: JobId,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// A disabled job has no next slot.
    pub enabled: bool,
    /// When it was made.
    pub created_at: UnixMs,
    /// When its definition last changed.
    pub updated_at: UnixMs,
    /// When it fires.
    pub schedule: Schedule,
    /// Which conversation it works in.
    pub session_target: SessionTarget,
    /// Whether a main-session event asks for a turn at once.
    pub wake_mode: WakeMode,
    /// What a run does.
    pub payload: Payload,
    /// Settings of the isolated session.
    pub isolation: Option<Isolation>,
    /// Retries.
    pub runtime: Option<Runtime>,
    /// Misfires, overlap, limits.
    pub policies: Policies,
    /// Disappears after its first finished run.
    pub delete_after_run: bool,
    /// What the engine knows about it; never set by people.
    pub state: JobState,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// Which session a job works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTarget {
    /// Queues system events for the main session.
    Main,
    /// Works in its own session `cron:<jobId>`.
    Isolated,
}

/// When the main session gets its turn after an event was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeMode {
    /// At once.
    Now,
    /// With the next heartbeat.
    NextHeartbeat,
}

/// Settings of an isolated job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Isolation {
    /// Stands before the summary that is posted to main; `Cron` when absent.
    pub post_to_main_prefix: Option<String>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// Best-effort retries of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Runtime {
    /// Attempts in all, the first included.
    pub max_attempts: Option<u32>,
    /// Milliseconds before the second attempt; doubles from there.
    pub retry_backoff_ms: Option<u64>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// What the engine knows about a job. Written only by the store's verbs, but for keys that are not its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobState {
    /// The next slot; none for a disabled, finished or manual job.
    pub next_run_at: Option<UnixMs>,
    /// Up to where its slots are decided, which the job format does not tell.
    pub decided: DecidedSlots,
    /// When the newest run started.
    pub last_run_at: Option<UnixMs>,
    /// The newest run's final state.
    pub last_state: Option<RunState>,
    /// The newest run's failure or reason.
    pub last_error: Option<String>,
    /// How long the newest run took.
    pub last_duration_ms: Option<i64>,
    /// Failures in a row up to now.
    pub consecutive_failures: u32,
    /// Grows with every change of the definition; updates carry the one they saw.
    pub revision: i64,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

impl Job {
    /// The prefix of the summary in the main session.
    #[must_use]
    pub fn main_prefix(&self) -> &str {
        self.isolation.as_ref().and_then(|i| i.post_to_main_prefix.as_deref()).unwrap_or("Cron")
    }

    /// The run's time limit in seconds: the policy's, else the payload's, else ten minutes.
    #[must_use]
    pub fn timeout_seconds(&self) -> u32 {
        let of_payload = match &self.payload {
            Payload::AgentTurn(turn) => turn.timeout_seconds,
            Payload::SystemEvent { .. } | Payload::ToolCall(_) => None,
        };
        self.policies.timeout_seconds.or(of_payload).unwrap_or(600)
    }
}
