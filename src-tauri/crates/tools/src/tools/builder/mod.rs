//! `tool_list`, `tool_source`, `tool_check`, `tool_offer`: the verbs with which an agent builds a tool.
//!
//! Owns the arguments and the answers. The port [`ToolBuilds`] owns drafts, checks and the installation. Never calls a
//! model, and never installs without an approval. Pitfall: the text of a tainted version in an answer; only a version
//! that a person accepted, or an untainted one, is shown to a model.

mod check;
mod list;
mod offer;
mod offer_text;
mod source;

use std::path::Path;
use std::sync::Arc;

use rouse_core::extension::{ExtensionName, ToolBuild, ToolBuildState, ToolBuilds};
use rouse_core::tool::{Fault, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::output::failure;

/// The tools of the builder. `hidden` is Rouse's own data, which no folder may be.
#[must_use]
pub fn builder_tools(builds: Arc<dyn ToolBuilds>, hidden: &Path) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(list::ToolList::new(Arc::clone(&builds))),
        Arc::new(source::ToolSource::new(Arc::clone(&builds))),
        Arc::new(check::ToolCheckTool::new(Arc::clone(&builds), [hidden.to_owned()].into())),
        Arc::new(offer::ToolOfferTool::new(builds)),
    ]
}

/// Whether a model may read the version: a person accepted it, or no untrusted input was read before.
fn is_readable(build: &ToolBuild) -> bool {
    !build.is_tainted || build.state == ToolBuildState::Accepted
}

fn parse_name(name: &str) -> Result<ExtensionName, ToolOutput> {
    name.parse().map_err(|error| failure(Fault::InvalidParameters, format!("{error}.")))
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
