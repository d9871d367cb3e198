//! The events of hooks, as JSON.
//!
//! Copies of the engine's data. Arguments hold secret handles, never the values.

use std::path::Path;

use rouse_core::extension::ToolOrigin;
use rouse_core::tool::ToolSpec;
use rouse_core::{JobId, RunId, SessionKey};
use serde::Serialize;
use serde_json::Value;

/// The run of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookContext {
    /// The job; `main` for the main session.
    pub agent_id: String,
    /// `main` or `cron:<jobId>`.
    pub session_key: String,
    /// Equal to the key: all runs of a job share a session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// The folder of the file tools.
    pub workspace_dir: String,
}

impl HookContext {
    /// The context of a run of `job`, or of the main session.
    #[must_use]
    pub fn of(run: &RunId, job: Option<&JobId>, workspace: &Path) -> Self {
        let session = job.map_or_else(SessionKey::main, SessionKey::of_job).to_string();
        Self {
            agent_id: job.map_or_else(|| "main".to_owned(), ToString::to_string),
            session_key: session.clone(),
            session_id: session,
            run_id: run.to_string(),
            workspace_dir: workspace.display().to_string(),
        }
    }
}

/// The tools of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsResolved {
    /// The tools offered to the model, after every policy, with those that the model has to search for.
    pub tools: Vec<ToolMetadata>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The run.
    pub context: HookContext,
}

/// A tool in [`ToolsResolved`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMetadata {
    /// The name.
    pub name: String,
    /// A short label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The MCP server with its version, and the hash of the accepted definition; none for a built-in tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<ToolOrigin>,
}

impl ToolMetadata {
    /// The metadata of `tools`. Omits tools without a name, and blank fields.
    #[must_use]
    pub fn of_all<'t>(tools: impl IntoIterator<Item = &'t ToolSpec>) -> Vec<Self> {
        let named = tools.into_iter().filter(|spec| !spec.name.trim().is_empty());
        named.map(Self::of).collect()
    }

    fn of(spec: &ToolSpec) -> Self {
        let description = Some(spec.description.clone()).filter(|text| !text.trim().is_empty());
        let parameters = Some(spec.parameters.clone()).filter(|schema| !schema.is_null());
        let label = spec.label.clone().filter(|label| !label.trim().is_empty());
        let origin = spec.origin.clone();
        Self { name: spec.name.clone(), label, description, parameters, origin }
    }
}

/// A call before the execution.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallEvent {
    /// The tool.
    pub tool: String,
    /// The arguments, with secret handles.
    pub arguments: Value,
    /// The run.
    pub context: HookContext,
}

/// A call that was made or refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallEnded {
    /// The tool.
    pub tool: String,
    /// The arguments, with secret handles.
    pub arguments: Value,
    /// The result, with secrets redacted.
    pub output: Value,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// The duration in milliseconds.
    pub duration_ms: i64,
    /// The run.
    pub context: HookContext,
}

/// A run before the first attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStartedEvent {
    /// The run.
    pub run_id: String,
    /// The job; none for the main session.
    pub job_id: Option<String>,
    /// The name of the job.
    pub job_name: String,
    /// `schedule`, `manual`, …
    pub trigger: String,
    /// The run as in other events.
    pub context: HookContext,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFinishedEvent {
    /// The event of the start.
    #[serde(flatten)]
    pub run: RunStartedEvent,
    /// The final state: `succeeded`, `timedOut`, …
    pub state: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The summary of the run.
    pub summary: Option<String>,
    /// The error of a failed run.
    pub error: Option<String>,
    /// The reason of a run that ended without an error.
    pub reason: Option<String>,
}

/// A delivery before the hand-over to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryEvent {
    /// The delivery.
    pub delivery_id: String,
    /// `notification`, …
    pub channel: String,
    /// The recipient, if the channel has several.
    pub to: Option<String>,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// The run; none for a test or a digest of several runs.
    pub context: Option<HookContext>,
}
