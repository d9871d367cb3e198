//! Checks of Host, Origin and fetch metadata (`own_origin`) before every request, and authentication.
//!
//! After DNS rebinding, a request has a foreign Host; a request of a foreign page has a foreign Origin. Both get 403
//! for every method and path, before a body is read and before a WebSocket is accepted.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::connection_limit::ConnectionPermit;
use super::error_response::error_response;
use super::own_origin::{OwnOrigin, check_origin};
use super::state::RouterState;
use crate::caller::Caller;

/// The header with the page proof.
const PAGE_PROOF_HEADER: &str = "rouse-page";

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Middleware: refuses foreign requests, renews sessions and sets the security headers.
pub(super) async fn check(
    State(state): State<RouterState>,
    mut request: Request,
    next: Next,
) -> Response {
    let target = request.uri().authority().map(Authority::as_str);
    let names = &state.gateway.context().engine.names;
    let origin = match check_origin(target, request.headers(), state.port, names) {
        Ok(origin) => origin,
        Err(reason) => return error_response(StatusCode::FORBIDDEN, reason),
    };
    let now = state.clock.now();
    let query = request.uri().query();
    let renewed = page_session(&state, &origin, request.headers(), query)
        .filter(|session| state.auth.renews_session(session, now));
    // silent-ok: a valid session consists of plain characters.
    let cookie =
        renewed.and_then(|session| HeaderValue::try_from(origin.session_cookie(session)).ok());
    request.extensions_mut().insert(origin);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Some(cookie) = cookie {
        // An extended session needs a new cookie: a browser knows only the last `Max-Age`.
        headers.append(header::SET_COOKIE, cookie);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

/// A caller with the token or a valid session. Place this extractor before the body, so that the body of an unauthenticated
/// caller is not read.
pub(super) struct Authenticated(pub(super) Caller);

impl FromRequestParts<RouterState> for Authenticated {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &RouterState,
    ) -> Result<Self, Self::Rejection> {
        if let Some(caller) = caller_of(state, parts) {
            if let Some(permit) = parts.extensions.get::<Arc<ConnectionPermit>>() {
                permit.mark_authenticated();
            }
            return Ok(Self(caller));
        }
        let message = "Sign in with `rouse open`, or send the token.";
        Err(error_response(StatusCode::UNAUTHORIZED, message))
    }
}

/// Requires `Content-Type: application/json`, which an HTML form of a foreign page cannot send.
pub(super) struct JsonContentType;

impl FromRequestParts<RouterState> for JsonContentType {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &RouterState,
    ) -> Result<Self, Self::Rejection> {
        let kind = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        if kind
            .split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        {
            return Ok(Self);
        }
        Err(error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send application/json."))
    }
}

/// The caller that sends the token, or is the page of a valid session. A session of `rouse open` is valid at loopback only.
fn caller_of(state: &RouterState, parts: &Parts) -> Option<Caller> {
    if parts.headers.contains_key(header::AUTHORIZATION) {
        return has_token(state, &parts.headers).then_some(Caller::Owner);
    }
    let origin = parts.extensions.get::<OwnOrigin>().expect("BUG: the origin was not checked");
    let session = page_session(state, origin, &parts.headers, parts.uri.query())?;
    let now = state.clock.now();
    if let Some(device) = state.gateway.context().devices.caller(session, now) {
        return Some(Caller::Device(device));
    }
    let is_loopback = matches!(origin, OwnOrigin::Loopback { .. });
    (is_loopback && state.auth.is_session(session, now)).then_some(Caller::Owner)
}

/// The token of an `Authorization: Bearer …` header. The scheme is case-insensitive.
pub(super) fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
}

/// Whether the caller sends the token itself. A browser session cannot create another session.
pub(super) fn has_token(state: &RouterState, headers: &HeaderMap) -> bool {
    let authorization = headers.get(header::AUTHORIZATION);
    let token = authorization.and_then(|value| value.to_str().ok()).and_then(bearer_token);
    token.is_some_and(|token| state.auth.is_token(token))
}

/// The session of a page with a valid page proof. A WebSocket cannot set headers, so the proof is in the query there.
fn page_session<'h>(
    state: &RouterState,
    origin: &OwnOrigin,
    headers: &'h HeaderMap,
    query: Option<&str>,
) -> Option<&'h str> {
    let session = session_of_cookie(headers, &origin.cookie_name())?;
    let in_header = headers.get(PAGE_PROOF_HEADER).and_then(|proof| proof.to_str().ok());
    let mut parts = query.unwrap_or_default().split('&');
    let proof = in_header.or_else(|| parts.find_map(|part| part.strip_prefix("page=")))?;
    state.auth.is_page_of(session, proof, &origin.serialized()).then_some(session)
}

fn session_of_cookie<'h>(headers: &'h HeaderMap, cookie_name: &str) -> Option<&'h str> {
    let cookies =
        headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| *name == cookie_name)
        .map(|(_, value)| value)
}
