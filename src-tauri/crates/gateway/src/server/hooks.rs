//! `POST /hooks/wake` and `POST /hooks/jobs/<id>`: inbound hooks for scripts and other programs on this computer.
//!
//! A wake needs the token. A job needs only the secret of its webhook, so a script with this secret can do nothing else.
//! Requests of browsers are refused. An unknown job, a job without a webhook and a wrong secret get the same response in the
//! same time. The rate limit counts authenticated calls only, and the body is read last. The body is untrusted input: stored
//! with the run, never an instruction.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rouse_core::{JobId, RunId};
use rouse_scheduler::{WebhookOutcome, WebhookRequest};
use serde_json::{Value, json};

use super::body::CompleteBody;
use super::error_response::{error_response, too_many_requests};
use super::guard::{JsonContentType, bearer_token, has_token};
use super::state::RouterState;
use crate::error::{ErrorCode, RpcError};

/// Maximum length of an `Idempotency-Key`.
const MAX_KEY_BYTES: usize = 255;
/// Name of the rate limit of wakes. No job id contains a slash.
const WAKE_LIMIT: &str = "/hooks/wake";

/// A caller that is no browser.
pub(super) struct NonBrowser;

impl FromRequestParts<RouterState> for NonBrowser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &RouterState) -> Result<Self, Response> {
        let browser_headers = ["origin", "sec-fetch-site", "sec-fetch-mode"];
        if browser_headers.iter().any(|name| parts.headers.contains_key(*name)) {
            return Err(error_response(StatusCode::FORBIDDEN, "Hooks are not for web pages."));
        }
        Ok(Self)
    }
}

/// A caller with the token, within the rate limit.
pub(super) struct WakeCaller;

impl FromRequestParts<RouterState> for WakeCaller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, Response> {
        if !has_token(state, &parts.headers) {
            return Err(error_response(StatusCode::UNAUTHORIZED, "Send the token."));
        }
        check_rate(state, WAKE_LIMIT).map(|()| Self)
    }
}

/// A caller with the secret of the job's webhook, within the rate limit.
pub(super) struct WebhookCaller(JobId);

impl FromRequestParts<RouterState> for WebhookCaller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, Response> {
        let unauthorized =
            || error_response(StatusCode::UNAUTHORIZED, "Unknown webhook or wrong secret.");
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = path.map_err(|_| unauthorized())?;
        let secret = webhook_secret(&parts.headers).unwrap_or_default();
        let job_id = JobId::new(id);
        match state.gateway.verify_webhook_secret(&job_id, secret).await {
            Ok(true) => check_rate(state, job_id.as_str()).map(|()| Self(job_id)),
            Ok(false) => Err(unauthorized()),
            Err(error) => Err(rpc_error_response(&error)),
        }
    }
}

fn webhook_secret(headers: &HeaderMap) -> Option<&str> {
    if let Some(secret) = headers.get("x-rouse-secret") {
        return secret.to_str().ok();
    }
    bearer_token(headers.get(header::AUTHORIZATION)?.to_str().ok()?)
}

#[expect(clippy::result_large_err, reason = "the error is the response")]
fn check_rate(state: &RouterState, name: &str) -> Result<(), Response> {
    state.hook_rate_limit.count_call(name, state.clock.monotonic()).map_err(too_many_requests)
}

/// `POST /hooks/wake {text, mode, reason, coalesceMs}`: `wake` with untrusted text, since a script may pass on foreign text.
pub(super) async fn wake(
    _: NonBrowser,
    _: WakeCaller,
    _: JsonContentType,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    let Ok(params) = serde_json::from_slice::<Value>(&body) else {
        return error_response(StatusCode::BAD_REQUEST, "Invalid JSON.");
    };
    match state.gateway.wake_untrusted(params).await {
        Ok(result) => (StatusCode::ACCEPTED, axum::Json(result)).into_response(),
        Err(error) => rpc_error_response(&error),
    }
}

/// `POST /hooks/jobs/<id>`: fires the job.
pub(super) async fn fire(
    _: NonBrowser,
    WebhookCaller(job_id): WebhookCaller,
    State(state): State<RouterState>,
    headers: HeaderMap,
    CompleteBody(body): CompleteBody,
) -> Response {
    let Ok(body) = String::from_utf8(body.into()) else {
        return error_response(StatusCode::BAD_REQUEST, "Send text in UTF-8.");
    };
    let key = match idempotency_key(&headers) {
        Ok(key) => key,
        Err(message) => return error_response(StatusCode::BAD_REQUEST, message),
    };
    match state.gateway.call_webhook(WebhookRequest { job_id, body, key }).await {
        Ok(outcome) => outcome_response(outcome),
        Err(error) => rpc_error_response(&error),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=MAX_KEY_BYTES).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err("An Idempotency-Key has 1 to 255 plain characters."),
    }
}

fn outcome_response(outcome: WebhookOutcome) -> Response {
    match outcome {
        WebhookOutcome::Fired { run_id, reason } => {
            (StatusCode::ACCEPTED, axum::Json(run_json(&run_id, reason))).into_response()
        }
        WebhookOutcome::Repeated { run_id, reason } => {
            axum::Json(run_json(&run_id, reason)).into_response()
        }
        WebhookOutcome::KeyConflict => error_response(
            StatusCode::UNPROCESSABLE_ENTITY,
            "This Idempotency-Key was used with another body. Send a new key.",
        ),
        WebhookOutcome::Refused(reason) => error_response(StatusCode::CONFLICT, &reason),
    }
}

fn run_json(run_id: &RunId, skip_reason: Option<String>) -> Value {
    match skip_reason {
        None => json!({ "runId": run_id }),
        Some(reason) => json!({ "runId": run_id, "skipped": reason }),
    }
}

/// The response to another method than POST.
pub(super) async fn method_not_allowed() -> Response {
    let allow = [(header::ALLOW, "POST")];
    (allow, error_response(StatusCode::METHOD_NOT_ALLOWED, "Call hooks with POST.")).into_response()
}

/// The response to an unknown path.
pub(super) async fn unknown_hook() -> Response {
    error_response(StatusCode::NOT_FOUND, "Unknown hook. Hooks are /hooks/wake and /hooks/jobs/ID.")
}

fn rpc_error_response(error: &RpcError) -> Response {
    let is = |code: ErrorCode| error.code == code.number();
    let status = if is(ErrorCode::InvalidParams) {
        StatusCode::BAD_REQUEST
    } else if is(ErrorCode::Conflict) {
        StatusCode::CONFLICT
    } else if is(ErrorCode::Storage) {
        StatusCode::INSUFFICIENT_STORAGE
    } else if is(ErrorCode::NotFound) {
        // The job was deleted meanwhile.
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    error_response(status, &error.message)
}
