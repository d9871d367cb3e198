//! `POST /hooks/wake` and `POST /hooks/jobs/<id>`: the doors for scripts and for other programs on this computer.
//!
//! A wake needs the token. A job needs the secret of its webhook and nothing else, so that a script that may fire one
//! job may do nothing besides. No browser has any business here: whoever says where it comes from as a page is turned
//! away. An unknown job, one without a webhook and a wrong secret get the same answer in the same time; only then the
//! pace is asked, and only then the body is read. What is sent is text from outside: it is kept with the run and never
//! obeyed.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rouse_core::{JobId, RunId};
use rouse_scheduler::{Call, Called};
use serde_json::{Value, json};

use super::body::Whole;
use super::guard::{SaysJson, bearer, has_token};
use super::{Shared, refused};
use crate::error::{ErrorCode, RpcError};

/// The largest body of a hook.
pub(super) const MOST_HOOK_BYTES: usize = 64 << 10;
/// The longest `Idempotency-Key`.
const MOST_KEY_BYTES: usize = 255;
/// The name under which wakes are counted; no job has it, because it is no path.
const WAKES: &str = "/hooks/wake";

/// A caller that is no page.
pub(super) struct Program;

impl FromRequestParts<Shared> for Program {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        let says = |name: &str| parts.headers.contains_key(name);
        if says("origin") || says("sec-fetch-site") || says("sec-fetch-mode") {
            return Err(refused(StatusCode::FORBIDDEN, "Hooks are not for web pages."));
        }
        Ok(Self)
    }
}

/// A caller with the token, at a pace that is allowed.
pub(super) struct Waker;

impl FromRequestParts<Shared> for Waker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        if !has_token(shared, &parts.headers) {
            return Err(refused(StatusCode::UNAUTHORIZED, "Show the token."));
        }
        in_pace(shared, WAKES).map(|()| Self)
    }
}

/// A caller with the secret of the job's webhook, at a pace that is allowed.
pub(super) struct Caller(JobId);

impl FromRequestParts<Shared> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let stranger = || refused(StatusCode::UNAUTHORIZED, "No webhook answers to this.");
        let path = Path::<String>::from_request_parts(parts, shared).await;
        let Path(id) = path.map_err(|_| stranger())?;
        let shown = secret(&parts.headers).unwrap_or_default();
        let job_id = JobId::new(id);
        match shared.gateway.knows_webhook(&job_id, shown).await {
            Ok(true) => in_pace(shared, job_id.as_str()).map(|()| Self(job_id)),
            Ok(false) => Err(stranger()),
            Err(error) => Err(failed(&error)),
        }
    }
}

fn secret(headers: &HeaderMap) -> Option<&str> {
    if let Some(shown) = headers.get("x-rouse-secret") {
        return shown.to_str().ok();
    }
    bearer(headers.get(header::AUTHORIZATION)?.to_str().ok()?)
}

#[expect(clippy::result_large_err, reason = "the refusal is the response")]
fn in_pace(shared: &Shared, name: &str) -> Result<(), Response> {
    shared.pace.admit(name, shared.clock.monotonic()).map_err(|wait| {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let after = [(header::RETRY_AFTER, seconds.to_string())];
        let error = "This was called too often. Try again in a moment.";
        (after, refused(StatusCode::TOO_MANY_REQUESTS, error)).into_response()
    })
}

/// `POST /hooks/wake {text, mode, reason, coalesceMs}`: what `wake` does, but for whose words they are: a script hands on
/// what it has read.
pub(super) async fn wake(
    _: Program,
    _: Waker,
    _: SaysJson,
    State(shared): State<Shared>,
    Whole(body): Whole,
) -> Response {
    let Ok(params) = serde_json::from_slice::<Value>(&body) else {
        return refused(StatusCode::BAD_REQUEST, "This is not JSON.");
    };
    match shared.gateway.wake_by_program(params).await {
        Ok(result) => (StatusCode::ACCEPTED, axum::Json(result)).into_response(),
        Err(error) => failed(&error),
    }
}

/// `POST /hooks/jobs/<id>`: fires the job.
pub(super) async fn fire(
    _: Program,
    Caller(job_id): Caller,
    State(shared): State<Shared>,
    headers: HeaderMap,
    Whole(body): Whole,
) -> Response {
    let Ok(body) = String::from_utf8(body.into()) else {
        return refused(StatusCode::BAD_REQUEST, "Send text in UTF-8.");
    };
    let key = match key(&headers) {
        Ok(key) => key,
        Err(reason) => return refused(StatusCode::BAD_REQUEST, reason),
    };
    match shared.gateway.call_webhook(Call { job_id, body, key }).await {
        Ok(called) => answer(called),
        Err(error) => failed(&error),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=MOST_KEY_BYTES).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err("An Idempotency-Key has 1 to 255 plain characters."),
    }
}

fn answer(called: Called) -> Response {
    match called {
        Called::Fired { run_id, reason } => {
            (StatusCode::ACCEPTED, axum::Json(told(&run_id, reason))).into_response()
        }
        Called::Before { run_id, reason } => axum::Json(told(&run_id, reason)).into_response(),
        Called::Another => refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "This Idempotency-Key came before with another body. Send a new key.",
        ),
        Called::Refused(reason) => refused(StatusCode::CONFLICT, &reason),
    }
}

fn told(run_id: &RunId, skipped: Option<String>) -> Value {
    match skipped {
        None => json!({ "runId": run_id }),
        Some(reason) => json!({ "runId": run_id, "skipped": reason }),
    }
}

/// A hook that was called by anything but a POST.
pub(super) async fn no_such_method() -> Response {
    let allowed = [(header::ALLOW, "POST")];
    (allowed, refused(StatusCode::METHOD_NOT_ALLOWED, "Hooks are called with POST."))
        .into_response()
}

/// A path that is no hook's.
pub(super) async fn nowhere() -> Response {
    refused(
        StatusCode::NOT_FOUND,
        "There is no such hook; there are /hooks/wake and /hooks/jobs/ID.",
    )
}

fn failed(error: &RpcError) -> Response {
    let is = |code: ErrorCode| error.code == code.number();
    let status = if is(ErrorCode::InvalidParams) {
        StatusCode::BAD_REQUEST
    } else if is(ErrorCode::Conflict) {
        StatusCode::CONFLICT
    } else if is(ErrorCode::Storage) {
        StatusCode::INSUFFICIENT_STORAGE
    } else if is(ErrorCode::NotFound) {
        // It was there a moment ago.
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    refused(status, &error.message)
}
