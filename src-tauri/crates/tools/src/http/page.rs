//! The answer of a server: its head, its bytes up to a bound, and the text of them.
//!
//! Owns the bound on what is read and on what it unpacks to, so that neither a long answer nor a small packed one fills
//! the memory. Never shows bytes that are no text. Pitfall: the two bounds are different numbers of the same answer.

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::tool::Fault;
use serde_json::{Value, json};

use super::packing::{PackingError, Unpacked, unpack};
use crate::charset;
use crate::media;
use crate::piece::{Piece, piece};

/// Bytes that no value in a request is longer than, but for one that fills its body.
const TAIL: usize = 8 << 10;

/// An answer as it came over the network.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    /// How the body is packed (`Content-Encoding`).
    pub(crate) packing: Option<String>,
    /// When the server wants to be asked again, in its own words (RFC 9110, 10.2.3).
    pub(crate) retry_after: Option<String>,
    /// Where a redirect leads that was not followed.
    pub(crate) location: Option<String>,
    /// The whole head.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Unpacked,
}

impl Answer {
    /// Reads at most `most` bytes of the body.
    pub(crate) async fn read(
        mut response: Response,
        location: Option<String>,
        most: usize,
    ) -> reqwest::Result<Self> {
        let body = read_body(&mut response, most).await.map_err(reqwest::Error::without_url)?;
        Ok(Self {
            status: response.status().as_u16(),
            url: response.url().to_string(),
            content_type: header(&response, &CONTENT_TYPE),
            packing: header(&response, &CONTENT_ENCODING),
            retry_after: header(&response, &RETRY_AFTER),
            location,
            headers: response.headers().clone(),
            body,
        })
    }

    /// The error that the status says. A "no" may pass when the server was too slow, too early or asked too often (RFC
    /// 9110, 15.5.9; RFC 8470, 5.2; RFC 6585, 4), or when it has failed itself.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        fault_of(self.status)
    }
}

/// A fetched page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    pub(crate) is_truncated: bool,
    /// Where the rest of the body begins, when it was cut and the same call can be made again.
    pub(crate) next: Option<usize>,
    /// The body, where it is an image or a PDF.
    pub(crate) attachment: Option<Attachment>,
}

impl Page {
    /// The text of an answer, of at most `most` bytes.
    pub(crate) fn of(answer: Answer, most: usize) -> Result<Self, PackingError> {
        let Answer { status, url, content_type, packing, retry_after, location, body, .. } = answer;
        let Unpacked { bytes, is_cut } = unpack(body, packing.as_deref(), most)?;
        let media = MediaKind::of(&bytes);
        let (body, attachment) = match media {
            Some(kind) => media_body(&url, kind, Unpacked { bytes, is_cut }),
            None => (text_body(&bytes, content_type.as_deref(), is_cut), None),
        };
        Ok(Self {
            status,
            url,
            content_type,
            retry_after,
            location,
            body,
            is_truncated: is_cut && media.is_none(),
            next: None,
            attachment,
        })
    }

    /// The part of the body that begins at `offset` and takes at most `room` bytes as JSON.
    pub(crate) fn part(mut self, offset: usize, room: usize) -> Self {
        let Piece { text, end, has_more } = piece(&self.body, offset, room);
        // A body that was cut on its way goes on as well, unless there is nothing left of it.
        let has_more = has_more || (self.is_truncated && !text.is_empty());
        self.body = text.to_owned();
        Self { is_truncated: has_more, next: has_more.then_some(end), ..self }
    }

    /// The same without the end of a body that was cut, which may be a part of a secret.
    pub(crate) fn without_tail(mut self) -> Self {
        if self.is_truncated {
            self.body.truncate(self.body.floor_char_boundary(self.body.len().saturating_sub(TAIL)));
        }
        self
    }

    /// The error that the status says.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        fault_of(self.status)
    }

    /// What a person is told of an answer that says "no": the status, and what the server says, unless that is a page for a
    /// browser. All of it: whoever takes secrets out has to see them whole, so only what comes after that may cut.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.fault()?;
        let status = StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let is_page = self.content_type.as_deref().is_some_and(|kind| kind.contains("html"));
        // JSON in one line: the first line of it stands alone in many places.
        let json: Option<Value> = serde_json::from_str(&self.body).ok();
        let said = json.map_or_else(|| self.body.trim().to_owned(), |json| json.to_string());
        let said = Some(said).filter(|said| !said.is_empty() && !is_page);
        let end = said.map_or_else(|| ".".to_owned(), |said| format!(": {said}"));
        Some(format!("The server answered {}{reason}{end}", self.status))
    }

    /// What to do about a long body.
    fn hint(&self) -> &'static str {
        if self.content_type.as_deref().is_some_and(|kind| kind.contains("html")) {
            "This is the source of a page; web_fetch returns its readable text. Call http with offset for the rest of the source."
        } else {
            "Call http with offset for the rest."
        }
    }

    /// The body stands last, so that a reader of only the beginning sees every other field.
    pub(crate) fn into_value(self) -> Value {
        let mut value = json!({
            "status": self.status,
            "url": self.url,
            "contentType": self.content_type,
            "truncated": self.is_truncated,
        });
        if let Some(next) = self.next {
            value["nextOffset"] = next.into();
            value["hint"] = self.hint().into();
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

fn text_body(bytes: &[u8], content_type: Option<&str>, is_cut: bool) -> String {
    match charset::text_of(bytes, content_type) {
        // The limit may have cut the last character in two.
        Some(text) if is_cut => text.trim_end_matches('\u{FFFD}').to_owned(),
        Some(text) => text,
        None => "(The body is binary and is not shown.)".to_owned(),
    }
}

/// The words that stand for an image or a PDF, and the file itself where a model can be shown it.
fn media_body(url: &str, kind: MediaKind, body: Unpacked) -> (String, Option<Attachment>) {
    if body.is_cut {
        let words = format!("(The body is a {kind}, longer than maxBytes. web_fetch reads more.)");
        return (words, None);
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

const fn fault_of(status: u16) -> Option<Fault> {
    match status {
        ..400 => None,
        408 | 425 | 429 | 500.. => Some(Fault::ExternalService),
        _ => Some(Fault::Refused),
    }
}

async fn read_body(response: &mut Response, most: usize) -> reqwest::Result<Unpacked> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = most - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            return Ok(Unpacked { bytes, is_cut: true });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Unpacked { bytes, is_cut: false })
}
