//! The keywords of a schema that every model provider knows.
//!
//! Owns the list of kept keywords with the form of their values, the single type, and the values of an enum. Never reads
//! a part of a schema. Pitfall: a keyword with a value of the wrong form, which makes the whole schema invalid.

use serde_json::{Map, Value};

/// The types of JSON Schema without `null`.
const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// Whether a keyword stays as it is. A keyword with a value of the wrong form is left out.
pub(super) fn is_kept(key: &str, value: &Value) -> bool {
    match key {
        "title" | "description" | "format" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "uniqueItems" => value.is_boolean(),
        "default" => !value.is_null(),
        "examples" => value.is_array(),
        _ => false,
    }
}

/// The type: the first that is not `null`. Without a type, the type that the other keywords imply.
pub(super) fn type_name(fields: &Map<String, Value>) -> Option<&'static str> {
    let known = |name: &Value| TYPES.into_iter().find(|known| name == known);
    match fields.get("type") {
        Some(Value::Array(names)) => names.iter().find_map(known),
        Some(name) => known(name),
        None if fields.get("properties").is_some_and(Value::is_object) => Some("object"),
        None if fields.get("additionalProperties").is_some_and(Value::is_object) => Some("object"),
        None if fields.contains_key("items") => Some("array"),
        None => {
            let mut kinds = raw_values(fields).iter().filter(|value| !value.is_null()).map(kind);
            let first = kinds.next()?;
            kinds.all(|kind| kind == first).then_some(first)
        }
    }
}

/// Whether the schema accepts nothing but `null`.
pub(super) fn is_null_type(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(|name| name == "null")
        || fields.get("const").is_some_and(Value::is_null)
}

/// The values of `enum` or `const` that have this type, without `null` and without repeats; none without any.
pub(super) fn enum_values(
    fields: &Map<String, Value>,
    type_name: Option<&str>,
) -> Option<Vec<Value>> {
    let has_type = |value: &Value| match type_name {
        None => true,
        Some("number") => value.is_number(),
        Some(name) => kind(value) == name,
    };
    let mut values: Vec<Value> = Vec::new();
    for value in raw_values(fields) {
        if !value.is_null() && has_type(value) && !values.contains(value) {
            values.push(value.clone());
        }
    }
    (!values.is_empty()).then_some(values)
}

/// Whether the normalised part has nothing but a type, values and texts.
pub(super) fn is_enum_only(part: &Map<String, Value>) -> bool {
    let is_plain = |key: &String| matches!(key.as_str(), "type" | "enum" | "title" | "description");
    part.contains_key("enum") && part.keys().all(is_plain)
}

fn raw_values(fields: &Map<String, Value>) -> &[Value] {
    match (fields.get("const"), fields.get("enum")) {
        (Some(value), _) => std::slice::from_ref(value),
        (None, Some(Value::Array(values))) => values,
        (None, _) => &[],
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
