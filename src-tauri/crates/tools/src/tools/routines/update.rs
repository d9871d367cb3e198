//! `routine_update`: changes a job at a known revision.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{Annotations, ToolContext, ToolSpec};
use serde_json::{Value, json};

use super::action::{RoutineAction, id_parameter, write_spec};
use super::draft::{self, RoutineDraft};
use super::summary;
use crate::arguments;
use crate::output::ToolResult;
use crate::spec::object_schema;

pub(super) struct Update;

impl RoutineAction for Update {
    fn spec() -> ToolSpec {
        let description = "Changes a routine; omitted fields stay. Requires the revision from routine_list, and fails if the \
                           routine has changed since: look it up again then. The person must approve it.";
        let mut fields = draft::parameters();
        fields.insert("id".to_owned(), id_parameter());
        let revision = json!({ "type": "integer", "minimum": 0, "description": "The revision from routine_list." });
        fields.insert("revision".to_owned(), revision);
        let parameters = object_schema(&["id", "revision"], fields.into());
        let base = write_spec("routine_update", "Change a job", description, parameters);
        ToolSpec { annotations: Annotations::OVERWRITES, ..base }
    }

    fn parse(arguments: &Value, context: &ToolContext) -> Result<RoutineRequest, String> {
        let mut rest = arguments.clone();
        let mut take = |key: &str| {
            let fields = rest.as_object_mut().ok_or("The arguments are not an object.")?;
            fields.remove(key).ok_or_else(|| format!("Invalid arguments: {key} is missing."))
        };
        let id = take("id")?.as_str().ok_or("id: expected a string.")?.to_owned();
        let revision = take("revision")?.as_i64().ok_or("revision: expected an integer.")?;
        let draft: RoutineDraft = arguments::parse(&rest)?;
        if draft.is_empty(context)? {
            return Err("There is nothing to change: only the id was given.".to_owned());
        }
        Ok(RoutineRequest::Update { id, patch: draft.to_document(context)?.into(), revision })
    }

    fn result(response: &Value, context: &ToolContext) -> ToolResult {
        let routine = summary::job_summary(response, context);
        let summary = format!("Changed: {}", summary::job_line(&routine));
        ToolResult { value: json!({ "routine": routine }), summary, ..ToolResult::default() }
    }
}
