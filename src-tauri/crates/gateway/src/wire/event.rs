//! Numbered events on the stream.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// An event. `seq` grows by one; after a gap a client requests the events again with `after`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Number of the event; 0 for a live event.
    pub seq: i64,
    /// Commit time.
    pub at_ms: i64,
    /// Subject of the event.
    pub kind: EventKindView,
    /// The change.
    #[ts(type = "Record<string, unknown>")]
    pub data: Value,
}

/// Subject of an event: the stored kinds of `rouse_core::event::EventKind`, and the live kinds of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EventKindView {
    /// A job changed, or a run of the job started or finished: `{jobId, action, status?, error?, nextRunAtMs?, runId?}`.
    /// A change of many jobs, such as new zone rules: `{action, jobs}` with the number of jobs.
    Cron,
    /// A run changed: `{runId, jobId?, state?, step?}`.
    Run,
    /// An approval was requested or decided: `{approvalId, runId, jobId?, state}`. A grant was revoked, or a clock rollback
    /// moved the creation time: `{grantId, action}`.
    Approval,
    /// A delivery changed: `{deliveryId, runId?, state}`.
    Delivery,
    /// The transcript of a session was cleared: `{session, jobId?}`.
    Session,
    /// The heartbeat or the queue of system events changed.
    Heartbeat,
    /// Settings or the global pause changed. Live variant: `{screens}`, the number of desktop apps that show notifications.
    Config,
    /// Live text of a model call: `{runId, turn, text}` with the whole text so far. Empty after an interruption. `turn`
    /// differs between the calls of a run and has no other meaning.
    RunText,
    /// Live: progress of a running call: `{runId, step, tool, text}`.
    RunProgress,
    /// Live: the person viewed a run, so its notification is settled: `{runId}`.
    Seen,
    /// The stream cannot continue from `after`; the client must reload everything.
    Reset,
}
