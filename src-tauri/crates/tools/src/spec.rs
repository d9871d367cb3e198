//! What all built-in tools have in common when they describe themselves.

use std::time::Duration;

use rouse_core::tool::{Annotations, ApprovalRule, Domain, RateLimit, ToolSpec};
use serde_json::{Value, json};

/// A tool, by its name and its label for people, that runs in this process, never asks, may be repeated after a crash
/// and says nothing from outside.
pub(crate) fn harmless(
    (name, label): (&str, &str),
    description: &str,
    parameters: Value,
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: Domain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(120),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: Some(label.to_owned()),
        attended_only: false,
        listed_only: false,
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
