//! JSON-RPC 2.0: one request in, one response out; shared by `/rpc` and `/ws`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use rouse_core::depth::fits;
use serde_json::{Value, json};

use super::Shared;
use super::body::Whole;
use super::guard::{Known, SaysJson};
use crate::Gateway;
use crate::error::RpcError;

/// How deep a request may be nested. What a client stores comes back inside an answer, which is deeper: without a limit
/// below the parser's own, one job could make every list that holds it unreadable.
const MOST_LEVELS: usize = 64;

/// `POST /rpc`.
pub(super) async fn call(
    _: Known,
    _: SaysJson,
    State(shared): State<Shared>,
    Whole(body): Whole,
) -> Response {
    match answer(&shared.gateway, &body).await {
        Some(response) => axum::Json(response).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// Answers one request; a notification (a request without an id) gets none.
pub(super) async fn answer(gateway: &Gateway, body: &[u8]) -> Option<Value> {
    let mut request: Value = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => {
            return Some(failure(Value::Null, -32700, &format!("This is not JSON: {error}")));
        }
    };
    let id = request.get("id").cloned();
    if !fits(&request, MOST_LEVELS) {
        return Some(failure(
            id.unwrap_or(Value::Null),
            -32600,
            "This request is nested too deeply.",
        ));
    }
    let is_version_2 = request.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    let method = request.get("method").and_then(Value::as_str).filter(|_| is_version_2);
    let Some(method) = method.map(str::to_owned) else {
        return Some(failure(
            id.unwrap_or(Value::Null),
            -32600,
            "Expected a JSON-RPC 2.0 request with a method.",
        ));
    };
    let params = request.get_mut("params").map(Value::take).unwrap_or_default();
    let result = gateway.call(&method, params).await;
    let id = id?;
    Some(match result {
        Ok(result) => success(id, result),
        Err(error) => response_of(id, &error),
    })
}

/// By hand, because `json!` copies what it is given, and a page of jobs is large.
fn success(id: Value, result: Value) -> Value {
    let fields = [("jsonrpc", "2.0".into()), ("id", id), ("result", result)];
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
}

fn failure(id: Value, code: i64, message: &str) -> Value {
    response_of(id, &RpcError { code, message: message.to_owned(), data: Value::Null })
}

fn response_of(id: Value, error: &RpcError) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
