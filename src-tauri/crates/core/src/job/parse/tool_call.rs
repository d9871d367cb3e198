//! One call of a tool without a model, and which of its results are worth telling.

use serde_json::{Map, Value};

use crate::condition::LONGEST;
use crate::job::{NotifyWhen, Payload, ToolCall};
use crate::json_fields::{Fields, kind_of};

pub(super) fn read(mut fields: Fields<'_>) -> Payload {
    let tool = fields.required_text("tool");
    let arguments = fields.take("arguments").unwrap_or_else(|| Value::Object(Map::new()));
    if !arguments.is_object() {
        fields.complain("arguments", format!("expected an object, found {}", kind_of(&arguments)));
    }
    let notify_when = read_notify_when(&mut fields);
    Payload::ToolCall(ToolCall { tool, arguments, notify_when, extra: fields.rest() })
}

/// A word, or an object with a condition. Whether the condition means anything is asked where it can be worked out.
fn read_notify_when(fields: &mut Fields<'_>) -> NotifyWhen {
    if fields.is_object("notifyWhen") {
        return fields.object("notifyWhen", read_condition).unwrap_or_default();
    }
    let whens = [("always", 0), ("failure", 1), ("changed", 2)];
    match fields.choice("notifyWhen", &whens) {
        Some(1) => NotifyWhen::Failure,
        Some(2) => NotifyWhen::Changed,
        _ => NotifyWhen::Always,
    }
}

fn read_condition(mut when: Fields<'_>) -> NotifyWhen {
    let source = when.required_text("cel").trim().to_owned();
    if source.len() > LONGEST {
        when.complain("cel", format!("must be at most {LONGEST} bytes, found {}", source.len()));
    }
    NotifyWhen::Cel { source, extra: when.rest() }
}
