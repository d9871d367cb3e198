//! The response to one message of an MCP client.

use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::failure::McpFailure;
use super::message::{McpMessage, McpRequest};
use super::protocol::{self, ProtocolEra};
use super::tools::{self, McpTools};

/// A response, with its HTTP status.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpReply {
    pub(crate) status: StatusCode,
    /// The JSON-RPC response; none for a notification.
    pub(crate) body: Option<Value>,
}

/// Answers one message. Over stdio there are no headers.
pub(crate) async fn respond(
    body: &[u8],
    headers: Option<&HeaderMap>,
    tools: McpTools<'_>,
) -> McpReply {
    let request = match McpMessage::parse(body) {
        Ok(McpMessage::Request(request)) => request,
        Ok(McpMessage::WithoutResponse) => {
            return McpReply { status: StatusCode::ACCEPTED, body: None };
        }
        Err(failure) => return failed(failure, &Value::Null),
    };
    let era = match ProtocolEra::of(&request, headers) {
        Ok(era) => era,
        Err(failure) => return failed(failure, &request.id),
    };
    match result(&request, era, tools).await {
        Ok(result) => {
            let body = json!({ "jsonrpc": "2.0", "id": request.id, "result": result });
            McpReply { status: StatusCode::OK, body: Some(body) }
        }
        Err(failure) => {
            let mut reply = failed(failure, &request.id);
            if era == ProtocolEra::Handshake {
                // A client with a handshake takes 404 for the end of its session.
                reply.status = StatusCode::OK;
            }
            reply
        }
    }
}

fn failed(failure: McpFailure, id: &Value) -> McpReply {
    McpReply { status: failure.status, body: Some(failure.into_response(id)) }
}

async fn result(
    request: &McpRequest,
    era: ProtocolEra,
    tools: McpTools<'_>,
) -> Result<Value, McpFailure> {
    let has_handshake = era == ProtocolEra::Handshake;
    match request.method.as_str() {
        "initialize" if has_handshake => protocol::initialize(request),
        "server/discover" => Ok(era.complete_list(protocol::discover())),
        "ping" if has_handshake => Ok(json!({})),
        "tools/list" if request.params.get("cursor").is_some_and(Value::is_string) => {
            Err(McpFailure::invalid_params("cursor: unknown. The list has one page."))
        }
        "tools/list" => Ok(era.complete_list(json!({ "tools": tools::catalogue() }))),
        "tools/call" => Ok(era.complete(tools::call(request, tools).await?)),
        other => Err(McpFailure::method_not_found(other)),
    }
}
