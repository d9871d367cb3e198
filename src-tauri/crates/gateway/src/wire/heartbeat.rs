//! The heartbeat and `wake`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::job::WakeMode;

/// `wake`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct WakeParams {
    /// The system event for the main session.
    pub text: String,
    /// Default: `now`.
    pub mode: Option<WakeMode>,
    /// Reason for the heartbeat status and the run, at most 200 characters. Default: `wake`.
    pub reason: Option<String>,
    /// Window in milliseconds in which requests coalesce: 0 to 60,000, default 250.
    pub coalesce_ms: Option<i64>,
}

/// `wake`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WakeResult {
    /// Queued system events of the main session.
    pub queued: u32,
    /// Next step of the heartbeat, as a sentence.
    pub outcome: String,
}

/// `heartbeat.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatus {
    /// Whether the periodic heartbeat is enabled.
    pub enabled: bool,
    /// Interval in milliseconds.
    pub every_ms: i64,
    /// Hours of the periodic heartbeat, such as `08:00–22:00`; always when none.
    pub active_hours: Option<String>,
    /// The next heartbeat.
    pub next_at_ms: Option<i64>,
    /// Why the last heartbeat was skipped, or why none is scheduled.
    pub last_skip_reason: Option<String>,
    /// The last skipped heartbeat, even if others ran since.
    #[serde(default)]
    pub last_skip: Option<HeartbeatSkipView>,
    /// Queued system events of the main session.
    pub queued_events: u32,
    /// What a requested turn waits for; none without a request.
    pub pending: Option<String>,
    /// The newest request since the start, including coalesced ones.
    #[serde(default)]
    pub last_request: Option<HeartbeatRequestView>,
    /// HEARTBEAT.md, if an agent may have changed it and the person has not confirmed it since.
    #[serde(default)]
    pub untrusted_list: Option<UntrustedList>,
}

/// A request for a heartbeat turn.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatRequestView {
    /// Reason of the request: `wake`, `cron:<jobId>` or a custom one.
    pub reason: String,
    /// Time of the request.
    pub at_ms: i64,
}

/// A skipped heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatSkipView {
    /// Reason of the skip.
    pub reason: String,
    /// Scheduled time.
    pub at_ms: i64,
}

/// An untrusted HEARTBEAT.md: the heartbeat reads it as information, not as instructions.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UntrustedList {
    /// Possible author of the change, as a sentence.
    pub changed_by: String,
    /// Run of the change; none if unknown.
    pub run_id: Option<String>,
    /// Current text of the file.
    pub text: String,
    /// Digest of the text, for `heartbeat.trust`.
    pub digest: String,
}

/// `heartbeat.trust`: confirms the content of HEARTBEAT.md as the person's instruction.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTrustParams {
    /// Digest of the reviewed text.
    pub digest: String,
}

/// `set-heartbeats`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetHeartbeatsParams {
    /// Whether the periodic heartbeat is enabled.
    pub enabled: bool,
}
