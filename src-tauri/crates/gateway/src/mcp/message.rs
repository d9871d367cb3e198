//! JSON-RPC messages of an MCP client.
//!
//! Owns the distinction of requests, notifications and responses. Refuses batches, which the protocol no longer has.

use rouse_core::text::is_within_depth;
use serde_json::{Map, Value};

use super::failure::McpFailure;

/// Maximum nesting depth of a message.
const MAX_DEPTH: usize = 64;
/// Prefix of the metadata keys of the protocol.
const META_PREFIX: &str = "io.modelcontextprotocol/";

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum McpMessage {
    /// Expects a response.
    Request(McpRequest),
    /// A notification, or a response to a request that this server never sends.
    WithoutResponse,
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct McpRequest {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl McpMessage {
    /// Parses a message. The response to an invalid message has no id.
    pub(super) fn parse(body: &[u8]) -> Result<Self, McpFailure> {
        let invalid = |message: &str| Err(McpFailure::invalid_request(message));
        let message: Value = serde_json::from_slice(body)
            .map_err(|error| McpFailure::parse(format!("Invalid JSON: {error}.")))?;
        if message.is_array() {
            return invalid("Batches are not supported. Send one message at a time.");
        }
        if !is_within_depth(&message, MAX_DEPTH) {
            return invalid("The message is nested too deeply.");
        }
        let Value::Object(mut fields) = message else {
            return invalid("Expected a JSON-RPC 2.0 message.");
        };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return invalid("Expected a JSON-RPC 2.0 message.");
        }
        let (id, method) = (fields.remove("id"), fields.remove("method"));
        let method = match method {
            Some(Value::String(method)) => method,
            Some(_) => return invalid("The method must be a text."),
            None if fields.contains_key("result") || fields.contains_key("error") => {
                return Ok(Self::WithoutResponse);
            }
            None => return invalid("Expected a message with a method."),
        };
        let id = match id {
            None => return Ok(Self::WithoutResponse),
            Some(id @ (Value::String(_) | Value::Number(_))) => id,
            Some(_) => return invalid("The id must be a text or a number."),
        };
        // Parameters are named in every method, so a list has none.
        let params = match fields.remove("params") {
            Some(Value::Object(params)) => params,
            Some(_) | None => Map::new(),
        };
        Ok(Self::Request(McpRequest { id, method, params }))
    }
}

impl McpRequest {
    /// A metadata field of the protocol.
    pub(super) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(format!("{META_PREFIX}{key}"))
    }

    /// The protocol version in the metadata.
    pub(super) fn meta_version(&self) -> Option<&str> {
        self.meta("protocolVersion")?.as_str()
    }

    /// The name that the client claims in this request.
    pub(super) fn client_name(&self) -> Option<&str> {
        let info = if self.method == "initialize" {
            self.params.get("clientInfo")
        } else {
            self.meta("clientInfo")
        };
        info?.get("name")?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn malformed_message_has_its_code() {
        for (body, code) in [
            ("{", -32700),
            ("", -32700),
            ("[]", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            ("7", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        ] {
            let failure = McpMessage::parse(body.as_bytes()).expect_err("refused");
            let response = failure.into_response(&Value::Null);
            assert_eq!(response["error"]["code"], code, "{body}");
        }
    }

    #[test]
    fn notification_and_response_expect_no_response() {
        for body in [
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "x" } }),
        ] {
            let message = McpMessage::parse(body.to_string().as_bytes());
            assert_eq!(message, Ok(McpMessage::WithoutResponse), "{body}");
        }
    }
}
