//! What was fetched: status, final URL, and the body as text up to a limit.
//!
//! The body is read piece by piece and given up at the limit, after unpacking, so that neither a long answer nor a
//! small packed one that unpacks without end fills the memory.

use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use rouse_core::tool::Fault;
use serde_json::{Value, json};

use crate::text::plain_text;

/// Bytes that no value in a request is longer than, but for one that fills its body.
const TAIL: usize = 8 << 10;

/// A fetched page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) content_type: Option<String>,
    /// When the server wants to be asked again, in its own words (RFC 9110, 10.2.3).
    pub(crate) retry_after: Option<String>,
    /// Where a redirect leads that was not followed.
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    pub(crate) is_truncated: bool,
}

impl Page {
    /// Reads at most `most` bytes of the body.
    pub(crate) async fn read(
        mut response: Response,
        location: Option<String>,
        most: usize,
    ) -> reqwest::Result<Self> {
        let content_type = header(&response, &CONTENT_TYPE);
        let retry_after = header(&response, &RETRY_AFTER);
        let (bytes, is_truncated) =
            read_body(&mut response, most).await.map_err(reqwest::Error::without_url)?;
        let body = text_of(&bytes, content_type.as_deref(), is_truncated);
        let (status, url) = (response.status().as_u16(), response.url().to_string());
        Ok(Self { status, url, content_type, retry_after, location, body, is_truncated })
    }

    /// The same without the end of a body that was cut, which may be a part of a secret.
    pub(crate) fn without_tail(mut self) -> Self {
        if self.is_truncated {
            self.body.truncate(self.body.floor_char_boundary(self.body.len().saturating_sub(TAIL)));
        }
        self
    }

    /// What the server says is wrong. A "no" may pass when the server was too slow, too early or asked too often (RFC 9110,
    /// 15.5.9; RFC 8470, 5.2; RFC 6585, 4), or when it has failed itself.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        match self.status {
            ..400 => None,
            408 | 425 | 429 | 500.. => Some(Fault::ExternalService),
            _ => Some(Fault::Refused),
        }
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

    /// The body comes last: whoever shows only the beginning of a long answer still shows the rest.
    pub(crate) fn into_value(self) -> Value {
        let mut value = json!({
            "status": self.status,
            "url": self.url,
            "contentType": self.content_type,
            "truncated": self.is_truncated,
        });
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

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(crate::plain_line(&String::from_utf8_lossy(value.as_bytes())))
}

async fn read_body(response: &mut Response, most: usize) -> reqwest::Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = most - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, true));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, false))
}

fn text_of(bytes: &[u8], content_type: Option<&str>, is_truncated: bool) -> String {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, &bytes[mark..]),
        None => (content_type.and_then(named_charset).unwrap_or(UTF_8), bytes),
    };
    if encoding.is_ascii_compatible() && bytes.contains(&0) {
        return "(The body is binary and is not shown.)".to_owned();
    }
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    // The limit may have cut the last character in two.
    let text = if is_truncated { text.trim_end_matches('\u{FFFD}') } else { &text };
    plain_text(text)
}

fn named_charset(content_type: &str) -> Option<&'static Encoding> {
    let parameters =
        content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    Encoding::for_label(charsets.next()?.1.trim().trim_matches('"').as_bytes())
}
