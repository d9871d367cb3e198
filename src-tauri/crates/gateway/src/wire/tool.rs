//! The tools' catalogue.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::JobDraft;

/// `tools.catalog`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCatalogResult {
    /// By name.
    pub tools: Vec<ToolView>,
}

/// One tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// What it does in a few words for people, such as "Read a file"; none where nobody has said it.
    pub label: Option<String>,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    #[ts(type = "Record<string, unknown>")]
    pub parameters: Value,
    /// Whether its calls are asked for, when a call says nothing finer; of a job, in its runs.
    pub approval: ToolApproval,
    /// Where it runs.
    pub domain: ToolDomain,
    /// Most calls a minute, by all jobs and the main session together; none where nothing limits them.
    pub calls_per_minute: Option<u32>,
    /// Most calls an hour, in the same way.
    pub calls_per_hour: Option<u32>,
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or overwrite what was there.
    pub destructive: bool,
    /// Doing the same call again changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
    /// Its answers may be somebody else's words.
    pub reads_outside: bool,
    /// Only a turn that a person has started may call it.
    pub attended_only: bool,
    /// Whether a person can try it out by itself (`tools.try`).
    pub can_be_tried: bool,
    /// Why no call of it that a model makes can be carried out on this computer, and what to do; none when one can.
    pub why_not_here: Option<String>,
}

/// Whether the calls of a tool are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words are documented in rouse_core::tool")]
pub enum ToolApproval {
    Never,
    UnlessGranted,
    Always,
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words are documented in rouse_core::tool")]
pub enum ToolDomain {
    InProcess,
    Container,
}

/// `tools.effective`: of a job that is stored, or of one as it stands in a form.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsEffectiveParams {
    /// The stored job.
    #[serde(alias = "jobId")]
    #[ts(optional)]
    pub id: Option<String>,
    /// The job as it stands in the form; nothing is saved. Its grants are those of the stored job with its id.
    #[ts(optional, as = "Option<JobDraft>")]
    pub job: Option<Value>,
}

/// `tools.effective`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsEffectiveResult {
    /// What the job's model is offered; the one tool of a job without a model.
    pub tools: Vec<ToolView>,
    /// What it is not offered although the job was granted calls of it, because each would be refused.
    pub withheld: Vec<WithheldTool>,
    /// Why these are only tools that look, as a sentence.
    pub ceiling: Option<String>,
    /// Why a run of the job would not begin: it names a skill that cannot be used.
    pub problem: Option<String>,
}

/// A tool that a job's model is not offered although the job was granted calls of it.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WithheldTool {
    /// Its name.
    pub name: String,
    /// Why each call would be refused, and what a person can do.
    pub why: String,
}

/// `tools.try`: one call, made by a person to see what the tool does. It passes the same gate as every call.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsTryParams {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, as its schema wants them; none when absent.
    #[ts(type = "Record<string, unknown>", optional)]
    pub arguments: Option<Value>,
}

/// `tools.try`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsTryResult {
    /// The run that makes the call. It parks when the call needs a yes.
    pub run_id: String,
}
