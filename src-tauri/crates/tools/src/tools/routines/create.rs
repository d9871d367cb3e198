//! `routine_create`: creates a job.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{Annotations, RateLimit, ToolContext, ToolSpec};
use serde_json::{Value, json};

use super::action::{RoutineAction, write_spec};
use super::draft::{self, RoutineDraft};
use super::summary;
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::object_schema;

pub(super) struct Create;

impl RoutineAction for Create {
    fn spec() -> ToolSpec {
        let description = "Creates a routine: a task that runs once or repeatedly at the person's times. Use it only for \
                           tasks that the person wants; check with routine_list for an existing one first. The person \
                           must approve it.";
        let parameters = object_schema(&["name", "schedule"], draft::parameters().into());
        let rate = RateLimit { per_minute: 5, per_hour: 30 };
        let base = write_spec("routine_create", "Create a job", description, parameters);
        ToolSpec { annotations: Annotations::ADDS, rate, ..base }
    }

    fn parse(arguments: &Value, context: &ToolContext) -> Result<RoutineRequest, String> {
        let draft: RoutineDraft = arguments::parse(arguments)?;
        let document = draft.to_document(context)?;
        if document.get("payload").is_none_or(|payload| payload.get("kind").is_none()) {
            return Err("The routine has no task. Give message, reminder or call.".to_owned());
        }
        Ok(RoutineRequest::Create { draft: document.into() })
    }

    fn result(response: &Value, context: &ToolContext) -> ToolResult {
        let routine = summary::job_summary(response, context);
        let summary = format!("New job: {}", summary::job_line(&routine));
        ToolResult { value: json!({ "routine": routine }), summary, ..ToolResult::default() }
    }
}
