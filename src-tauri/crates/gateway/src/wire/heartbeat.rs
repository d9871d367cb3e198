//! The heartbeat and `wake`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::WakeMode;

/// `wake`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct WakeParams {
    /// The line for the main session.
    pub text: String,
    /// `now` when absent.
    pub mode: Option<WakeMode>,
    /// Why a turn is asked for now, for the status of the heartbeat and the run; at most 200 characters. `wake` when absent.
    pub reason: Option<String>,
    /// What asks for a turn within so many milliseconds is the same one: 0 to 60,000; 250 when absent.
    pub coalesce_ms: Option<i64>,
}

/// `wake`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WakeResult {
    /// Lines that now wait for the main session.
    pub queued: u32,
    /// What happens next, in words.
    pub outcome: String,
}

/// `heartbeat.status`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatus {
    /// Whether the periodic turn is on.
    pub enabled: bool,
    /// Milliseconds between beats.
    pub every_ms: i64,
    /// When it may beat by itself, such as `08:00–22:00`; always when none.
    pub active_hours: Option<String>,
    /// The next beat.
    pub next_at_ms: Option<i64>,
    /// Why the last beat did nothing, or why there is none.
    pub last_skip_reason: Option<String>,
    /// The last beat that was left out, whatever came since; none when none was.
    #[serde(default)]
    pub last_skip: Option<LastSkip>,
    /// Lines that wait for the main session.
    pub queued_events: u32,
    /// What a turn that was asked for still waits for; none when none was.
    pub pending: Option<String>,
    /// The newest request for a turn since the engine began, also one that became the turn of another.
    #[serde(default)]
    pub last_request: Option<LastRequest>,
    /// HEARTBEAT.md, when an agent may have written it and nobody has looked at it since.
    #[serde(default)]
    pub changed_list: Option<ChangedList>,
}

/// A request for a turn of the main session.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LastRequest {
    /// Why, in the words of whoever asked: `wake`, `cron:<jobId>`, or what they said.
    pub reason: String,
    /// When.
    pub at_ms: i64,
}

/// A beat that was left out.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LastSkip {
    /// Why.
    pub reason: String,
    /// When it would have come.
    pub at_ms: i64,
}

/// HEARTBEAT.md as an agent may have written it: a beat takes it for information and not for instructions.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangedList {
    /// What was at work, in words, or that it is not known.
    pub why: String,
    /// The run of that; none when it is not known.
    pub run_id: Option<String>,
    /// What the file says now.
    pub text: String,
    /// Names this content, for `heartbeat.trust`.
    pub digest: String,
}

/// `heartbeat.trust`: what HEARTBEAT.md says now is the person's word.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTrustParams {
    /// The content that was shown.
    pub digest: String,
}

/// `set-heartbeats`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetHeartbeatsParams {
    /// On or off.
    pub enabled: bool,
}
