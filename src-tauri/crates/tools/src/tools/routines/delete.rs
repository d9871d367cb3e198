//! `routine_delete`: deletes a job.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{Annotations, ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::{RoutineAction, id_parameter, write_spec};
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::object_schema;

pub(super) struct Delete;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
}

impl RoutineAction for Delete {
    fn spec() -> ToolSpec {
        let description = "Deletes a routine and cancels its run. To pause it, disable it with routine_update instead. The \
                           person must approve it.";
        let parameters = object_schema(&["id"], json!({ "id": id_parameter() }));
        let base = write_spec("routine_delete", "Delete a job", description, parameters);
        ToolSpec { annotations: Annotations::OVERWRITES, ..base }
    }

    fn parse(arguments: &Value, _: &ToolContext) -> Result<RoutineRequest, String> {
        let Arguments { id } = arguments::parse(arguments)?;
        Ok(RoutineRequest::Delete { id })
    }

    /// Names the follow-up jobs, which will not fire any more.
    fn result(response: &Value, _: &ToolContext) -> ToolResult {
        let name = response["job"]["name"].as_str().unwrap_or_default();
        let names: Vec<&str> = response["followers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|follower| follower["name"].as_str())
            .collect();
        let mut value = json!({ "deleted": name });
        if !names.is_empty() {
            value["waitedForIt"] = names.into();
        }
        ToolResult { value, summary: format!("Deleted: {name}."), ..ToolResult::default() }
    }
}
