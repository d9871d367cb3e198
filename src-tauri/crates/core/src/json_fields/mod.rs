//! JSON documents: validation by schema, and merge patches.
//!
//! Owns the error of a field, the schema of a document type, and the merge patch (RFC 7396) that keeps the order of keys.
//! Pitfall: validation by serde alone, which stops at the first error and loses the path in tagged enums.

mod document;

pub(crate) use document::{
    DocumentSchema, is_of_kind, keys_of_kind, non_blank, schema_of, text_of, union_of,
};

use serde_json::{Map, Value};

/// An error of a field of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path: `schedule.expr`, `payload.tools[2]`.
    pub path: String,
    /// The problem and the expectation, as a sentence.
    pub message: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// The kind of a JSON value in words.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Applies the merge patch `patch` to `target` (RFC 7396): `null` removes a key; the other keys keep their order. The JSON
/// parser bounds the depth.
pub fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    #[test]
    fn merge_keeps_the_order_of_remaining_keys() {
        let mut target = json!({ "a": 1, "b": { "c": 1, "d": 2, "e": 3 }, "f": 4 });
        merge(&mut target, json!({ "a": null, "b": { "c": null, "e": 5 }, "g": 6 }));
        assert_eq!(target.to_string(), r#"{"b":{"d":2,"e":5},"f":4,"g":6}"#);
    }
}
