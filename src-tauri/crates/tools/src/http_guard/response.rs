//! A server's response: status, headers, and a bounded body, raw or as text.
//!
//! Owns the bounds on the bytes read and on the bytes decoded, so that neither a long response nor a decompression bomb fills the
//! memory. Never shows binary data. Pitfall: the two bounds count different bytes of the same body.

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::tool::Fault;
use serde_json::{Value, json};

use super::content_encoding::{Body, ContentEncodingError, decode_body};
use crate::charset;
use crate::media;
use crate::text_chunk::{TextChunk, chunk_at};

/// Upper bound of a secret's length, except a secret that fills the whole body.
const MAX_SECRET_BYTES: usize = 8 << 10;

/// A response as received.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    /// The `Retry-After` header (RFC 9110, 10.2.3).
    pub(crate) retry_after: Option<String>,
    /// The target of a redirect that was not followed.
    pub(crate) location: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl RawResponse {
    /// Reads at most `max_bytes` of the body.
    pub(crate) async fn read(
        mut response: Response,
        location: Option<String>,
        max_bytes: usize,
    ) -> reqwest::Result<Self> {
        let body =
            read_body(&mut response, max_bytes).await.map_err(reqwest::Error::without_url)?;
        Ok(Self {
            status: response.status().as_u16(),
            url: response.url().to_string(),
            content_type: header(&response, &CONTENT_TYPE),
            content_encoding: header(&response, &CONTENT_ENCODING),
            retry_after: header(&response, &RETRY_AFTER),
            location,
            headers: response.headers().clone(),
            body,
        })
    }

    pub(crate) const fn fault(&self) -> Option<Fault> {
        status_fault(self.status)
    }
}

/// A response with the body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextResponse {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    pub(crate) is_truncated: bool,
    /// Offset of the rest, if the body is truncated and the call can be repeated.
    pub(crate) next: Option<usize>,
    /// An image or a PDF in the body.
    pub(crate) attachment: Option<Attachment>,
}

impl TextResponse {
    /// Decodes a response to at most `max_bytes`.
    pub(crate) fn decode(
        response: RawResponse,
        max_bytes: usize,
    ) -> Result<Self, ContentEncodingError> {
        let RawResponse {
            status,
            url,
            content_type,
            content_encoding,
            retry_after,
            location,
            body,
            ..
        } = response;
        let Body { bytes, is_truncated } =
            decode_body(body, content_encoding.as_deref(), max_bytes)?;
        let media = MediaKind::of(&bytes);
        let (body, attachment) = match media {
            Some(kind) => describe_media(&url, kind, Body { bytes, is_truncated }),
            None => (decode_text_body(&bytes, content_type.as_deref(), is_truncated), None),
        };
        Ok(Self {
            status,
            url,
            content_type,
            retry_after,
            location,
            body,
            is_truncated: is_truncated && media.is_none(),
            next: None,
            attachment,
        })
    }

    /// Selects the part of the body at `offset` that takes at most `max_json_bytes`.
    pub(crate) fn select_chunk(mut self, offset: usize, max_json_bytes: usize) -> Self {
        let TextChunk { text, end, has_more } = chunk_at(&self.body, offset, max_json_bytes);
        // A body truncated by the reader continues too, unless nothing is left.
        let has_more = has_more || (self.is_truncated && !text.is_empty());
        self.body = text.to_owned();
        Self { is_truncated: has_more, next: has_more.then_some(end), ..self }
    }

    /// Drops the end of a truncated body, which may be a part of a secret.
    pub(crate) fn without_tail(mut self) -> Self {
        if self.is_truncated {
            let end = self.body.len().saturating_sub(MAX_SECRET_BYTES);
            self.body.truncate(self.body.floor_char_boundary(end));
        }
        self
    }

    pub(crate) const fn fault(&self) -> Option<Fault> {
        status_fault(self.status)
    }

    /// Message for people about an error status: the status, and the server's text unless it is HTML. Never truncated here, because
    /// redaction runs later and must see whole secrets.
    pub(crate) fn error_summary(&self) -> Option<String> {
        self.fault()?;
        let status = StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        // Compact JSON: many views show the first line alone.
        let json: Option<Value> = serde_json::from_str(&self.body).ok();
        let text = json.map_or_else(|| self.body.trim().to_owned(), |json| json.to_string());
        let text = Some(text).filter(|text| !text.is_empty() && !self.is_html());
        let end = text.map_or_else(|| ".".to_owned(), |text| format!(": {text}"));
        Some(format!("The server answered {}{reason}{end}", self.status))
    }

    fn is_html(&self) -> bool {
        self.content_type.as_deref().is_some_and(|kind| kind.contains("html"))
    }

    fn continuation_hint(&self) -> &'static str {
        if self.is_html() {
            "This is the source of a page; web_fetch returns its readable text. Call http with offset for the rest of the source."
        } else {
            "Call http with offset for the rest."
        }
    }

    /// The body is the last field, so that a truncated value keeps the others.
    pub(crate) fn into_value(self) -> Value {
        let mut value = json!({
            "status": self.status,
            "url": self.url,
            "contentType": self.content_type,
            "truncated": self.is_truncated,
        });
        if let Some(next) = self.next {
            value["nextOffset"] = next.into();
            value["hint"] = self.continuation_hint().into();
        }
        if let Some(retry_after) = self.retry_after {
            value["retryAfter"] = retry_after.into();
        }
        if let Some(location) = self.location {
            value["location"] = location.into();
        }
        value["body"] = self.body.into();
        value
    }
}

fn decode_text_body(bytes: &[u8], content_type: Option<&str>, is_truncated: bool) -> String {
    match charset::decode_text(bytes, content_type) {
        // The limit may have split the last character.
        Some(text) if is_truncated => text.trim_end_matches('\u{FFFD}').to_owned(),
        Some(text) => text,
        None => "(The body is binary and is not shown.)".to_owned(),
    }
}

/// Describes an image or a PDF; attaches the file if the model supports file input.
fn describe_media(url: &str, kind: MediaKind, body: Body) -> (String, Option<Attachment>) {
    if body.is_truncated {
        let text = format!("(The body is a {kind}, longer than maxBytes. web_fetch reads more.)");
        return (text, None);
    }
    match media::attachment(url, kind, body.bytes) {
        Ok(file) => (format!("(The body is a {kind}.)"), Some(file)),
        Err(error) => (format!("(The body {error})"), None),
    }
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(crate::plain_line(&String::from_utf8_lossy(value.as_bytes())))
}

/// The fault of a status. Timeouts, early requests, rate limits (RFC 9110, 15.5.9; RFC 8470, 5.2; RFC 6585, 4) and server errors are
/// transient; other client errors are final.
const fn status_fault(status: u16) -> Option<Fault> {
    match status {
        ..400 => None,
        408 | 425 | 429 | 500.. => Some(Fault::ExternalService),
        _ => Some(Fault::Refused),
    }
}

async fn read_body(response: &mut Response, max_bytes: usize) -> reqwest::Result<Body> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = max_bytes - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            return Ok(Body { bytes, is_truncated: true });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Body { bytes, is_truncated: false })
}
