//! From the arguments of a call to the request that is sent, and what it may do unasked.
//!
//! Only a GET or HEAD with headers that choose the form of the answer is a mere look. Everything else asks: another
//! method, a body, and any other header, because no list of names tells which header carries a key. It refuses headers
//! that speak for the connection, the message's frame or a proxy, and a body that a method has no use for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rouse_core::tool::Annotations;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

use super::fetch::Request;
use super::target::{Target, UrlError};

/// The most bytes of a body.
pub(super) const MOST_BODY: usize = 1 << 20;
/// Headers that say which answer is wanted, and nothing of who asks.
const FORM: [&str; 11] = [
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
    method: Verb,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    pub(super) max_bytes: Option<usize>,
    /// Where the part of the body begins that is wanted.
    #[serde(default)]
    pub(super) offset: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Verb {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

/// Why a call is no request. The words are for the caller, who may mend it.
#[derive(Debug, Error)]
pub(super) enum RequestError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("The header {0:?} cannot be set.")]
    Header(String),
    #[error("The value of the header {0} is not valid.")]
    HeaderValue(HeaderName),
    #[error("Give the body either as body or as json.")]
    TwoBodies,
    #[error("{0} takes no body.")]
    NoBody(Method),
    #[error("offset goes with GET alone: {0} would be carried out a second time.")]
    Offset(Method),
    #[error("The body has {0} bytes; at most {MOST_BODY} are sent.")]
    TooLarge(usize),
}

impl Arguments {
    /// The request, before it is known how much of the answer is wanted and where it may go.
    pub(super) fn request(&self) -> Result<Request, RequestError> {
        let target = Target::parse(&self.url)?;
        let method = self.method.method();
        let body = match (&self.body, &self.json) {
            (Some(_), Some(_)) => return Err(RequestError::TwoBodies),
            (Some(text), None) => Some((text.clone(), "text/plain; charset=utf-8")),
            (None, Some(json)) => Some((json.to_string(), "application/json")),
            (None, None) => None,
        };
        if self.offset > 0 && !self.may_go_on() {
            return Err(RequestError::Offset(method));
        }
        if body.is_some() && self.method.only_looks() {
            return Err(RequestError::NoBody(method));
        }
        if let Some((text, _)) = body.as_ref().filter(|(text, _)| text.len() > MOST_BODY) {
            return Err(RequestError::TooLarge(text.len()));
        }
        let headers = self.headers(body.as_ref().map(|(_, kind)| *kind))?;
        let body = body.map(|(text, _)| text);
        Ok(Request { headers, body, ..Request::new(method, target) })
    }

    fn headers(&self, kind_of_body: Option<&'static str>) -> Result<HeaderMap, RequestError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html, application/json, text/*;q=0.9, */*;q=0.5"),
        );
        if let Some(kind) = kind_of_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in &self.headers {
            let is_settable = |name: &HeaderName| {
                is_free(name) && (*name != CONTENT_TYPE || kind_of_body.is_some())
            };
            let parsed = HeaderName::try_from(name.as_str()).ok().filter(is_settable);
            let name = parsed.ok_or_else(|| RequestError::Header(name.clone()))?;
            let value = HeaderValue::try_from(value.as_str())
                .map_err(|_| RequestError::HeaderValue(name.clone()))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Whether the rest of a long answer can be had by the same call again.
    pub(super) fn may_go_on(&self) -> bool {
        self.method == Verb::Get
    }

    /// Whether it asks a server for something and tells it nothing else.
    pub(super) fn is_mere_look(&self) -> bool {
        let is_form = |name: &String| FORM.contains(&name.to_ascii_lowercase().as_str());
        matches!(self.method, Verb::Get | Verb::Head)
            && self.body.is_none()
            && self.json.is_none()
            && self.headers.keys().all(is_form)
    }

    /// What it does to the world (RFC 9110 section 9.2): a server may do anything with a request, but this is what the
    /// request asks for.
    pub(super) const fn annotations(&self) -> Annotations {
        match self.method {
            Verb::Get | Verb::Head | Verb::Options => {
                Annotations { open_world: true, ..Annotations::READS }
            }
            Verb::Put | Verb::Delete => Annotations { open_world: true, ..Annotations::OVERWRITES },
            Verb::Post | Verb::Patch => Annotations::ANYTHING,
        }
    }

    /// The request as it goes over the wire, for a person.
    pub(super) fn shown(&self) -> String {
        let mut shown = format!("{} {}\n", self.method.method(), self.url);
        for (name, value) in &self.headers {
            writeln!(shown, "{name}: {value}").expect("BUG: writing into a string does not fail");
        }
        let json = self.json.as_ref().map(|json| format!("{json:#}"));
        if let Some(body) = self.body.as_ref().or(json.as_ref()) {
            shown.push('\n');
            shown.push_str(body);
        }
        if self.offset > 0 {
            write!(shown, "\n(The answer is shown from byte {} on.)", self.offset)
                .expect("BUG: writing into a string does not fail");
        }
        if let Some(most) = self.max_bytes {
            write!(shown, "\n(At most {most} bytes of the answer are read.)")
                .expect("BUG: writing into a string does not fail");
        }
        shown
    }
}

impl Verb {
    const fn method(self) -> Method {
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

    const fn only_looks(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

/// `null` is JSON too.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Whether a caller may set this header: not those that speak for the connection, the message's frame or a proxy.
fn is_free(name: &HeaderName) -> bool {
    const OURS: [&str; 12] = [
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
    !OURS.contains(&name)
        && !name.starts_with("proxy-")
        && !name.starts_with("x-forwarded")
        && name != "forwarded"
}
