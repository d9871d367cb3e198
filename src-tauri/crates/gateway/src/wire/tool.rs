//! `tools.*`: the tool catalogue, the tools of a job, and trial calls.

pub use rouse_core::extension::ToolOrigin;
pub use rouse_core::tool::{ApprovalRule, ToolDomain};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::job::JobDraft;

/// `tools.catalog`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCatalogResult {
    /// The tools: built-in tools, then the accepted tools of MCP servers.
    pub tools: Vec<ToolView>,
    /// Tools of MCP servers that are not offered because of an invalid name or schema.
    pub refused: Vec<RefusedToolView>,
}

/// A tool of an MCP server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefusedToolView {
    /// Name.
    pub name: String,
    /// The reason, as a sentence.
    pub reason: String,
}

/// A tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Name.
    pub name: String,
    /// Label, such as "Read a file"; none for a tool without a label.
    pub label: Option<String>,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    #[ts(type = "Record<string, unknown>")]
    pub parameters: Value,
    /// Default approval rule of calls, in the runs of the job if one is given.
    pub approval: ApprovalRule,
    /// Execution domain.
    pub domain: ToolDomain,
    /// Rate limit per minute over all runs; none without a limit.
    pub calls_per_minute: Option<u32>,
    /// Rate limit per hour over all runs; none without a limit.
    pub calls_per_hour: Option<u32>,
    /// Whether calls have no side effects.
    pub read_only: bool,
    /// Whether calls may delete or overwrite data.
    pub destructive: bool,
    /// Whether a repeated call has no further effect.
    pub idempotent: bool,
    /// Whether calls reach other machines.
    pub open_world: bool,
    /// Whether results may hold untrusted input.
    pub reads_untrusted: bool,
    /// Whether only attended turns may call the tool.
    pub attended_only: bool,
    /// Whether `tools.try` accepts the tool.
    pub can_be_tried: bool,
    /// Why models cannot use the tool on this computer, and the fix; none if available.
    pub unavailable_reason: Option<String>,
    /// The MCP server of the tool and the accepted definition; none for a built-in tool.
    pub origin: Option<ToolOrigin>,
}

/// `tools.effective`: the tools of a stored or unsaved job.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsEffectiveParams {
    /// Id of the stored job.
    #[serde(alias = "jobId")]
    #[ts(optional)]
    pub id: Option<String>,
    /// The unsaved job. Grants come from the stored job with the same id.
    #[ts(optional, as = "Option<JobDraft>")]
    pub job: Option<Value>,
}

/// `tools.effective`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsEffectiveResult {
    /// Tools of the model, or the one tool of a job without a model.
    pub tools: Vec<ToolView>,
    /// Names of the tools that requests leave out until the model finds them with `tool_search`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub searchable: Vec<String>,
    /// Granted tools withheld from the model, because every call would be refused.
    pub withheld: Vec<WithheldTool>,
    /// Why the job is limited to read-only tools, as a sentence.
    pub ceiling: Option<String>,
    /// Why no run could start, such as an unusable skill.
    pub problem: Option<String>,
}

/// A granted tool that is withheld from the model.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WithheldTool {
    /// Name of the tool.
    pub name: String,
    /// Why every call would be refused, and the fix.
    pub reason: String,
}

/// `tools.try`: a trial call by the person, through the same gate as every call.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsTryParams {
    /// Name of the tool.
    pub tool: String,
    /// Arguments. Default: none.
    #[ts(type = "Record<string, unknown>", optional)]
    pub arguments: Option<Value>,
}

/// `tools.try`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsTryResult {
    /// Run of the call, which parks if the call needs approval.
    pub run_id: String,
}
