//! `tool_source`: the files of a version of a built tool, to change it.

use std::sync::Arc;

use rouse_core::extension::{ToolBuild, ToolBuilds};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{execution_failure, hash_parameter, invalid_arguments, name_parameter, parse_name};
use crate::arguments;
use crate::output::{failure, success};
use crate::spec::{object_schema, read_only_spec};

pub(super) struct ToolSource {
    spec: ToolSpec,
    builds: Arc<dyn ToolBuilds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    hash: Option<String>,
}

impl ToolSource {
    pub(super) fn new(builds: Arc<dyn ToolBuilds>) -> Self {
        let description =
            "Reads the files and the test results of a built tool, before you change it.";
        let hash = hash_parameter("Version from tool_list. Default: the version checked last.");
        let properties = json!({ "name": name_parameter(), "hash": hash });
        let parameters = object_schema(&["name"], properties);
        let base = read_only_spec("tool_source", "Read a built tool", description, parameters);
        Self { spec: ToolSpec { listed_only: true, ..base }, builds }
    }

    async fn read(&self, arguments: &Value) -> Result<ToolOutput, ToolOutput> {
        let Arguments { name, hash } = arguments::parse(arguments).map_err(invalid_arguments)?;
        let name = parse_name(&name).map_err(invalid_arguments)?;
        let builds = self.builds.list(Some(&name)).await.map_err(execution_failure)?;
        let is_wanted = |build: &&ToolBuild| hash.as_ref().is_none_or(|hash| build.hash == *hash);
        let build = match builds.iter().find(is_wanted) {
            Some(listed) => self.builds.find(&name, &listed.hash).await,
            None => Ok(None),
        };
        let Some(build) = build.map_err(execution_failure)? else {
            let text = format!("There is no such version of a built tool {name}. See tool_list.");
            return Err(failure(Fault::InvalidParameters, text));
        };
        if !build.is_trusted() {
            let text = format!(
                "You cannot read this version of {name}: it may hold untrusted input, and no person accepted it. Read an accepted version, or write all files yourself with tool_check."
            );
            return Err(failure(Fault::NotAuthorised, text));
        }
        Ok(success(answer(&build)).in_words(&format!("Source of {name}")))
    }
}

impl Tool for ToolSource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.read(call.arguments()).await.unwrap_or_else(|output| output) })
    }
}

fn answer(build: &ToolBuild) -> Value {
    let texts = build.files.iter().map(|file| {
        let text = file.text.clone().unwrap_or_else(|| format!("({} bytes, no text)", file.bytes));
        (file.path.clone(), Value::String(text))
    });
    json!({
        "name": build.name,
        "hash": build.hash,
        "state": build.state,
        "tests": build.tests,
        "errors": build.errors,
        "files": Map::from_iter(texts),
    })
}
