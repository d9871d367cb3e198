//! The body of a request, whole or not at all.
//!
//! Owns how long a body may take to come and what is said to one that is too large, broke off or stopped coming: without
//! an end to the waiting, a caller that sends half of a body would keep its connection for ever, and there are few. How
//! large a body may be stands at each route. It is the last argument of a handler: who calls is looked at first.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::hooks::MOST_HOOK_BYTES;
use super::{MOST_CALL_BYTES, Shared, refused};

/// The body of a request.
pub(super) struct Whole(pub(super) Bytes);

impl FromRequest<Shared> for Whole {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Response> {
        let within = shared.body_within;
        match tokio::time::timeout(within, Bytes::from_request(request, shared)).await {
            Ok(Ok(body)) => Ok(Self(body)),
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let (hook, call) = (MOST_HOOK_BYTES >> 10, MOST_CALL_BYTES >> 20);
                let words =
                    format!("The body is too large: a hook takes {hook} KiB, a call {call} MiB.");
                Err(cut_short(StatusCode::PAYLOAD_TOO_LARGE, &words))
            }
            Ok(Err(rejection)) => {
                Err(cut_short(rejection.status(), "The body did not come whole."))
            }
            Err(_) => {
                let words =
                    format!("The body did not come whole within {within:?}. Send it at once.");
                Err(cut_short(StatusCode::REQUEST_TIMEOUT, &words))
            }
        }
    }
}

/// What is left of the body is not waited for.
fn cut_short(status: StatusCode, reason: &str) -> Response {
    let close = [(header::CONNECTION, "close")];
    (close, refused(status, reason)).into_response()
}
