//! Protocol errors of the MCP server: code, HTTP status and message.
//!
//! Owns the codes of JSON-RPC and MCP. Never holds the error of a tool, which is an answer of the tool.

use axum::http::StatusCode;
use serde_json::{Value, json};

/// A refused message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpFailure {
    pub(super) status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
}

impl McpFailure {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    /// Invalid JSON.
    pub(super) fn parse(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32700, message)
    }

    /// No JSON-RPC message.
    pub(super) fn invalid_request(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    /// A method that this server does not have.
    pub(super) fn method_not_found(method: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, -32601, format!("There is no method {method}."))
    }

    /// Invalid parameters of a known method.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, -32602, message)
    }

    /// Missing metadata of a request.
    pub(super) fn missing_metadata(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32602, message)
    }

    /// A header that differs from the body.
    pub(super) fn header_mismatch(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    /// A protocol version that this server does not speak.
    pub(super) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let message = format!("Unsupported protocol version {requested}.");
        let data = json!({ "requested": requested, "supported": supported });
        Self { data: Some(data), ..Self::new(StatusCode::BAD_REQUEST, -32022, message) }
    }

    /// The JSON-RPC response.
    pub(super) fn into_response(self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
