//! Common parts of search providers: request, result, and the `SearchProvider` trait.

use std::fmt;

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
pub use rouse_core::settings::SearchKind;
use rouse_core::text::percent_encode;
use serde_json::{Value, json};

use crate::text::{plain_line, truncate};

const MAX_SNIPPET_CHARS: usize = 500;
const MAX_TITLE_CHARS: usize = 200;

/// A configured provider.
#[derive(Clone)]
pub struct SearchAccess {
    /// The provider.
    pub kind: SearchKind,
    /// Address from the settings.
    pub url: Option<String>,
    /// API key.
    pub key: Option<String>,
}

/// Omits the key.
impl fmt::Debug for SearchAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchAccess").field("kind", &self.kind).field("url", &self.url).finish()
    }
}

impl SearchAccess {
    /// The base URL without a trailing slash.
    pub(super) fn base_url(&self) -> &str {
        self.url.as_deref().or(self.kind.default_url()).unwrap_or_default().trim_end_matches('/')
    }

    /// A header value with the key, marked as sensitive.
    pub(super) fn key_header(&self, scheme: &str) -> HeaderValue {
        let key = self.key.as_deref().unwrap_or_default();
        let value = HeaderValue::try_from(format!("{scheme}{key}"));
        let mut value = value.unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// A request to a provider.
pub(super) struct SearchRequest {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Value>,
}

impl SearchRequest {
    /// A GET of `path` with query parameters.
    pub(super) fn get(access: &SearchAccess, path: &str, parameters: &[(&str, &str)]) -> Self {
        let mut url = format!("{}{path}?", access.base_url());
        for (name, value) in parameters {
            url.push_str(&format!("{name}={}&", percent_encode(value)));
        }
        url.pop();
        Self { method: Method::GET, url, headers: json_headers(), body: None }
    }

    /// A POST of `body` to `path`.
    pub(super) fn post(access: &SearchAccess, path: &str, body: Value) -> Self {
        let url = format!("{}{path}", access.base_url());
        let mut headers = json_headers();
        let json = HeaderValue::from_static("application/json");
        headers.insert(reqwest::header::CONTENT_TYPE, json);
        Self { method: Method::POST, url, headers, body: Some(body) }
    }

    pub(super) fn with_header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }
}

fn json_headers() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))])
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl SearchResult {
    /// Reads a result from the fields with these names; `None` without a URL.
    pub(super) fn parse(result: &Value, title: &str, url: &str, snippet: &str) -> Option<Self> {
        let text = |key: &str| result[key].as_str().map(strip_markup).unwrap_or_default();
        let url = result[url].as_str().map(plain_line).filter(|url| !url.is_empty())?;
        let snippet = truncate(&text(snippet), MAX_SNIPPET_CHARS);
        Some(Self { title: truncate(&text(title), MAX_TITLE_CHARS), url, snippet })
    }

    pub(super) fn into_value(self) -> Value {
        json!({ "title": self.title, "url": self.url, "snippet": self.snippet })
    }
}

/// Removes the tags and entities with which providers highlight matches.
fn strip_markup(text: &str) -> String {
    let (mut plain, mut is_tag) = (String::with_capacity(text.len()), false);
    for character in text.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            _ if is_tag => {}
            _ => plain.push(character),
        }
    }
    let escapes = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    plain_line(&escapes.iter().fold(plain, |text, (from, to)| text.replace(from, to)))
}

/// The protocol of a provider.
pub(super) trait SearchProvider: Sync {
    /// Builds the request for `count` results.
    fn request(&self, access: &SearchAccess, query: &str, count: u8) -> SearchRequest;
    /// Reads the results; `None` if the response does not match the provider's documentation.
    fn parse(&self, response: &Value) -> Option<Vec<SearchResult>>;
}
