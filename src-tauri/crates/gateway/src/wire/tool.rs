//! `tools.*`: the tool catalogue, the tools of a job, trial calls, and built tools.

pub use rouse_core::extension::{
    ToolBuild, ToolBuildState, ToolLanguage, ToolOrigin, ToolSourceFile, ToolTestResult,
};
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

/// `tools.build`: a run that builds a tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsBuildParams {
    /// What the tool does, in the person's words.
    pub task: String,
    /// Name of a built tool to change. Default: a new tool.
    #[ts(optional)]
    pub tool: Option<String>,
    /// Model, as `provider/model`. Default: the active model.
    #[ts(optional)]
    pub model: Option<String>,
}

/// `tools.build`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsBuildResult {
    /// Job of the run. Deleted after a run that succeeded.
    pub job_id: String,
    /// Run.
    pub run_id: String,
}

/// `tools.builds`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolBuildsResult {
    /// The newest version of each built tool, and its accepted version; the version checked last first.
    pub builds: Vec<ToolBuildSummary>,
}

/// A version of a built tool, without files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolBuildSummary {
    /// Name of the tool.
    pub name: String,
    /// SHA-256 of the folder, in hexadecimal digits.
    pub hash: String,
    /// Description by the manifest; none if the manifest could not be parsed.
    pub description: Option<String>,
    /// Version by the manifest.
    pub version: Option<String>,
    /// Language.
    pub language: ToolLanguage,
    /// State.
    pub state: ToolBuildState,
    /// Number of tests.
    pub tests: u32,
    /// Number of passed tests.
    pub passed_tests: u32,
    /// Number of validation errors.
    pub errors: u32,
    /// Whether the version comes from a run that had read untrusted input.
    pub is_tainted: bool,
    /// Run that made the version; none for a person's own check.
    pub run_id: Option<String>,
    /// Time of the last check.
    pub checked_at_ms: i64,
}

/// A version of a built tool by its name.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolBuildParams {
    /// Name of the tool.
    pub name: String,
    /// SHA-256 of the folder, or its first digits. Default: the version checked last.
    #[ts(optional)]
    pub hash: Option<String>,
}

/// `tools.source`: a version of a built tool with its files.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolBuildDetail {
    /// The version.
    pub build: ToolBuild,
    /// What a call can reach, as sentences; none if the manifest could not be parsed.
    pub reach: Option<String>,
    /// All versions of the tool; the version checked last first.
    pub versions: Vec<ToolBuildSummary>,
    /// Folder of the version, for an installation by a person; none for a version that a person checked.
    pub folder: Option<String>,
}

/// `tools.check`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCheckParams {
    /// Absolute path of the tool's folder.
    pub folder: String,
}

/// A built tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BuiltToolRef {
    /// Name of the tool.
    pub name: String,
}
