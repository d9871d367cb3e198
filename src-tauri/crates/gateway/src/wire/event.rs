//! Numbered events on the stream.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// One event. `seq` grows by one; a client that sees a gap asks again with `after`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Its number; 0 for a live event that is not stored.
    pub seq: i64,
    /// When it was committed.
    pub at_ms: i64,
    /// What it is about.
    pub kind: EventKind,
    /// The change.
    #[ts(type = "Record<string, unknown>")]
    pub data: Value,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// A job changed, or one of its runs started or finished: `{jobId, action, status?, error?, nextRunAtMs?, runId?}`.
    /// Many jobs moved at once, by other rules of their zone, say: `{action, jobs}`, with how many.
    Cron,
    /// A run changed: `{runId, jobId?, state?, step?}`.
    Run,
    /// A question to a person was asked or has an answer: `{approvalId, runId, jobId?, state}`; or a grant was taken
    /// back, or is given since another instant because the clock was set back: `{grantId, action}`.
    Approval,
    /// A delivery changed: `{deliveryId, runId?, state}`.
    Delivery,
    /// What a session has said was cleared: `{session, jobId?}`.
    Session,
    /// The heartbeat or the queue of system events changed.
    Heartbeat,
    /// Settings or the pause changed; not stored: `{screens}`, how many desktop apps show notifications for this engine.
    Config,
    /// Live words of a model turn, not stored: `{runId, turn, text}` with all the words of that turn so far, the last time
    /// when it is over, and none when it broke off and is said again or not at all. Each turn of a run has a number of its
    /// own, which says nothing but that it is another turn.
    RunText,
    /// A person looked at a run, not stored: `{runId}`; its notification is settled.
    Seen,
    /// The stream cannot continue from `after`: read everything again.
    Reset,
}
