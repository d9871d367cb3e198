//! The interface of an action on routines, and the parts of the specs.

use rouse_core::routines::RoutineRequest;
use rouse_core::tool::{ApprovalRule, ToolContext, ToolSpec};
use serde_json::{Value, json};

use crate::output::ToolResult;
use crate::spec::read_only_spec;

/// An action on routines.
pub(super) trait RoutineAction: Send + Sync + 'static {
    fn spec() -> ToolSpec;
    /// Converts the arguments into a request; an error is a message for the caller.
    fn parse(arguments: &Value, context: &ToolContext) -> Result<RoutineRequest, String>;
    /// Converts the port's response.
    fn result(response: &Value, context: &ToolContext) -> ToolResult;
}

/// A spec for a tool that needs an approval.
pub(super) fn write_spec(
    name: &str,
    label: &str,
    description: &str,
    parameters: Value,
) -> ToolSpec {
    let base = read_only_spec(name, label, description, parameters);
    ToolSpec { approval: ApprovalRule::UnlessGranted, ..base }
}

pub(super) fn id_parameter() -> Value {
    json!({ "type": "string", "description": "The id from routine_list.", "minLength": 1, "maxLength": 200 })
}
