//! The commands of the person's that are told of runs, or asked about them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `hooks.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HooksListResult {
    /// Those in force, in their order. Only the settings file names them; no client can.
    pub hooks: Vec<HookView>,
}

/// One hook, and how it did since Rouse began.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HookView {
    /// The step at which it runs, such as `before_tool_call`.
    pub on: String,
    /// Whether it is asked, so that a failure is a no; else it is only told.
    pub is_asked: bool,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// How often it was told or asked.
    pub calls: u64,
    /// How often it failed.
    pub failures: u64,
    /// The last time; none when it was neither told nor asked yet.
    pub last: Option<HookCallView>,
}

/// One time a hook was told or asked.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HookCallView {
    /// When it had ended.
    pub at_ms: i64,
    /// How long it took.
    pub took_ms: u64,
    /// What went wrong; none when nothing did.
    pub problem: Option<String>,
}
