//! `hooks.list`: configured hooks, which Rouse notifies or consults.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `hooks.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HooksListResult {
    /// The hooks of the settings file, in order.
    pub hooks: Vec<HookView>,
}

/// A hook with call statistics since the start.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HookView {
    /// Step at which the hook runs, such as `before_tool_call`.
    pub on: String,
    /// Whether the hook is consulted, so that a failure counts as deny. Otherwise the hook is only notified.
    pub is_consulted: bool,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Timeout in milliseconds.
    pub timeout_ms: u64,
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls.
    pub failures: u64,
    /// Last call; none before the first.
    pub last: Option<HookCallView>,
}

/// A call of a hook.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HookCallView {
    /// End of the call.
    pub at_ms: i64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Error; none after success.
    pub problem: Option<String>,
}
