//! The import `http`: one exchange with a granted host.
//!
//! Owns the order of the checks: host, headers, then secrets. Values of secrets are filled after the host check, and
//! redacted from the answer before the guest sees it. Never follows a redirect. Pitfall: a packed answer, in which no
//! value can be found; the request asks for an unpacked one, and another is refused.

use std::sync::Arc;

use rouse_core::http_exchange::{HttpBody, HttpExchangeRequest, HttpExchangeResponse};
use rouse_core::text::percent_encode;
use wasmtime::component::{ComponentType, Lift, Lower};

use super::secrets::{replace_handles, secret_names};
use super::state::CallState;
use super::url::GuestUrl;

/// The methods of a request.
pub(crate) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 8_192;

/// Headers that the client sets.
const CLIENT_HEADERS: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// A request of a guest.
#[derive(Debug, ComponentType, Lift)]
#[component(record)]
pub(crate) struct GuestHttpRequest {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// The answer for a guest.
#[derive(Debug, ComponentType, Lower)]
#[component(record)]
pub(crate) struct GuestHttpResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Makes one exchange. The error is a sentence without values of secrets.
pub(crate) async fn send(
    state: &CallState,
    request: GuestHttpRequest,
) -> Result<GuestHttpResponse, String> {
    count_exchange(state)?;
    let request = fill_request(state, request).await?;
    let redact = |error: String| state.record().secrets.redact(&error);
    let exchange = state.ports.http.exchange(request).await;
    let response = exchange.map_err(|error| redact(error.to_string()))?;
    read_response(state, response).await
}

fn count_exchange(state: &CallState) -> Result<(), String> {
    if state.grants.hosts.is_empty() {
        return Err("The tool has no permission for HTTP. Add `hosts` to the permissions in \
             tool.toml."
            .to_owned());
    }
    let limit = state.limits.http_exchanges;
    let mut record = state.record();
    if record.http_exchanges == limit {
        return Err(format!(
            "A call makes at most {limit} HTTP exchanges. Make the tool fetch less at once."
        ));
    }
    record.http_exchanges += 1;
    Ok(())
}

/// The checked request with the values of secrets.
async fn fill_request(
    state: &CallState,
    request: GuestHttpRequest,
) -> Result<HttpExchangeRequest, String> {
    let GuestHttpRequest { method, url, headers, body } = request;
    let wanted = METHODS.into_iter().find(|known| known.eq_ignore_ascii_case(&method));
    let method =
        wanted.ok_or_else(|| format!("The method must be one of {}.", METHODS.join(", ")))?;
    let target = GuestUrl::parse(&url, state.ports.allows_loopback_http)?;
    if !state.grants.hosts.iter().any(|host| host.is(&target.host, target.port)) {
        let granted: Vec<String> = state.grants.hosts.iter().map(ToString::to_string).collect();
        return Err(format!(
            "The tool may not reach {}. Its permissions in tool.toml list: {}.",
            target.bound_host(),
            granted.join(", ")
        ));
    }
    let body = body.unwrap_or_default();
    let limit = state.limits.http_body_bytes;
    if body.len() > limit {
        return Err(format!("The body of the request is larger than {limit} bytes. Send less."));
    }
    let headers = check_headers(headers)?;
    let bound_host = target.bound_host();
    let texts = headers.iter().map(|(_, value)| value.as_str()).chain([target.rest]);
    let values = secret_values(state, secret_names(texts), &bound_host).await?;
    let value_of = |name: &str| {
        let found = values.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).expect("BUG: the name was collected from these texts")
    };
    let rest = replace_handles(target.rest, |name| percent_encode(&value_of(name)));
    let mut filled = vec![("accept-encoding".to_owned(), "identity".to_owned())];
    filled.extend(headers.iter().map(|(name, value)| {
        let value = replace_handles(value, value_of);
        (name.clone(), value)
    }));
    Ok(HttpExchangeRequest {
        method,
        url: format!("{}{rest}", target.origin),
        headers: filled,
        body,
    })
}

/// The headers with names in small letters.
fn check_headers(headers: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    if headers.len() > MAX_HEADERS {
        return Err(format!("A request has at most {MAX_HEADERS} headers. Send fewer."));
    }
    let checked = headers.into_iter().map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("The header name {name:?} is not valid."));
        }
        if CLIENT_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-") {
            return Err(format!("The header {name} is set by Rouse. Remove it."));
        }
        if value.len() > MAX_HEADER_BYTES || value.chars().any(char::is_control) {
            return Err(format!(
                "The value of the header {name} is longer than {MAX_HEADER_BYTES} bytes or has control characters."
            ));
        }
        Ok((name, value))
    });
    checked.collect()
}

/// The values of the secrets `names`; remembers them for redaction.
async fn secret_values(
    state: &CallState,
    names: Vec<String>,
    host: &str,
) -> Result<Vec<(String, String)>, String> {
    let mut values = Vec::new();
    for name in names {
        if !state.grants.secrets.contains(&name) {
            return Err(format!(
                "The tool may not use the secret {name}. Add it to `secrets` in the permissions of tool.toml."
            ));
        }
        let (port, host) = (Arc::clone(&state.ports.secrets), host.to_owned());
        let handle = format!("{{{{secret:{name}}}}}");
        let filled = tokio::task::spawn_blocking(move || port.fill(&handle, &host));
        let value = filled.await.map_err(|error| error.to_string())??;
        state.record().secrets.add(&name, &value)?;
        values.push((name, value));
    }
    Ok(values)
}

async fn read_response(
    state: &CallState,
    response: HttpExchangeResponse,
) -> Result<GuestHttpResponse, String> {
    let HttpExchangeResponse { status, headers, mut body } = response;
    let is_packed = |(name, value): &(String, String)| {
        name == "content-encoding" && !value.trim().eq_ignore_ascii_case("identity")
    };
    if headers.iter().any(is_packed) {
        return Err(
            "The server sent a compressed response, although Rouse asked for a plain one. \
             Ask for another format."
                .to_owned(),
        );
    }
    let read = read_body(&mut *body, state.limits.http_body_bytes).await;
    let record = state.record();
    let body = record.secrets.redact_bytes(read.map_err(|error| record.secrets.redact(&error))?);
    let headers = headers
        .iter()
        .take(MAX_HEADERS)
        .map(|(name, value)| (record.secrets.redact(name), record.secrets.redact(value)));
    Ok(GuestHttpResponse { status, headers: headers.collect(), body })
}

async fn read_body(body: &mut dyn HttpBody, limit: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await.map_err(|error| error.to_string())? {
        if bytes.len() + piece.len() > limit {
            return Err(format!("The response is larger than {limit} bytes. Ask for less."));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}
