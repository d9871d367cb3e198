//! JSON-RPC 2.0 requests and responses, for `/rpc` and `/ws`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use rouse_core::text::is_within_depth;
use serde_json::{Value, json};

use super::body::CompleteBody;
use super::guard::{Authenticated, JsonContentType};
use super::state::RouterState;
use crate::caller::Caller;
use crate::error::RpcError;
use crate::gateway::Gateway;

/// Maximum nesting depth of a request. Lower than the parser's limit, because responses nest stored values deeper.
/// Otherwise one job could make every list that contains it unreadable.
const MAX_DEPTH: usize = 64;

/// `POST /rpc`.
pub(super) async fn call(
    Authenticated(caller): Authenticated,
    _: JsonContentType,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    match respond(&state.gateway, &caller, &body).await {
        Some(response) => axum::Json(response).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// The response to one request; none for a notification (a request without an id).
pub(super) async fn respond(gateway: &Gateway, caller: &Caller, body: &[u8]) -> Option<Value> {
    let mut request: Value = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => {
            return Some(failure(Value::Null, -32700, &format!("Invalid JSON: {error}")));
        }
    };
    let id = request.get("id").cloned();
    if !is_within_depth(&request, MAX_DEPTH) {
        let message = "The request is nested too deeply.";
        return Some(failure(id.unwrap_or(Value::Null), -32600, message));
    }
    let is_version_2 = request.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    let method = request.get("method").and_then(Value::as_str).filter(|_| is_version_2);
    let Some(method) = method.map(str::to_owned) else {
        let message = "Expected a JSON-RPC 2.0 request with a method.";
        return Some(failure(id.unwrap_or(Value::Null), -32600, message));
    };
    let params = request.get_mut("params").map(Value::take).unwrap_or_default();
    let result = gateway.call_as(caller, &method, params).await;
    let id = id?;
    Some(match result {
        Ok(result) => success(id, result),
        Err(error) => error_reply(id, &error),
    })
}

/// Built without `json!`, which copies the result: a page of jobs is large.
fn success(id: Value, result: Value) -> Value {
    let fields = [("jsonrpc", "2.0".into()), ("id", id), ("result", result)];
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
}

fn failure(id: Value, code: i64, message: &str) -> Value {
    error_reply(id, &RpcError { code, message: message.to_owned(), data: Value::Null })
}

fn error_reply(id: Value, error: &RpcError) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
