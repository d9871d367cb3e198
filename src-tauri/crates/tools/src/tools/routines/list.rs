//! `routine_list`: lists the person's jobs.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::RoutineAction;
use super::summary;
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::{object_schema, read_only_spec};

const DEFAULT_JOBS: u32 = 25;
const MAX_JOBS: u32 = 100;

pub(super) struct List;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    search: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl RoutineAction for List {
    fn spec() -> ToolSpec {
        let description = "Lists the person's routines by next fire time, with ids, revisions, next times and last outcomes. \
                           Never describe a routine from memory: look it up here.";
        let parameters = object_schema(
            &[],
            json!({
                "search": { "type": "string", "description": "Words in name, description or task.", "maxLength": 200 },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_JOBS, "description": format!("Default: {DEFAULT_JOBS}.") },
                "cursor": { "type": "string", "description": "The nextCursor of the previous page.", "maxLength": 500 },
            }),
        );
        let base = read_only_spec("routine_list", "List jobs", description, parameters);
        // Errors of runs quote programs and pages.
        ToolSpec { untrusted_output: true, ..base }
    }

    fn parse(arguments: &Value, _: &ToolContext) -> Result<RoutineRequest, String> {
        let Arguments { search, limit, cursor } = arguments::parse(arguments)?;
        Ok(RoutineRequest::List {
            search,
            limit: limit.unwrap_or(DEFAULT_JOBS).clamp(1, MAX_JOBS),
            cursor,
        })
    }

    fn result(response: &Value, context: &ToolContext) -> ToolResult {
        let jobs = response["jobs"].as_array().into_iter().flatten();
        let routines: Vec<Value> = jobs.map(|job| summary::job_summary(job, context)).collect();
        let lines: Vec<String> = routines.iter().map(summary::job_line).collect();
        let summary = if lines.is_empty() { "No jobs.".to_owned() } else { lines.join("\n") };
        let mut value = json!({});
        if !response["nextCursor"].is_null() {
            value["nextCursor"] = response["nextCursor"].clone();
        }
        value["routines"] = routines.into();
        ToolResult { value, summary, ..ToolResult::default() }
    }
}
