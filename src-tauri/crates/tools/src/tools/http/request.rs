//! Conversion of a call's arguments into a request.
//!
//! Owns the definition of a plain read: GET or HEAD with content negotiation headers only, because no list of names tells which other
//! header carries a key. Refuses headers that control the connection, the framing or a proxy, and a body that the method does not
//! take.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rouse_core::tool::Annotations;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

use crate::http_guard::{HttpRequest, UrlError, UrlTarget};

/// Limit of a request body.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// Headers that select a representation and carry no credentials.
const NEGOTIATION_HEADERS: [&str; 11] = [
    "accept",
    "accept-language",
    "accept-charset",
    "cache-control",
    "pragma",
    "range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    url: String,
    #[serde(default)]
    method: HttpMethod,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default, deserialize_with = "deserialize_present")]
    json: Option<Value>,
    pub(super) max_bytes: Option<usize>,
    /// Offset into the response's body.
    #[serde(default)]
    pub(super) offset: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum HttpMethod {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

/// Invalid arguments, in words for the caller.
#[derive(Debug, Error)]
pub(super) enum RequestError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("The header {0:?} cannot be set.")]
    Header(String),
    #[error("The value of the header {0} is not valid.")]
    HeaderValue(HeaderName),
    #[error("Give the body as body or as json, not both.")]
    TwoBodies,
    #[error("{0} takes no body.")]
    NoBody(Method),
    #[error("offset requires GET: {0} would be carried out a second time.")]
    Offset(Method),
    #[error("The body has {0} bytes; the limit is {MAX_BODY_BYTES}.")]
    TooLarge(usize),
}

impl Arguments {
    /// The request without limits.
    pub(super) fn request(&self) -> Result<HttpRequest, RequestError> {
        let target = UrlTarget::parse(&self.url)?;
        let method = self.method.to_method();
        let body = match (&self.body, &self.json) {
            (Some(_), Some(_)) => return Err(RequestError::TwoBodies),
            (Some(text), None) => Some((text.clone(), "text/plain; charset=utf-8")),
            (None, Some(json)) => Some((json.to_string(), "application/json")),
            (None, None) => None,
        };
        if self.offset > 0 && !self.is_resumable() {
            return Err(RequestError::Offset(method));
        }
        if body.is_some() && self.method.is_read() {
            return Err(RequestError::NoBody(method));
        }
        if let Some((text, _)) = body.as_ref().filter(|(text, _)| text.len() > MAX_BODY_BYTES) {
            return Err(RequestError::TooLarge(text.len()));
        }
        let headers = self.headers(body.as_ref().map(|(_, kind)| *kind))?;
        let body = body.map(|(text, _)| text);
        Ok(HttpRequest { headers, body, ..HttpRequest::new(method, target) })
    }

    fn headers(&self, body_type: Option<&'static str>) -> Result<HeaderMap, RequestError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html, application/json, text/*;q=0.9, */*;q=0.5"),
        );
        if let Some(kind) = body_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in &self.headers {
            let is_allowed = |name: &HeaderName| {
                is_settable(name) && (*name != CONTENT_TYPE || body_type.is_some())
            };
            let parsed = HeaderName::try_from(name.as_str()).ok().filter(is_allowed);
            let name = parsed.ok_or_else(|| RequestError::Header(name.clone()))?;
            let value = HeaderValue::try_from(value.as_str())
                .map_err(|_| RequestError::HeaderValue(name.clone()))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Whether the same call can fetch the rest of a long response.
    pub(super) fn is_resumable(&self) -> bool {
        self.method == HttpMethod::Get
    }

    /// Whether the request only asks for a representation.
    pub(super) fn is_plain_read(&self) -> bool {
        let is_negotiation =
            |name: &String| NEGOTIATION_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        self.method.is_read()
            && self.body.is_none()
            && self.json.is_none()
            && self.headers.keys().all(is_negotiation)
    }

    /// The effect that the method asks for (RFC 9110, section 9.2).
    pub(super) const fn annotations(&self) -> Annotations {
        match self.method {
            HttpMethod::Get | HttpMethod::Head | HttpMethod::Options => {
                Annotations { open_world: true, ..Annotations::READS }
            }
            HttpMethod::Put | HttpMethod::Delete => {
                Annotations { open_world: true, ..Annotations::OVERWRITES }
            }
            HttpMethod::Post | HttpMethod::Patch => Annotations::ANYTHING,
        }
    }

    /// The request as sent, for an approval.
    pub(super) fn describe(&self) -> String {
        let mut shown = format!("{} {}\n", self.method.to_method(), self.url);
        for (name, value) in &self.headers {
            writeln!(shown, "{name}: {value}").expect("BUG: writing into a string does not fail");
        }
        let json = self.json.as_ref().map(|json| format!("{json:#}"));
        if let Some(body) = self.body.as_ref().or(json.as_ref()) {
            shown.push('\n');
            shown.push_str(body);
        }
        if self.offset > 0 {
            write!(shown, "\n(The response is shown from byte {} on.)", self.offset)
                .expect("BUG: writing into a string does not fail");
        }
        if let Some(max) = self.max_bytes {
            write!(shown, "\n(At most {max} bytes of the response are read.)")
                .expect("BUG: writing into a string does not fail");
        }
        shown
    }
}

impl HttpMethod {
    const fn to_method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Head => Method::HEAD,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
            Self::Options => Method::OPTIONS,
        }
    }

    const fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

/// Keeps `null`, which is a JSON body too.
fn deserialize_present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Whether a caller may set this header. Connection, framing and proxy headers are reserved.
fn is_settable(name: &HeaderName) -> bool {
    const RESERVED: [&str; 12] = [
        "host",
        "connection",
        "keep-alive",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "accept-encoding",
        "user-agent",
        "http2-settings",
    ];
    let name = name.as_str();
    !RESERVED.contains(&name)
        && !name.starts_with("proxy-")
        && !name.starts_with("x-forwarded")
        && name != "forwarded"
}
