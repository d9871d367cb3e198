//! `tool_list`: the built tools with their newest and their accepted version.

use std::sync::Arc;

use rouse_core::extension::{ToolBuild, ToolBuilds};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::execution_failure;
use crate::output::success;
use crate::spec::{object_schema, read_only_spec};

pub(super) struct BuiltToolList {
    spec: ToolSpec,
    builds: Arc<dyn ToolBuilds>,
}

impl BuiltToolList {
    pub(super) fn new(builds: Arc<dyn ToolBuilds>) -> Self {
        let description = "Lists the tools that were built on this computer, with their newest and accepted versions.";
        let parameters = object_schema(&[], json!({}));
        let base = read_only_spec("tool_list", "List built tools", description, parameters);
        Self { spec: ToolSpec { listed_only: true, ..base }, builds }
    }
}

impl Tool for BuiltToolList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.builds.list(None).await {
                Ok(builds) => {
                    let words = match builds.len() {
                        0 => "No built tools.".to_owned(),
                        count => format!("{count} versions of built tools"),
                    };
                    let tools: Vec<Value> = builds.iter().map(line).collect();
                    success(json!({ "tools": tools })).in_words(&words)
                }
                Err(problem) => execution_failure(problem),
            }
        })
    }
}

fn line(build: &ToolBuild) -> Value {
    let passed = build.tests.iter().filter(|test| test.passed).count();
    let mut line = json!({
        "name": build.name,
        "state": build.state,
        "language": build.language,
        "tests": format!("{passed} of {} passed", build.tests.len()),
        "hash": build.hash,
    });
    if build.is_trusted() {
        line["description"] = build.manifest["description"].clone();
        line["version"] = build.manifest["version"].clone();
    }
    line
}
