//! A visit of an MCP server for the conformance suite: connect, list, call each tool.
//!
//! Owns the arguments that a schema suggests. Never part of an engine: no person accepts the tools and no gate judges
//! the calls, so only a developer's command may use it. Pitfall: calling a listed tool that Rouse does not admit; some
//! scenarios expect that such a tool is never called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::HttpExchange;
use serde_json::{Map, Value};

use crate::catalogue;
use crate::connection::{Connection, ConnectionError};

/// The time limit of a call without progress.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// Connects to the server at `url`, lists its tools and calls each once. With `toolCalls` in the `context` of the
/// scenario, makes these calls instead.
///
/// # Errors
/// The connection, the list or a call failed: the cause as a sentence. A tool may answer with an error.
pub async fn visit_server(
    exchange: Arc<dyn HttpExchange>,
    url: &str,
    context: &Value,
) -> Result<(), String> {
    let opened = Connection::open_http(exchange, url, &BTreeMap::new(), None).await;
    let connection = opened.map_err(|error| error.to_string())?;
    let visited = call_tools(&connection, context).await;
    connection.close().await;
    visited.map_err(|error| error.to_string())
}

async fn call_tools(connection: &Connection, context: &Value) -> Result<(), ConnectionError> {
    let tools = catalogue::admit(connection.list_tools().await?).tools;
    let calls: Vec<(String, Map<String, Value>)> = match context["toolCalls"].as_array() {
        Some(calls) => calls.iter().filter_map(read_call).collect(),
        None => tools
            .into_iter()
            .map(|tool| (tool.name, sample_arguments(&tool.input_schema)))
            .collect(),
    };
    for (name, arguments) in calls {
        connection.call_tool(&name, arguments, None, CALL_LIMIT, Box::new(|_| ())).await?;
    }
    Ok(())
}

/// A call of the context; none if it has another form.
fn read_call(call: &Value) -> Option<(String, Map<String, Value>)> {
    Some((call["name"].as_str()?.to_owned(), call["arguments"].as_object()?.clone()))
}

/// Values for the required properties of a schema.
fn sample_arguments(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), sample_value(&schema["properties"][name]))).collect()
}

/// A value that a schema allows, as far as its type and its listed values tell.
fn sample_value(schema: &Value) -> Value {
    let listed = schema["enum"].as_array().and_then(|values| values.first());
    if let Some(value) = schema.get("const").or(schema.get("default")).or(listed) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("object") => Value::Object(sample_arguments(schema)),
        Some("array") => Value::Array(Vec::new()),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(1.into()),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        _ => "text".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::connection::doubles::{FakeAnswer, FakeExchange};

    #[test]
    fn required_properties_get_allowed_values() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "number", "minimum": 5 },
                "unit": { "enum": ["metric", "imperial"] },
                "place": {
                    "type": "object",
                    "properties": { "city": { "type": "string" } },
                    "required": ["city"],
                },
                "note": { "type": "string" },
            },
            "required": ["a", "unit", "place"],
        });
        let expected = json!({ "a": 5, "unit": "metric", "place": { "city": "text" } });
        assert_eq!(Value::Object(sample_arguments(&schema)), expected);
        assert_eq!(sample_arguments(&json!(true)), Map::new());
    }

    #[tokio::test]
    async fn calls_of_the_context_replace_the_listed_tools() {
        let exchange = FakeExchange::new(|_, message| match message["method"].as_str() {
            Some("server/discover") => FakeAnswer::result(
                message,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
                    "_meta": {
                        "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "1" },
                    },
                }),
            ),
            Some("tools/list") => FakeAnswer::result(
                message,
                &json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" }),
            ),
            Some("tools/call") if message["params"]["arguments"]["region"] == "north" => {
                FakeAnswer::result(message, &json!({ "resultType": "complete", "content": [] }))
            }
            _ => FakeAnswer::empty(500),
        });
        let visit = async |region: &str| {
            let call = json!({ "name": "query", "arguments": { "region": region } });
            let context = json!({ "toolCalls": [call] });
            let exchange = Arc::clone(&exchange) as Arc<dyn HttpExchange>;
            visit_server(exchange, "https://mcp.example/mcp", &context).await
        };
        assert_eq!(visit("north").await, Ok(()));
        assert!(visit("south").await.is_err());
    }
}
