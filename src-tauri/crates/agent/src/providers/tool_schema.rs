//! The schema of a tool for a model, without bounds that only a validator needs.
//!
//! Every request carries the schemas of all offered tools, and small models read them slowly. The gate still validates
//! each call against the whole schema and explains an error. Pitfall: a property may have the name of a bound.

use serde_json::{Map, Value};

const BOUNDS: [&str; 8] = [
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// The schema without bounds.
pub(super) fn compact(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut compacted = Map::new();
    for (key, value) in fields {
        let is_ban = key == "additionalProperties" && *value == Value::Bool(false);
        let is_empty = key == "required" && value.as_array().is_some_and(Vec::is_empty);
        if is_ban || is_empty || BOUNDS.contains(&key.as_str()) {
            continue;
        }
        let value = match (key.as_str(), value) {
            // The keys here are property names, never bounds.
            ("properties", Value::Object(named)) => {
                named.iter().map(|(name, schema)| (name.clone(), compact(schema))).collect()
            }
            ("items" | "additionalProperties", schema) => compact(schema),
            (_, value) => value.clone(),
        };
        compacted.insert(key.clone(), value);
    }
    Value::Object(compacted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_loses_bounds_and_keeps_properties() {
        let whole = json!({
            "type": "object",
            "properties": {
                "maxLength": { "type": "string", "description": "A name like a bound.", "minLength": 1, "maxLength": 5 },
                "list": { "type": "array", "maxItems": 3, "items": { "type": "string", "maxLength": 9 } },
                "map": { "type": "object", "maxProperties": 2, "additionalProperties": { "type": "string", "maxLength": 9 } },
                "inner": { "type": "object", "properties": { "n": { "type": "integer", "maximum": 7 } }, "required": [], "additionalProperties": false },
            },
            "required": ["maxLength"],
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "maxLength": { "type": "string", "description": "A name like a bound." },
                "list": { "type": "array", "items": { "type": "string" } },
                "map": { "type": "object", "additionalProperties": { "type": "string" } },
                "inner": { "type": "object", "properties": { "n": { "type": "integer" } } },
            },
            "required": ["maxLength"],
        });
        assert_eq!(compact(&whole), expected);
        assert_eq!(compact(&json!(true)), json!(true));
    }
}
