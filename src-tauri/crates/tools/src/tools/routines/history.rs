//! `routine_history`: the latest runs of a job.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::{RoutineAction, id_parameter};
use super::summary;
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::{object_schema, read_only_spec};

const DEFAULT_RUNS: u32 = 10;
const MAX_RUNS: u32 = 50;

pub(super) struct History;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    limit: Option<u32>,
}

impl RoutineAction for History {
    fn spec() -> ToolSpec {
        let description = "Lists the latest runs of a routine, with their outcomes and reports.";
        let parameters = object_schema(
            &["id"],
            json!({
                "id": id_parameter(),
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RUNS, "description": format!("Default: {DEFAULT_RUNS}.") },
            }),
        );
        let base = read_only_spec("routine_history", "List a job's runs", description, parameters);
        // A report quotes untrusted input of the run.
        ToolSpec { untrusted_output: true, ..base }
    }

    fn parse(arguments: &Value, _: &ToolContext) -> Result<RoutineRequest, String> {
        let Arguments { id, limit } = arguments::parse(arguments)?;
        Ok(RoutineRequest::History { id, limit: limit.unwrap_or(DEFAULT_RUNS).clamp(1, MAX_RUNS) })
    }

    fn result(response: &Value, context: &ToolContext) -> ToolResult {
        let entries = response["entries"].as_array().into_iter().flatten();
        let runs: Vec<Value> = entries.map(|run| summary::run_summary(run, context)).collect();
        let line = |run: &Value| {
            let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("at"), text("state"), text("summary") + &text("error"))
        };
        let lines: Vec<String> = runs.iter().map(line).collect();
        let summary = if lines.is_empty() { "No runs yet.".to_owned() } else { lines.join("\n") };
        ToolResult { value: json!({ "runs": runs }), summary, ..ToolResult::default() }
    }
}
