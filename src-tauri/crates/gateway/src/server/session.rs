//! Sign-in of a browser: a program with the token asks for a code, the page trades it for a cookie and a key. And what the engine
//! shows a program before that shows the token.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::body::Whole;
use super::guard::SaysJson;
use super::{Shared, guard};

/// `GET /auth/proof?nonce=…`: that the engine listens here. Anybody may ask; it opens nothing.
pub(super) async fn prove(
    State(shared): State<Shared>,
    RawQuery(query): RawQuery,
) -> Result<String, StatusCode> {
    let nonce = query.as_deref().and_then(|query| query.strip_prefix("nonce="));
    nonce.and_then(|nonce| shared.auth.prove(nonce, shared.port)).ok_or(StatusCode::BAD_REQUEST)
}

/// `POST /auth/code`: a one-time code for whoever shows the token.
pub(super) async fn new_code(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if !guard::has_token(&shared, &headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    Json(json!({ "code": shared.auth.new_code(shared.clock.now()) })).into_response()
}

/// `GET /auth/life`: which life of the engine this is. Anybody may ask; it opens nothing.
pub(super) async fn life(State(shared): State<Shared>) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], shared.auth.life().to_owned()).into_response()
}

/// `POST /auth/exchange {code}`: for a fresh code a session cookie, and the key that the page keeps for itself.
pub(super) async fn exchange(
    _: SaysJson,
    State(shared): State<Shared>,
    Whole(body): Whole,
) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let code = request.get("code").and_then(Value::as_str).unwrap_or_default();
    match shared.auth.exchange(code, shared.clock.now()) {
        Some(session) => {
            let cookie = guard::session_cookie(&session, shared.port);
            let told =
                [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
            (told, Json(json!({ "pageKey": shared.auth.page_key(&session) }))).into_response()
        }
        None => {
            (StatusCode::UNAUTHORIZED, "This code was used or is too old. Run `rouse open` again.")
                .into_response()
        }
    }
}
