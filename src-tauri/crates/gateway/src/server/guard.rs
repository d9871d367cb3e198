//! Checks of Host, Origin and fetch metadata before every request, and authentication.
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
use super::state::RouterState;
use crate::auth::SESSION_LIFETIME_MS;

/// Prefix of the session cookie; the suffix is the port. A browser shares cookies between all ports of a host, so without the
/// port two engines would sign out each other's pages.
const COOKIE_PREFIX: &str = "rouse_session_";

/// The header with the page proof.
const PAGE_PROOF_HEADER: &str = "rouse-page";

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The session cookie. Its lifetime is the idle timeout of a session.
pub(super) fn session_cookie(session: &str, port: u16) -> String {
    let seconds = SESSION_LIFETIME_MS / 1_000;
    format!("{COOKIE_PREFIX}{port}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}")
}

/// Middleware: refuses foreign requests, renews sessions and sets the security headers.
pub(super) async fn check(
    State(state): State<RouterState>,
    request: Request,
    next: Next,
) -> Response {
    let target = request.uri().authority().map(Authority::as_str);
    if let Err(reason) = check_origin(target, request.headers(), state.port) {
        return error_response(StatusCode::FORBIDDEN, reason);
    }
    let now = state.clock.now();
    let query = request.uri().query();
    let renewed = page_session(&state, request.headers(), query)
        .filter(|session| state.auth.renews_session(session, now));
    // silent-ok: a valid session consists of plain characters.
    let cookie =
        renewed.and_then(|session| HeaderValue::try_from(session_cookie(session, state.port)).ok());
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

/// Accepts requests of programs and of the server's own pages. A target with a host has precedence over `Host` (RFC 9112,
/// section 3.2.2), so both must name this server.
fn check_origin(target: Option<&str>, headers: &HeaderMap, port: u16) -> Result<(), &'static str> {
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_own = |name: &str| hosts.iter().any(|own| own.eq_ignore_ascii_case(name));
    if named.next().is_some() || !is_own(host) || !target.is_none_or(is_own) {
        return Err("This host name is not an address of Rouse.");
    }
    for origin in headers.get_all(header::ORIGIN) {
        let own = format!("http://{host}");
        if !origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&own)) {
            return Err("Requests of other pages are refused.");
        }
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        None | Some(b"none" | b"same-origin") => Ok(()),
        // A link from another page may open the UI, which then shows only the sign-in.
        Some(_)
            if headers.get("sec-fetch-mode").map(HeaderValue::as_bytes) == Some(b"navigate") =>
        {
            Ok(())
        }
        Some(_) => Err("Requests of other pages are refused."),
    }
}

/// A caller with the token or a valid session. Place this extractor before the body, so that the body of an unauthenticated
/// caller is not read.
pub(super) struct Authenticated;

impl FromRequestParts<RouterState> for Authenticated {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &RouterState,
    ) -> Result<Self, Self::Rejection> {
        if is_authenticated(state, &parts.headers, parts.uri.query()) {
            if let Some(permit) = parts.extensions.get::<Arc<ConnectionPermit>>() {
                permit.mark_authenticated();
            }
            return Ok(Self);
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

/// Whether the caller sends the token, or is the page of a valid session.
fn is_authenticated(state: &RouterState, headers: &HeaderMap, query: Option<&str>) -> bool {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer_token);
        return token.is_some_and(|token| state.auth.is_token(token));
    }
    let session = page_session(state, headers, query);
    session.is_some_and(|session| state.auth.is_session(session, state.clock.now()))
}

/// The token of an `Authorization: Bearer …` header. The scheme is case-insensitive.
pub(super) fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
}

/// Whether the caller sends the token itself. A browser session cannot create another session.
pub(super) fn has_token(state: &RouterState, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) && is_authenticated(state, headers, None)
}

/// The session of a page with a valid page proof. A WebSocket cannot set headers, so the proof is in the query there.
fn page_session<'h>(
    state: &RouterState,
    headers: &'h HeaderMap,
    query: Option<&str>,
) -> Option<&'h str> {
    let session = session_of_cookie(headers, state.port)?;
    let in_header = headers.get(PAGE_PROOF_HEADER).and_then(|proof| proof.to_str().ok());
    let mut parts = query.unwrap_or_default().split('&');
    let proof = in_header.or_else(|| parts.find_map(|part| part.strip_prefix("page=")))?;
    state.auth.is_page_of(session, proof, state.port).then_some(session)
}

fn session_of_cookie(headers: &HeaderMap, port: u16) -> Option<&str> {
    let port = port.to_string();
    let cookies =
        headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| name.strip_prefix(COOKIE_PREFIX) == Some(port.as_str()))
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let passes =
            |pairs: &[(&'static str, &str)]| check_origin(None, &headers(pairs), 7717).is_ok();
        assert!(passes(&[("host", "127.0.0.1:7717")]));
        assert!(passes(&[("host", "localhost:7717"), ("origin", "http://localhost:7717")]));
        assert!(passes(&[("host", "[::1]:7717")]));
        let own = headers(&[("host", "127.0.0.1:7717")]);
        assert!(check_origin(Some("localhost:7717"), &own, 7717).is_ok());
        for target in ["evil.example", "evil.example:7717", "user@127.0.0.1:7717"] {
            assert!(check_origin(Some(target), &own, 7717).is_err(), "{target}");
        }
        for bad in [
            &[][..],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:7718")],
            &[("host", "evil.example:7717")],
            &[("host", "127.0.0.1.evil.example:7717")],
            &[("host", "127.0.0.1:7717"), ("host", "evil.example")],
            &[("host", "127.0.0.1:7717"), ("origin", "http://evil.example")],
            &[("host", "127.0.0.1:7717"), ("origin", "null")],
            &[("host", "127.0.0.1:7717"), ("origin", "http://localhost:7717")],
            &[("host", "127.0.0.1:7717"), ("origin", "https://127.0.0.1:7717")],
            &[
                ("host", "127.0.0.1:7717"),
                ("origin", "http://127.0.0.1:7717"),
                ("origin", "http://evil.example"),
            ],
            &[
                ("host", "127.0.0.1:7717"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            &[
                ("host", "127.0.0.1:7717"),
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-mode", "websocket"),
            ],
        ] {
            assert!(!passes(bad), "{bad:?}");
        }
    }
}
