//! The values of stored secrets in model answers, texts of people and job documents.
//!
//! Owns the redaction before anything is stored or shown, and the path of a job field that holds a value. Key-shaped texts
//! pass: a model or a person may write an example. Pitfall: making a redacted call, which differs from the model's call.
//! `RedactedCalls` lists such calls, and the gate refuses them.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use rouse_core::message::{ModelAnswer, Part, ToolCallRequest};
use serde_json::Value;

use super::layer::Safety;
use super::leak;
use super::redaction::redacted;

/// Ids of the calls of an answer that held the value of a stored secret.
pub(crate) type RedactedCalls = BTreeSet<String>;

/// Fields of a job that hold free text. Elsewhere a short value may equal a keyword by chance (`main`, `every`).
const FREE_TEXT: [&str; 5] = ["arguments", "description", "message", "name", "text"];

/// The field that is reported last: a name is often derived from the message.
const NAME: &str = "name";

/// A job field that holds the value of a stored secret. Displays as a predicate, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecretField {
    /// The field as a path.
    pub path: String,
    name: String,
    has_handle: bool,
}

impl fmt::Display for StoredSecretField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, .. } = self;
        if self.has_handle {
            write!(
                f,
                "holds the value of the stored secret {name}; remove the value. Arguments of tools can use {{{{secret:{name}}}}} instead"
            )
        } else {
            write!(f, "holds the value of {name}, which Rouse never stores; remove the value")
        }
    }
}

impl Safety {
    /// `text` with the values of stored secrets redacted.
    #[must_use]
    pub fn redact_stored(&self, text: &str) -> String {
        let found = leak::find_stored(text, &self.secrets.stored_values());
        redacted(text, &found).unwrap_or_else(|| text.to_owned())
    }

    /// `value` with the values of stored secrets redacted in texts, numbers and keys; none without any.
    pub(crate) fn redacted_value(&self, value: &Value) -> Option<Value> {
        let redacted = self.redact_value(value);
        (redacted != *value).then_some(redacted)
    }

    fn redact_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_stored(text)),
            Value::Number(number) => {
                let digits = number.to_string();
                let redacted = self.redact_stored(&digits);
                if redacted == digits { value.clone() } else { Value::String(redacted) }
            }
            Value::Array(items) => items.iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, field)| (self.redact_stored(key), self.redact_value(field)))
                .collect(),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// A request body with the values of stored secrets redacted. JSON stays JSON.
    #[must_use]
    pub fn redact_body(&self, text: &str) -> String {
        let json = serde_json::from_str(text).ok().and_then(|value| self.redacted_value(&value));
        self.redact_stored(json.map(|json| json.to_string()).as_deref().unwrap_or(text))
    }

    /// Names of the stored secrets with values in `value`, also split over two neighbouring texts, sorted.
    pub(crate) fn stored_secrets_in(&self, value: &Value) -> Vec<String> {
        let stored = self.secrets.stored_values();
        let (mut names, mut joined) = (BTreeSet::new(), String::new());
        let mut scan = |text: &str| {
            names.extend(leak::find_stored(text, &stored).into_iter().map(|found| found.what));
        };
        each_text(value, &mut |text, is_key| {
            scan(text);
            if !is_key {
                joined.push_str(text);
            }
        });
        scan(&joined);
        names.into_iter().map(|what| secret_name(&what).to_owned()).collect()
    }

    /// The answer with the values of stored secrets redacted, and the calls that held a value.
    pub(crate) fn redact_answer(&self, answer: ModelAnswer) -> (ModelAnswer, RedactedCalls) {
        let mut redacted = RedactedCalls::new();
        let mut ids: HashSet<String> = answer.calls().map(|call| call.id.clone()).collect();
        let parts = answer.parts.into_iter().filter_map(|part| match part {
            Part::Text { text } => Some(Part::Text { text: self.redact_stored(&text) }),
            Part::ToolCall(ToolCallRequest { id, tool, arguments }) => {
                let id = self.redact_id(id, &mut ids);
                let tool = self.redact_stored(&tool);
                let arguments = match self.redacted_value(&arguments) {
                    Some(arguments) => {
                        redacted.insert(id.clone());
                        arguments
                    }
                    None => arguments,
                };
                Some(Part::ToolCall(ToolCallRequest { id, tool, arguments }))
            }
            // A provider rejects a changed private block, so the block is dropped.
            Part::Opaque { ref block, .. } => self.redacted_value(block).is_none().then_some(part),
        });
        (ModelAnswer { parts: parts.collect(), ..answer }, redacted)
    }

    /// The id of a call. An id with a stored value is replaced by an id that is unique in the answer.
    fn redact_id(&self, id: String, ids: &mut HashSet<String>) -> String {
        if self.redact_stored(&id) == id {
            return id;
        }
        let own = (1..).map(|number| format!("rouse-{number}")).find(|own| !ids.contains(own));
        let own = own.expect("BUG: the calls of an answer are finite");
        ids.insert(own.clone());
        own
    }

    /// The first field at or below `path` that holds the value of a stored secret.
    #[must_use]
    pub fn stored_secret_field(&self, path: &str, value: &Value) -> Option<StoredSecretField> {
        self.field_below(path, value, FREE_TEXT.contains(&path))
    }

    fn field_below(&self, path: &str, value: &Value, is_free: bool) -> Option<StoredSecretField> {
        match value {
            Value::String(text) => self.field_at(path, text, is_free),
            // The digits of a time match a short value by chance.
            Value::Number(number) if is_free => self.field_at(path, &number.to_string(), is_free),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                self.field_below(&format!("{path}[{index}]"), item, is_free)
            }),
            Value::Object(fields) => {
                let (names, others): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|(key, _)| key.as_str() == NAME);
                others.into_iter().chain(names).find_map(|(key, field)| {
                    let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    let is_free_field = is_free || FREE_TEXT.contains(&key.as_str());
                    // A key that holds a value must not appear in the path.
                    self.field_at(path, key, is_free)
                        .or_else(|| self.field_below(&below, field, is_free_field))
                })
            }
            Value::Number(_) | Value::Null | Value::Bool(_) => None,
        }
    }

    fn field_at(&self, path: &str, text: &str, is_free: bool) -> Option<StoredSecretField> {
        let stored = self.secrets.stored_values();
        if !is_free && stored.short_value(text).is_some() {
            return None;
        }
        let found = leak::find_stored(text, &stored).into_iter().next()?;
        let name = secret_name(&found.what).to_owned();
        let path = if path.is_empty() { "." } else { path };
        Some(StoredSecretField {
            path: path.to_owned(),
            has_handle: self.secrets.has_handle(&name),
            name,
        })
    }
}

fn secret_name(what: &str) -> &str {
    what.strip_prefix("secret:").unwrap_or(what)
}

/// Calls `visit` with every text, number and key of `value`, and the flag for keys.
pub(super) fn each_text(value: &Value, visit: &mut impl FnMut(&str, bool)) {
    match value {
        Value::String(text) => visit(text, false),
        Value::Number(number) => visit(&number.to_string(), false),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(fields) => {
            for (key, field) in fields {
                visit(key, true);
                each_text(field, visit);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::message::StopReason;
    use rouse_core::run::Usage;
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, safety, safety_with};

    fn answer(parts: Vec<Part>) -> ModelAnswer {
        let (usage, model) = (Usage::default(), "m".to_owned());
        ModelAnswer { parts, usage, model, stop: StopReason::ToolCalls }
    }

    fn field_path(safety: &Safety, job: &Value) -> Option<String> {
        safety.stored_secret_field("", job).map(|field| field.path)
    }

    #[test]
    fn redacted_body_is_still_json() {
        let card = safety_with("4929103847561");
        assert_eq!(
            card.redact_body(r#"{"type": "paid", "by": 4929103847561}"#),
            r#"{"type":"paid","by":"[redacted: secret:mail]"}"#
        );
        assert_eq!(card.redact_body("{ \"by\":  1 }"), "{ \"by\":  1 }");
        assert_eq!(safety().redact_body(&format!("by {VALUE}")), "by [redacted: secret:mail]");
    }

    #[test]
    fn call_with_a_stored_value_is_redacted_and_named() {
        let call = |id: &str, tool: &str, arguments: Value| {
            let (id, tool) = (id.to_owned(), tool.to_owned());
            Part::ToolCall(ToolCallRequest { id, tool, arguments })
        };
        let example = call("c2", "echo", json!({ "text": "AKIAIOSFODNN7EXAMPLE" }));
        let (redacted, calls) = safety().redact_answer(answer(vec![
            Part::Text { text: format!("It is {VALUE}.") },
            call("c1", VALUE, json!({ "path": "a.txt", "content": [VALUE, { VALUE: 1 }] })),
            example.clone(),
        ]));
        assert!(!format!("{redacted:?}").contains(VALUE), "{redacted:?}");
        assert_eq!(redacted.parts[2], example);
        assert_eq!(calls, RedactedCalls::from(["c1".to_owned()]));
    }

    #[test]
    fn opaque_block_with_a_stored_value_is_dropped() {
        let opaque = |block: Value| Part::Opaque { provider: "p".to_owned(), block };
        let text = Part::Text { text: "Done.".to_owned() };
        let signed = opaque(json!({ "kind": "reasoning", "item": { "signature": "c2lnbmVk" } }));
        let (redacted, _) = safety().redact_answer(answer(vec![
            opaque(json!({ "kind": "reasoning", "text": [format!("It is {VALUE}.")] })),
            opaque(json!({ "item": { "arguments": format!("{{\"a\":\"{VALUE}\"}}") } })),
            signed.clone(),
            text.clone(),
        ]));
        assert_eq!(redacted.parts, [signed, text]);
    }

    #[test]
    fn number_that_is_a_stored_value_is_redacted() {
        let redacted = safety_with("1234567890").redacted_value(&json!({ "pin": 1234567890 }));
        assert_eq!(redacted, Some(json!({ "pin": "[redacted: secret:mail]" })));
        assert_eq!(safety().redacted_value(&json!({ "pin": 1234567890 })), None);
    }

    #[test]
    fn stored_secrets_are_named_without_their_values() {
        let arguments = json!({ "a": [{ VALUE: 1 }], "b": "c3VuZmxvd2VyLTQyLVRhbmdv" });
        assert_eq!(safety().stored_secrets_in(&arguments), ["mail"]);
        let pieces = json!({ "title": "sunflower-", "body": "42-Tango" });
        assert_eq!(safety().stored_secrets_in(&pieces), ["mail"]);
        let handle = json!({ "a": "{{secret:mail}}", "n": [null, true, 7] });
        assert_eq!(safety().stored_secrets_in(&handle), Vec::<String>::new());
    }

    #[test]
    fn message_is_reported_before_the_name() {
        let job = json!({ "name": VALUE, "payload": { "message": format!("It is {VALUE}.") } });
        assert_eq!(field_path(&safety(), &job).as_deref(), Some("payload.message"));
        let nested = json!({ "a": [0, { "b": VALUE }] });
        assert_eq!(field_path(&safety(), &nested).as_deref(), Some("a[1].b"));
        assert_eq!(field_path(&safety(), &json!({ "name": "{{secret:mail}}" })), None);
    }

    #[test]
    fn key_that_holds_a_value_is_not_in_the_path() {
        let job = json!({ "payload": { "arguments": { VALUE: 1 } } });
        assert_eq!(field_path(&safety(), &job).as_deref(), Some("payload.arguments"));
        assert_eq!(field_path(&safety(), &json!({ VALUE: 1 })).as_deref(), Some("."));
    }

    #[test]
    fn short_value_counts_in_free_text_only() {
        let main = safety_with("main");
        assert_eq!(
            field_path(&main, &json!({ "sessionTarget": "main", "name": "Not main" })),
            None
        );
        assert_eq!(field_path(&main, &json!({ "name": "main" })).as_deref(), Some("name"));
        let pin = safety_with("12345678");
        assert_eq!(field_path(&pin, &json!({ "createdAtMs": 12_345_678 })), None);
        let call = json!({ "arguments": { "pin": 12_345_678 } });
        assert_eq!(field_path(&pin, &call).as_deref(), Some("arguments.pin"));
        assert!(pin.stored_secret_field("arguments", &call["arguments"]).is_some());
    }

    #[test]
    fn field_error_has_the_fix_and_no_value() {
        let field = safety().stored_secret_field("name", &json!(VALUE)).expect("a field");
        let expected = "holds the value of mail, which Rouse never stores; remove the value";
        assert_eq!(field.to_string(), expected);
        let text = safety().redact_stored(&format!("It is {VALUE}."));
        assert_eq!(text, "It is [redacted: secret:mail].");
    }
}
