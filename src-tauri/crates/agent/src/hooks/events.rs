//! What hooks are told, as they read it in JSON.
//!
//! Copies of what the engine works with, never the things themselves. Arguments hold handles and no values of secrets.

use std::path::Path;

use rouse_core::tool::ToolSpec;
use rouse_core::{JobId, RunId, SessionKey};
use serde::Serialize;
use serde_json::Value;

/// Whose run it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookContext {
    /// The job; `main` for the main session.
    pub agent_id: String,
    /// `main` or `cron:<jobId>`.
    pub session_key: String,
    /// The session itself, which all runs of one job share, and all turns of the main session: its key, because a session
    /// has no other name.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// The folder that file tools see.
    pub workspace_dir: String,
}

impl HookContext {
    /// That of a run of `job`, or of the main session, which works in `workspace`.
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
    /// What is offered to the model, after every policy.
    pub tools: Vec<ToolMetadata>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Whose attempt it is.
    pub context: HookContext,
}

/// What is said of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMetadata {
    /// Its name.
    pub name: String,
    /// What it does in a few words for people, where somebody has said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A copy of the JSON Schema of its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

impl ToolMetadata {
    /// What is said of these tools. One without a name is left out, and so is what says nothing.
    #[must_use]
    pub fn of_all(tools: &[ToolSpec]) -> Vec<Self> {
        let named = tools.iter().filter(|spec| !spec.name.trim().is_empty());
        named.map(Self::of).collect()
    }

    fn of(spec: &ToolSpec) -> Self {
        let description = Some(spec.description.clone()).filter(|text| !text.trim().is_empty());
        let parameters = Some(spec.parameters.clone()).filter(|schema| !schema.is_null());
        let label = spec.label.clone().filter(|label| !label.trim().is_empty());
        Self { name: spec.name.clone(), label, description, parameters }
    }
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallSeen {
    /// The tool.
    pub tool: String,
    /// Its arguments, with handles where secrets stand.
    pub arguments: Value,
    /// Whose call it is.
    pub context: HookContext,
}

/// A call that was made or refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallEnded {
    /// The tool.
    pub tool: String,
    /// Its arguments, with handles where secrets stand.
    pub arguments: Value,
    /// What it answered, without secrets.
    pub output: Value,
    /// Whether it went wrong or was refused.
    pub is_error: bool,
    /// How long it took.
    pub duration_ms: i64,
    /// Whose call it was.
    pub context: HookContext,
}

/// A run whose first attempt begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSeen {
    /// The run.
    pub run_id: String,
    /// Its job; none for the main session.
    pub job_id: Option<String>,
    /// The job's name.
    pub job_name: String,
    /// Why it fires: `schedule`, `manual`, …
    pub trigger: String,
    /// Whose run it is.
    pub context: HookContext,
}

/// A run that has begun some time and is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnded {
    /// The run, as it was told when it began.
    #[serde(flatten)]
    pub run: RunSeen,
    /// `succeeded`, `timedOut`, …, as it stands on record.
    pub state: String,
    /// How many attempts it took.
    pub attempts: u32,
    /// What it says of itself.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Why it was ended, where nothing went wrong.
    pub reason: Option<String>,
}

/// Something that is about to be handed to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliverySeen {
    /// The delivery.
    pub delivery_id: String,
    /// `notification`, …
    pub channel: String,
    /// To whom, where the channel needs it.
    pub to: Option<String>,
    /// The first line.
    pub title: String,
    /// The text.
    pub body: String,
    /// Whose run it tells of; none of a test, and of what tells of several.
    pub context: Option<HookContext>,
}
