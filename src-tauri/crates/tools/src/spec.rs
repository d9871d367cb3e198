//! Common parts of the specs of built-in tools.

use std::time::Duration;

use rouse_core::tool::{Annotations, ApprovalRule, RateLimit, ToolDomain, ToolSpec};
use serde_json::{Value, json};

/// A spec for a read-only tool: in process, no approval, safe to repeat after a crash, trusted output.
pub(crate) fn read_only_spec(
    name: &str,
    label: &str,
    description: &str,
    parameters: Value,
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: ToolDomain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(120),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: Some(label.to_owned()),
        attended_only: false,
        listed_only: false,
        origin: None,
    }
}

/// The schema of an object with exactly these properties.
#[expect(clippy::needless_pass_by_value, reason = "callers write the properties in place")]
pub(crate) fn object_schema(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
