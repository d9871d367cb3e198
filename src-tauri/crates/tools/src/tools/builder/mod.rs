//! `tool_list`, `tool_source`, `tool_check`, `tool_offer`: the verbs with which an agent builds a tool.
//!
//! Owns the arguments and the answers. The port [`ToolBuilds`] owns versions, checks and the installation. Never calls a
//! model, and never installs without an approval. Pitfall: untrusted text in an answer; a model reads only versions that
//! are trusted, and the result of its own check.

mod check;
mod list;
mod offer;
mod offer_text;
mod source;

use std::sync::Arc;

use rouse_core::extension::{ExtensionName, ToolBuilds};
use rouse_core::tool::{Fault, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::output::failure;

/// The tools of the builder.
#[must_use]
pub fn builder_tools(builds: Arc<dyn ToolBuilds>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(list::BuiltToolList::new(Arc::clone(&builds))),
        Arc::new(source::ToolSource::new(Arc::clone(&builds))),
        Arc::new(check::ToolCheckTool::new(Arc::clone(&builds))),
        Arc::new(offer::ToolOfferTool::new(builds)),
    ]
}

fn parse_name(name: &str) -> Result<ExtensionName, String> {
    name.parse().map_err(|error| format!("{error}."))
}

fn invalid_arguments(problem: String) -> ToolOutput {
    failure(Fault::InvalidParameters, problem)
}

fn execution_failure(problem: String) -> ToolOutput {
    failure(Fault::Execution, problem)
}

fn name_parameter() -> Value {
    json!({ "type": "string", "description": "Name of the tool.", "minLength": 1, "maxLength": 20 })
}

fn hash_parameter(description: &str) -> Value {
    json!({ "type": "string", "description": description, "minLength": 64, "maxLength": 64 })
}
