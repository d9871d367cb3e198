//! What all built-in tools have in common when they describe themselves.

use std::time::Duration;

use rouse_core::tool::{ApprovalRule, Domain, ToolSpec};
use serde_json::{Value, json};

/// A tool that runs in this process, never asks, may be repeated after a crash and says nothing from outside.
pub(crate) fn harmless(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        repeatable: true,
        approval: ApprovalRule::Never,
        domain: Domain::InProcess,
        calls_per_minute: 120,
        call_for: Duration::from_secs(120),
        untrusted_output: false,
    }
}

/// The schema of an object with exactly these properties.
#[expect(
    clippy::needless_pass_by_value,
    reason = "reads better at the call, where it is written out in place"
)]
pub(crate) fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
