//! The one shape of error responses.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

/// An error response: `{error}`.
pub(super) fn error_response(status: StatusCode, message: &str) -> Response {
    (status, axum::Json(serde_json::json!({ "error": message }))).into_response()
}
