//! Sign-in endpoints: the engine's proof for programs, and the exchange of a one-time code for a browser session.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::body::CompleteBody;
use super::guard::{self, JsonContentType};
use super::own_origin::OwnOrigin;
use super::state::RouterState;

/// `GET /auth/proof?nonce=…`: proves that the engine listens here. Public.
pub(super) async fn prove(
    State(state): State<RouterState>,
    RawQuery(query): RawQuery,
) -> Result<String, StatusCode> {
    let nonce = query.as_deref().and_then(|query| query.strip_prefix("nonce="));
    nonce.and_then(|nonce| state.auth.prove(nonce, state.port)).ok_or(StatusCode::BAD_REQUEST)
}

/// `POST /auth/code`: creates a one-time code. Needs the token.
pub(super) async fn create_code(State(state): State<RouterState>, headers: HeaderMap) -> Response {
    if !guard::has_token(&state, &headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    Json(json!({ "code": state.auth.create_code(state.clock.now()) })).into_response()
}

/// `GET /auth/start-id`: the id of this start of the engine. Public.
pub(super) async fn start_id(State(state): State<RouterState>) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], state.auth.start_id().to_owned()).into_response()
}

/// `POST /auth/exchange {code}`: exchanges a code for a session cookie and a page key. Refused at a name: pages there sign in as
/// devices.
pub(super) async fn exchange(
    _: JsonContentType,
    Extension(origin): Extension<OwnOrigin>,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    if matches!(origin, OwnOrigin::Name(_)) {
        let message = "Pair this device: rouse devices pair";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let code = request.get("code").and_then(Value::as_str).unwrap_or_default();
    match state.auth.exchange(code, state.clock.now()) {
        Some(session) => {
            let cookie = origin.session_cookie(&session);
            let headers =
                [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
            (headers, Json(json!({ "pageKey": state.auth.page_key(&session) }))).into_response()
        }
        None => {
            let message = "This code is used or expired. Run `rouse open` again.";
            (StatusCode::UNAUTHORIZED, message).into_response()
        }
    }
}
