//! `json`: exact operations on JSON that models get wrong by hand.
//!
//! Owns parsing, lookup by JSON Pointer (RFC 6901), keys, length, and merge patch (RFC 7396). Never evaluates queries or expressions,
//! which would need limits of their own.

use std::future::ready;

use rouse_core::json_fields::merge;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments;
use crate::spec::{object_schema, read_only_spec};
use crate::text::truncate;

pub(crate) struct Json {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    op: Operation,
    text: Option<String>,
    #[serde(default, deserialize_with = "deserialize_present")]
    value: Option<Value>,
    #[serde(default)]
    pointer: String,
    #[serde(default, deserialize_with = "deserialize_present")]
    patch: Option<Value>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Parse,
    Get,
    Keys,
    Length,
    Merge,
}

impl Json {
    pub(crate) fn new() -> Self {
        let description = "Exact operations on JSON. parse: checks the text. get, keys, length: of the value at `pointer`. merge: applies `patch` (RFC 7396).";
        let parameters = object_schema(
            &["op"],
            json!({
                "op": { "type": "string", "enum": ["parse", "get", "keys", "length", "merge"] },
                "text": { "type": "string", "maxLength": 1_000_000 },
                "value": { "description": "Instead of text." },
                "pointer": { "type": "string", "description": "/items/0/name. Default: all.", "maxLength": 1_000 },
                "patch": {},
            }),
        );
        let base = read_only_spec("json", "Read JSON", description, parameters);
        Self { spec: ToolSpec { listed_only: true, ..base } }
    }
}

impl Tool for Json {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let output = arguments::parse(call.arguments()).and_then(evaluate).map(ToolOutput::ok);
        Box::pin(ready(output.unwrap_or_else(arguments::invalid_arguments)))
    }
}

fn evaluate(arguments: Arguments) -> Result<Value, String> {
    let mut value = parse_input(arguments.text, arguments.value)?;
    match arguments.op {
        Operation::Parse => Ok(value),
        Operation::Get => look_up(&value, &arguments.pointer).cloned(),
        Operation::Keys => list_keys(look_up(&value, &arguments.pointer)?),
        Operation::Length => length(look_up(&value, &arguments.pointer)?),
        Operation::Merge => {
            let patch = arguments.patch.ok_or("merge needs a patch.")?;
            merge(&mut value, patch);
            Ok(value)
        }
    }
}

fn parse_input(text: Option<String>, value: Option<Value>) -> Result<Value, String> {
    match (text, value) {
        (Some(text), None) => {
            serde_json::from_str(&text).map_err(|error| format!("The text is not JSON: {error}."))
        }
        (None, Some(value)) => Ok(value),
        _ => Err("Give the JSON as text or as value, not both.".to_owned()),
    }
}

/// Looks up the value at `pointer`. An error names the deepest existing step, so that the next attempt can succeed.
fn look_up<'a>(value: &'a Value, pointer: &str) -> Result<&'a Value, String> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!("A JSON Pointer starts with a slash: /{pointer}"));
    }
    value.pointer(pointer).ok_or_else(|| {
        let (known, found) = deepest_match(value, pointer);
        let known = if known.is_empty() { "the top" } else { known };
        format!("{pointer} does not exist. At {known} is {}.", describe(found))
    })
}

fn deepest_match<'v, 'p>(value: &'v Value, pointer: &'p str) -> (&'p str, &'v Value) {
    let ends = pointer.match_indices('/').map(|(end, _)| &pointer[..end]);
    let mut existing = ends.filter_map(|known| value.pointer(known).map(|found| (known, found)));
    existing.next_back().unwrap_or(("", value))
}

fn describe(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => {
            let names: Vec<&str> = map.keys().map(String::as_str).collect();
            format!("an object with the keys {}", truncate(&names.join(", "), 300))
        }
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::String(_) => "a string".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

fn list_keys(value: &Value) -> Result<Value, String> {
    match value {
        Value::Object(map) => Ok(map.keys().cloned().collect()),
        other => Err(format!("Only an object has keys; this is {}.", describe(other))),
    }
}

fn length(value: &Value) -> Result<Value, String> {
    match value {
        Value::Array(items) => Ok(items.len().into()),
        Value::Object(map) => Ok(map.len().into()),
        Value::String(text) => Ok(text.chars().count().into()),
        other => Err(format!("This has no length: it is {}.", describe(other))),
    }
}

/// Distinguishes an explicit null from an absent field.
fn deserialize_present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::call;

    async fn answer(arguments: Value) -> Result<Value, String> {
        let output = call(&Json::new(), arguments).await;
        if output.is_error() { Err(output.text()) } else { Ok(output.value) }
    }

    #[tokio::test]
    async fn operations_return_their_results() {
        let data = json!({ "a": [{ "b/c": 1 }, "äö"], "n": null });
        let cases = [
            (
                json!({ "op": "parse", "text": " {\"x\":[1,2.5,null]} " }),
                json!({ "x": [1, 2.5, null] }),
            ),
            (json!({ "op": "get", "value": data, "pointer": "/a/0/b~1c" }), json!(1)),
            (json!({ "op": "get", "value": data, "pointer": "/n" }), json!(null)),
            (json!({ "op": "get", "value": null }), json!(null)),
            (json!({ "op": "keys", "value": { "z": 1, "a": 2 } }), json!(["z", "a"])),
            (json!({ "op": "length", "value": data, "pointer": "/a" }), json!(2)),
            (json!({ "op": "length", "value": data, "pointer": "/a/1" }), json!(2)),
            (json!({ "op": "length", "text": "{\"a\":1}" }), json!(1)),
        ];
        for (arguments, expected) in cases {
            assert_eq!(answer(arguments.clone()).await, Ok(expected), "{arguments}");
        }
    }

    #[tokio::test]
    async fn merge_follows_rfc_7396() {
        // The table of RFC 7396, appendix A.
        let table = [
            (json!({ "a": "b" }), json!({ "a": "c" }), json!({ "a": "c" })),
            (json!({ "a": "b" }), json!({ "b": "c" }), json!({ "a": "b", "b": "c" })),
            (json!({ "a": "b" }), json!({ "a": null }), json!({})),
            (json!({ "a": "b", "b": "c" }), json!({ "a": null }), json!({ "b": "c" })),
            (json!({ "a": ["b"] }), json!({ "a": "c" }), json!({ "a": "c" })),
            (json!({ "a": "c" }), json!({ "a": ["b"] }), json!({ "a": ["b"] })),
            (
                json!({ "a": { "b": "c" } }),
                json!({ "a": { "b": "d", "c": null } }),
                json!({ "a": { "b": "d" } }),
            ),
            (json!({ "a": [{ "b": "c" }] }), json!({ "a": [1] }), json!({ "a": [1] })),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({ "a": "b" }), json!(["c"]), json!(["c"])),
            (json!({ "a": "foo" }), json!(null), json!(null)),
            (json!({ "a": "foo" }), json!("bar"), json!("bar")),
            (json!({ "e": null }), json!({ "a": 1 }), json!({ "e": null, "a": 1 })),
            (json!([1, 2]), json!({ "a": "b", "c": null }), json!({ "a": "b" })),
            (json!({}), json!({ "a": { "bb": { "ccc": null } } }), json!({ "a": { "bb": {} } })),
        ];
        for (value, patch, expected) in table {
            let arguments = json!({ "op": "merge", "value": value, "patch": patch });
            assert_eq!(answer(arguments.clone()).await, Ok(expected), "{arguments}");
        }
    }

    #[tokio::test]
    async fn error_names_the_remedy() {
        let cases = [
            (json!({ "op": "parse", "text": "{'a':1}" }), "not JSON"),
            (json!({ "op": "parse" }), "as text or as value"),
            (json!({ "op": "parse", "text": "1", "value": 1 }), "as text or as value"),
            (json!({ "op": "get", "value": {}, "pointer": "a" }), "/a"),
            (
                json!({ "op": "get", "value": { "a": { "x": 1, "y": 2 } }, "pointer": "/a/b/c" }),
                "At /a is an object with the keys x, y",
            ),
            (json!({ "op": "get", "value": [1], "pointer": "/1" }), "an array of 1 items"),
            (json!({ "op": "keys", "value": [1] }), "Only an object has keys"),
            (json!({ "op": "length", "value": 5 }), "a number"),
            (json!({ "op": "merge", "value": {} }), "needs a patch"),
            (json!({ "op": "query", "value": {} }), "unknown variant"),
        ];
        for (arguments, expected) in cases {
            let error = answer(arguments.clone()).await.expect_err("refused");
            assert!(error.contains(expected), "{arguments}: {error}");
        }
    }
}
