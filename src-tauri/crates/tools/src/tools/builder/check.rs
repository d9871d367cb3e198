//! `tool_check`: makes a version of a tool and runs its tests in the sandbox, without a network.
//!
//! Owns the answer: facts, and what to do next. The call needs no approval, because nothing is installed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::{ToolBuild, ToolBuilds, ToolVersionChange};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{execution_failure, invalid_arguments, name_parameter, parse_name};
use crate::arguments;
use crate::output::success;
use crate::spec::{object_schema, read_only_spec};

/// The time limit of a check: the compilation, and all tests.
const CHECK_TIME: Duration = Duration::from_mins(5);

/// The maximum files of a call.
const MAX_FILES: usize = 50;

pub(super) struct ToolCheckTool {
    spec: ToolSpec,
    builds: Arc<dyn ToolBuilds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    #[serde(default)]
    files: Vec<ChangedFile>,
    #[serde(default)]
    delete: Vec<String>,
}

/// A file with its new text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedFile {
    path: String,
    content: String,
}

impl ToolCheckTool {
    pub(super) fn new(builds: Arc<dyn ToolBuilds>) -> Self {
        let description = "Writes files of a tool, runs every test in the sandbox without a network, and answers the errors, the result of each test and the hash. The files of the last check stay: send changed files only.";
        let file = object_schema(
            &["path", "content"],
            json!({
                "path": { "type": "string", "description": "Such as tool.toml or tool.js.", "minLength": 1, "maxLength": 200 },
                "content": { "type": "string", "maxLength": 1 << 20 },
            }),
        );
        let path = json!({ "type": "string", "minLength": 1, "maxLength": 4_096 });
        let properties = json!({
            "name": name_parameter(),
            "files": { "type": "array", "items": file, "maxItems": MAX_FILES },
            "delete": { "type": "array", "description": "Paths of files to delete.", "items": path, "maxItems": MAX_FILES },
        });
        let parameters = object_schema(&["name"], properties);
        let base = read_only_spec("tool_check", "Check a tool", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { destructive: false, ..Annotations::OVERWRITES },
            rate: RateLimit { per_minute: 20, per_hour: 200 },
            call_for: CHECK_TIME,
            listed_only: true,
            ..base
        };
        Self { spec, builds }
    }

    async fn check(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let Arguments { name, files, delete } =
            arguments::parse(arguments).map_err(invalid_arguments)?;
        let name = parse_name(&name).map_err(invalid_arguments)?;
        let texts = files.into_iter().map(|file| (file.path, Some(file.content)));
        let files: BTreeMap<_, _> =
            texts.chain(delete.into_iter().map(|path| (path, None))).collect();
        let change = ToolVersionChange { name, files };
        let checked = self.builds.check_change(change, &context.run_id).await;
        let build = checked.map_err(execution_failure)?;
        Ok(success(answer(&build)).in_words(&summary(&build)))
    }
}

impl Tool for ToolCheckTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.check(call.arguments(), context).await.unwrap_or_else(|output| output)
        })
    }
}

fn answer(build: &ToolBuild) -> Value {
    let next = if build.passed() {
        "Offer this version with tool_offer and this hash."
    } else {
        "Repair the errors and the failed tests, then check again."
    };
    json!({
        "name": build.name,
        "hash": build.hash,
        "passed": build.passed(),
        "errors": build.errors,
        "tests": build.tests,
        "engine": format!("{} {}", build.engine, build.engine_version),
        "next": next,
    })
}

fn summary(build: &ToolBuild) -> String {
    let passed = build.tests.iter().filter(|test| test.passed).count();
    let (name, tests) = (&build.name, build.tests.len());
    match build.errors.first() {
        Some(error) => format!("{name} has errors: {error}"),
        None => format!("{name}: {passed} of {tests} tests passed"),
    }
}
