//! `routine_fire`: starts a run of a job now; the schedule does not change.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{Annotations, RateLimit, ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::{RoutineAction, id_parameter, write_spec};
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::object_schema;

pub(super) struct Fire;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
}

impl RoutineAction for Fire {
    fn spec() -> ToolSpec {
        let description = "Starts a run of a routine now, in addition to its schedule. The run is independent; look up the \
                           outcome later with routine_history. Needs the person's approval.";
        let parameters = object_schema(&["id"], json!({ "id": id_parameter() }));
        let base = write_spec("routine_fire", "Run a job", description, parameters);
        let rate = RateLimit { per_minute: 10, per_hour: 60 };
        // The run may do anything that the routine does.
        ToolSpec { annotations: Annotations::ANYTHING, rate, ..base }
    }

    fn parse(arguments: &Value, _: &ToolContext) -> Result<RoutineRequest, String> {
        let Arguments { id } = arguments::parse(arguments)?;
        Ok(RoutineRequest::Fire { id })
    }

    fn result(response: &Value, _: &ToolContext) -> ToolResult {
        ToolResult {
            value: json!({ "runId": response["runId"] }),
            summary: "The run was started.".to_owned(),
            ..ToolResult::default()
        }
    }
}
