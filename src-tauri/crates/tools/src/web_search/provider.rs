//! What all search providers have in common: how they are asked, and what a result is.

use std::fmt;

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{brave, exa, kagi, searxng, tavily};
use crate::text::{plain_line, shortened};

/// The most characters of a snippet.
const MOST_SNIPPET: usize = 500;

/// The search providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// A metasearch engine that people host themselves; no key.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Kagi.
    Kagi,
}

impl SearchKind {
    /// All of them, in the order in which a variable with a key is looked for.
    pub const ALL: [Self; 5] = [Self::Searxng, Self::Brave, Self::Tavily, Self::Exa, Self::Kagi];

    /// The name in the settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Kagi => "kagi",
        }
    }

    /// The name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Searxng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
            Self::Exa => "Exa",
            Self::Kagi => "Kagi",
        }
    }

    /// The variable that usually holds its key.
    #[must_use]
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Exa => Some("EXA_API_KEY"),
            Self::Kagi => Some("KAGI_API_KEY"),
        }
    }

    /// Its own address; none for what people host themselves.
    #[must_use]
    pub const fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Kagi => Some("https://kagi.com"),
        }
    }

    /// Where its keys and its credit are.
    pub(super) const fn account(self) -> &'static str {
        match self {
            Self::Searxng => "the settings of your SearXNG",
            Self::Brave => "https://api-dashboard.search.brave.com",
            Self::Tavily => "https://app.tavily.com",
            Self::Exa => "https://dashboard.exa.ai",
            Self::Kagi => "https://kagi.com/settings/api",
        }
    }

    pub(super) fn provider(self) -> &'static dyn Provider {
        match self {
            Self::Searxng => &searxng::Searxng,
            Self::Brave => &brave::Brave,
            Self::Tavily => &tavily::Tavily,
            Self::Exa => &exa::Exa,
            Self::Kagi => &kagi::Kagi,
        }
    }
}

/// A provider that is set up.
#[derive(Clone)]
pub struct SearchAccess {
    /// Which.
    pub kind: SearchKind,
    /// Its address, if the settings name one.
    pub url: Option<String>,
    /// Its key.
    pub key: Option<String>,
}

/// Without the key.
impl fmt::Debug for SearchAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchAccess").field("kind", &self.kind).field("url", &self.url).finish()
    }
}

impl SearchAccess {
    /// The address, without a slash at its end.
    pub(super) fn base(&self) -> &str {
        self.url.as_deref().or(self.kind.usual_url()).unwrap_or_default().trim_end_matches('/')
    }

    /// The value of a header that holds the key, hidden where headers are shown.
    pub(super) fn key_header(&self, scheme: &str) -> HeaderValue {
        let key = self.key.as_deref().unwrap_or_default();
        let value = HeaderValue::try_from(format!("{scheme}{key}"));
        let mut value = value.unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// A request to a provider.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Value>,
}

impl Ask {
    /// A GET of `path` with these parameters.
    pub(super) fn get(access: &SearchAccess, path: &str, parameters: &[(&str, &str)]) -> Self {
        let mut url = format!("{}{path}?", access.base());
        for (name, value) in parameters {
            url.push_str(&format!("{name}={}&", encoded(value)));
        }
        url.pop();
        Self { method: Method::GET, url, headers: accepting_json(), body: None }
    }

    /// A POST of `body` to `path`.
    pub(super) fn post(access: &SearchAccess, path: &str, body: Value) -> Self {
        let url = format!("{}{path}", access.base());
        let mut headers = accepting_json();
        let json = HeaderValue::from_static("application/json");
        headers.insert(reqwest::header::CONTENT_TYPE, json);
        Self { method: Method::POST, url, headers, body: Some(body) }
    }

    pub(super) fn with(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }
}

fn accepting_json() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))])
}

/// Percent-encoded for a query (RFC 3986, 2.3).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl Found {
    /// The result whose fields have these names; none without an address.
    pub(super) fn of(result: &Value, title: &str, url: &str, snippet: &str) -> Option<Self> {
        let text = |key: &str| result[key].as_str().map(plain).unwrap_or_default();
        let url = result[url].as_str().map(plain_line).filter(|url| !url.is_empty())?;
        let snippet = shortened(&text(snippet), MOST_SNIPPET);
        Some(Self { title: shortened(&text(title), 200), url, snippet })
    }

    pub(super) fn into_value(self) -> Value {
        json!({ "title": self.title, "url": self.url, "snippet": self.snippet })
    }
}

/// One line without the tags and the escapes with which providers mark what was found.
fn plain(text: &str) -> String {
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

/// One provider.
pub(super) trait Provider: Sync {
    /// The request for `count` results.
    fn ask(&self, access: &SearchAccess, query: &str, count: u8) -> Ask;
    /// The results in its answer; none if it is not what the provider promises.
    fn found(&self, answer: &Value) -> Option<Vec<Found>>;
}
