//! One call of a tool without a model, and which of its results are worth telling.

use serde_json::{Map, Value};

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
        let cel = fields.object("notifyWhen", |mut when| {
            let cel = when.required_text("cel").trim().to_owned();
            if cel.len() > crate::condition::LONGEST {
                let most = crate::condition::LONGEST;
                when.complain("cel", format!("must be at most {most} bytes, found {}", cel.len()));
            }
            for key in when.keys() {
                when.complain(&key, "is not known here; a condition is only {\"cel\": \"…\"}");
            }
            cel
        });
        return NotifyWhen::Cel(cel.unwrap_or_default());
    }
    let whens = [("always", 0), ("failure", 1), ("changed", 2)];
    match fields.choice("notifyWhen", &whens) {
        Some(1) => NotifyWhen::Failure,
        Some(2) => NotifyWhen::Changed,
        _ => NotifyWhen::Always,
    }
}
