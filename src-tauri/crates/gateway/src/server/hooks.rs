//! `POST /hooks/wake` and `POST /hooks/jobs/<id>`: inbound hooks for scripts and other programs on this computer.
//!
//! A wake needs the token. A job needs only the secret of its webhook or a signature, so a script with this secret can do
//! nothing else. Requests of browsers are refused. An unknown job, a job without a webhook and a wrong secret get the same
//! response in the same time. The rate limit counts authenticated calls only. The body is read last; only a signature needs
//! the body first. The body is untrusted input: stored with the run, never an instruction.
//!
//! Pitfall: an `Idempotency-Key` beside a signature. No signature covers it, so a captured call could fire again.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
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
use crate::signed_webhook::{SignatureError, SignedMessage};

/// Maximum length of an `Idempotency-Key` and of a `webhook-id`.
const MAX_KEY_BYTES: usize = 255;
/// The header that makes a call a signed one.
const SIGNATURE: &str = "webhook-signature";
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

/// A call of a job's webhook with the secret or a valid signature, within the rate limit.
pub(super) struct VerifiedCall {
    job_id: JobId,
    body: Bytes,
    /// The idempotency key.
    key: Option<String>,
}

impl FromRequest<RouterState> for VerifiedCall {
    type Rejection = Response;

    async fn from_request(request: Request, state: &RouterState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(Path(id)) = Path::<String>::from_request_parts(&mut parts, state).await else {
            return Err(wrong_secret());
        };
        let headers = parts.headers.clone();
        let (id, request) = (JobId::new(id), Request::from_parts(parts, body));
        if headers.contains_key(SIGNATURE) {
            verify_signed_call(id, &headers, request, state).await
        } else {
            verify_secret_call(id, &headers, request, state).await
        }
    }
}

async fn verify_secret_call(
    job_id: JobId,
    headers: &HeaderMap,
    request: Request,
    state: &RouterState,
) -> Result<VerifiedCall, Response> {
    let secret = webhook_secret(headers).unwrap_or_default();
    match state.gateway.verify_webhook_secret(&job_id, secret).await {
        Ok(true) => check_rate(state, job_id.as_str())?,
        Ok(false) => return Err(wrong_secret()),
        Err(error) => return Err(rpc_error_response(&error)),
    }
    let CompleteBody(body) = CompleteBody::from_request(request, state).await?;
    let key = match headers.get("idempotency-key") {
        Some(key) => Some(checked_key(key.to_str().ok())?),
        None => None,
    };
    Ok(VerifiedCall { job_id, body, key })
}

/// Judges a call by its signature alone. A missing header is an invalid one.
async fn verify_signed_call(
    job_id: JobId,
    headers: &HeaderMap,
    request: Request,
    state: &RouterState,
) -> Result<VerifiedCall, Response> {
    let received_at = state.clock.now();
    let CompleteBody(body) = CompleteBody::from_request(request, state).await?;
    let text_of = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let id = text_of("webhook-id");
    let message = SignedMessage {
        id: id.clone(),
        timestamp: text_of("webhook-timestamp"),
        signatures: text_of(SIGNATURE),
        body: body.clone(),
        received_at,
    };
    let checked = state.gateway.check_webhook_signature(&job_id, message).await;
    if let Err(error) = checked.map_err(|error| rpc_error_response(&error))? {
        let status = match error {
            SignatureError::KeyUnavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            SignatureError::Header(_) | SignatureError::Mismatch => StatusCode::UNAUTHORIZED,
        };
        return Err(error_response(status, &error.to_string()));
    }
    check_rate(state, job_id.as_str())?;
    Ok(VerifiedCall { job_id, body, key: Some(checked_key(Some(&id))?) })
}

fn wrong_secret() -> Response {
    error_response(StatusCode::UNAUTHORIZED, "Unknown webhook or wrong secret.")
}

#[expect(clippy::result_large_err, reason = "the error is the response")]
fn checked_key(key: Option<&str>) -> Result<String, Response> {
    match key {
        Some(key) if (1..=MAX_KEY_BYTES).contains(&key.len()) => Ok(key.to_owned()),
        _ => {
            let message = "An Idempotency-Key or webhook-id has 1 to 255 plain characters.";
            Err(error_response(StatusCode::BAD_REQUEST, message))
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
    State(state): State<RouterState>,
    VerifiedCall { job_id, body, key }: VerifiedCall,
) -> Response {
    let Ok(body) = String::from_utf8(body.into()) else {
        return error_response(StatusCode::BAD_REQUEST, "Send text in UTF-8.");
    };
    match state.gateway.call_webhook(WebhookRequest { job_id, body, key }).await {
        Ok(outcome) => outcome_response(outcome),
        Err(error) => rpc_error_response(&error),
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
            "This Idempotency-Key or webhook-id was used with another body. Send a new one.",
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
