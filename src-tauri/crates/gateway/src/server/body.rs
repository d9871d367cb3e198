//! The complete body of a request.
//!
//! Owns the body timeout and the errors for a body that is too large, incomplete or late. Without a timeout, a half body would
//! hold a connection for ever. The maximum size is set at each route. The extractor is the last argument of a handler, after
//! authentication.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::error_response::error_response;
use super::limits::{MAX_CALL_BYTES, MAX_HOOK_BYTES};
use super::state::RouterState;

/// The complete body of a request.
pub(super) struct CompleteBody(pub(super) Bytes);

impl FromRequest<RouterState> for CompleteBody {
    type Rejection = Response;

    async fn from_request(request: Request, state: &RouterState) -> Result<Self, Response> {
        let timeout = state.body_timeout;
        match tokio::time::timeout(timeout, Bytes::from_request(request, state)).await {
            Ok(Ok(body)) => Ok(Self(body)),
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let (hook, call) = (MAX_HOOK_BYTES >> 10, MAX_CALL_BYTES >> 20);
                let message = format!(
                    "The body is too large: at most {hook} KiB for a hook, {call} MiB for a call."
                );
                Err(close_with(StatusCode::PAYLOAD_TOO_LARGE, &message))
            }
            Ok(Err(rejection)) => Err(close_with(rejection.status(), "The body is incomplete.")),
            Err(_) => {
                let message =
                    format!("The body was incomplete after {timeout:?}. Send it at once.");
                Err(close_with(StatusCode::REQUEST_TIMEOUT, &message))
            }
        }
    }
}

/// An error response that closes the connection, because the rest of the body is not read.
fn close_with(status: StatusCode, message: &str) -> Response {
    let close = [(header::CONNECTION, "close")];
    (close, error_response(status, message)).into_response()
}
