//! Odd schemas of servers in the field, by the name of the tool.

use serde_json::{Map, Value, json};

/// The names and schemas of the fault `bad-schema`. A client must refuse the last five.
pub(crate) fn odd_schemas() -> Vec<(&'static str, Value)> {
    let text = json!({ "type": "string" });
    let object = json!({ "type": "object", "properties": { "a": text }, "required": ["a"] });
    let with = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let deep = (0..40).fold(json!({}), |inner, _| json!({ "items": inner }));
    let many: Map<String, Value> =
        (0..2_500).map(|number| (format!("p{number}"), json!({}))).collect();
    vec![
        ("no_type", json!({ "properties": { "a": text } })),
        ("empty_schema", json!({})),
        ("boolean_property", with(json!(true))),
        ("union_type", with(json!({ "type": ["null", "string"] }))),
        ("null_type", with(json!({ "type": "null" }))),
        ("constant", with(json!({ "const": "only" }))),
        ("array_without_items", with(json!({ "type": "array" }))),
        ("tuple", with(json!({ "type": "array", "items": [text, { "type": "number" }] }))),
        ("nested_one_of", with(json!({ "oneOf": [text, { "type": "null" }] }))),
        ("lookaround", with(json!({ "type": "string", "pattern": "^(?!x).*$" }))),
        ("unknown_required", json!({ "type": "object", "properties": {}, "required": ["gone"] })),
        (
            "draft_4",
            json!({
                "$schema": "http://json-schema.org/draft-04/schema#", "id": "draft-4",
                "type": "object",
                "properties": { "a": { "type": "number", "minimum": 0, "exclusiveMinimum": true } },
            }),
        ),
        ("root_any_of", json!({ "type": "object", "anyOf": [object, { "required": ["b"] }] })),
        ("root_one_of", json!({ "oneOf": [object, { "properties": { "b": text } }] })),
        ("root_all_of", json!({ "allOf": [object, { "properties": { "b": text } }] })),
        ("local_reference", json!({ "$ref": "#/$defs/a", "$defs": { "a": object } })),
        (
            "recursive_reference",
            json!({
                "type": "object",
                "properties": { "a": { "$ref": "#/definitions/node" } },
                "definitions": { "node": {
                    "type": "object", "properties": { "next": { "$ref": "#/definitions/node" } },
                } },
            }),
        ),
        ("remote_reference", with(json!({ "$ref": "https://schemas.example/a.json" }))),
        ("array_root", json!({ "type": "array", "items": text })),
        ("deep_schema", with(deep)),
        ("large_schema", with(json!({ "type": "string", "description": "x".repeat(70_000) }))),
        ("many_properties", json!({ "type": "object", "properties": many })),
    ]
}
