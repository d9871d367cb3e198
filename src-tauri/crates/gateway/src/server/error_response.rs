//! The one shape of error responses.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// An error response: `{error}`.
pub(super) fn error_response(status: StatusCode, message: &str) -> Response {
    (status, axum::Json(serde_json::json!({ "error": message }))).into_response()
}

/// The response to a call beyond a rate limit, with the time until the next allowed call.
pub(super) fn too_many_requests(wait: Duration) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let retry_after = [(header::RETRY_AFTER, seconds.to_string())];
    let message = "Too many calls. Try again in a moment.";
    (retry_after, error_response(StatusCode::TOO_MANY_REQUESTS, message)).into_response()
}
