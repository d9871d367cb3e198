//! What is checked before a request is looked at: Host, Origin, fetch metadata; and who calls.
//!
//! A name that was rebound to 127.0.0.1 carries its own Host; a foreign page carries its Origin. Both end here with
//! 403, whatever the method and the path, before any body is read and before a WebSocket is accepted.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::door::Place;
use super::{Shared, refused};
use crate::auth::SESSION_FOR_MS;

/// How the name of a session cookie begins. A browser has one jar for all ports of a computer, so the port is the rest of it,
/// or two engines would sign each other's pages out.
const COOKIE: &str = "rouse_session_";

/// The header by which a page proves that it is that of its session.
const PAGE: &str = "rouse-page";

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a browser keeps of its session, for as long as the session lives without a visit.
pub(super) fn session_cookie(session: &str, port: u16) -> String {
    let seconds = SESSION_FOR_MS / 1_000;
    format!("{COOKIE}{port}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}")
}

pub(super) async fn check(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let target = request.uri().authority().map(Authority::as_str);
    if let Err(reason) = from_here(target, request.headers(), shared.port) {
        return refused(StatusCode::FORBIDDEN, reason);
    }
    let now = shared.clock.now();
    let query = request.uri().query();
    let renewed = session_of_page(&shared, request.headers(), query)
        .filter(|shown| shared.auth.renews_session(shown, now));
    // silent-ok: a session that is live has the plain characters of a secret of ours.
    let cookie =
        renewed.and_then(|shown| HeaderValue::try_from(session_cookie(shown, shared.port)).ok());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Some(cookie) = cookie {
        // The browser forgets its cookie when it was told to, and not when the session ends.
        headers.append(header::SET_COOKIE, cookie);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

/// Whether a request was made to this server by its own page or by a program. A target that names a host goes before
/// `Host` (RFC 9112, section 3.2.2), so both have to name this one.
fn from_here(target: Option<&str>, headers: &HeaderMap, port: u16) -> Result<(), &'static str> {
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_own = |name: &str| hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    if named.next().is_some() || !is_own(host) || !target.is_none_or(is_own) {
        return Err("This name does not lead to Rouse.");
    }
    for origin in headers.get_all(header::ORIGIN) {
        let own = format!("http://{host}");
        if !origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&own)) {
            return Err("Another page asked for this.");
        }
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        None | Some(b"none" | b"same-origin") => Ok(()),
        // A link from another page may open the UI, which then shows nothing but the sign-in.
        Some(_)
            if headers.get("sec-fetch-mode").map(HeaderValue::as_bytes) == Some(b"navigate") =>
        {
            Ok(())
        }
        Some(_) => Err("Another page asked for this."),
    }
}

/// A caller that shows the token or a live session. It stands before the body among a handler's arguments: the body of
/// a stranger is not read.
pub(super) struct Known;

impl FromRequestParts<Shared> for Known {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Shared,
    ) -> Result<Self, Self::Rejection> {
        if is_known(shared, &parts.headers, parts.uri.query()) {
            if let Some(place) = parts.extensions.get::<Arc<Place>>() {
                place.keep();
            }
            return Ok(Self);
        }
        Err(refused(StatusCode::UNAUTHORIZED, "Sign in with `rouse open`, or show the token."))
    }
}

/// A body that says it is JSON: a form of a foreign page cannot.
pub(super) struct SaysJson;

impl FromRequestParts<Shared> for SaysJson {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Self::Rejection> {
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
        Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send application/json."))
    }
}

/// Whether the caller shows the token, or comes from the page of a live session.
fn is_known(shared: &Shared, headers: &HeaderMap, query: Option<&str>) -> bool {
    if let Some(shown) = headers.get(header::AUTHORIZATION) {
        let token = shown.to_str().ok().and_then(bearer);
        return token.is_some_and(|token| shared.auth.is_token(token));
    }
    let session = session_of_page(shared, headers, query);
    session.is_some_and(|shown| shared.auth.is_session(shown, shared.clock.now()))
}

/// What is shown by a header that says `Bearer`, in whatever case: the name of a scheme has none.
pub(super) fn bearer(shown: &str) -> Option<&str> {
    let (scheme, shown) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| shown.trim_start_matches(' '))
}

/// Whether the caller shows the token itself; a browser's session is not enough to make another one.
pub(super) fn has_token(shared: &Shared, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) && is_known(shared, headers, None)
}

/// The session that a page shows with the proof that it is its page. A WebSocket has no headers of its own, so there the
/// proof stands in the address.
fn session_of_page<'h>(
    shared: &Shared,
    headers: &'h HeaderMap,
    query: Option<&str>,
) -> Option<&'h str> {
    let session = session(headers, shared.port)?;
    let in_header = headers.get(PAGE).and_then(|proof| proof.to_str().ok());
    let mut parts = query.unwrap_or_default().split('&');
    let proof = in_header.or_else(|| parts.find_map(|part| part.strip_prefix("page=")))?;
    shared.auth.is_page_of(session, proof, shared.port).then_some(session)
}

fn session(headers: &HeaderMap, port: u16) -> Option<&str> {
    let own = port.to_string();
    let cookies =
        headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| name.strip_prefix(COOKIE) == Some(own.as_str()))
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
    fn only_this_server_s_names_and_pages_pass() {
        let passes =
            |pairs: &[(&'static str, &str)]| from_here(None, &headers(pairs), 7717).is_ok();
        assert!(passes(&[("host", "127.0.0.1:7717")]));
        assert!(passes(&[("host", "localhost:7717"), ("origin", "http://localhost:7717")]));
        assert!(passes(&[("host", "[::1]:7717")]));
        let own = headers(&[("host", "127.0.0.1:7717")]);
        assert!(from_here(Some("localhost:7717"), &own, 7717).is_ok());
        for target in ["evil.example", "evil.example:7717", "user@127.0.0.1:7717"] {
            assert!(from_here(Some(target), &own, 7717).is_err(), "{target}");
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
