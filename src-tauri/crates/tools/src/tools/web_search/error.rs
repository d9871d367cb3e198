//! Errors of search providers, with their remediation.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use rouse_core::tool::Fault;
use serde_json::Value;
use thiserror::Error;

use super::provider::{SearchAccess, SearchKind};
use crate::http_guard::FetchError;
use crate::output::ToolFailure;
use crate::text::{plain_line, truncate};

/// Delay if the provider names none.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Failure of a search.
#[derive(Debug, Error)]
pub(super) enum SearchError {
    #[error("{0}")]
    NotSetUp(String),
    #[error("The address of the search provider in the settings (search.url) is not valid: {0}")]
    Url(String),
    #[error("The search provider was not reached: {0}")]
    Fetch(#[source] FetchError),
    #[error("{title} refused the key ({status}). Check the key at {account}, and set it with search.keySecret or search.keyEnv.", title = .0.title(), account = .0.account_page(), status = .1)]
    Key(SearchKind, u16),
    #[error("{title} reports that the account has no credit left. Add credit at {account}.", title = .0.title(), account = .0.account_page())]
    Credit(SearchKind),
    #[error("{title} has a rate limit. Try again in {wait} s.", title = .0.title(), wait = .1.as_secs())]
    RateLimit(SearchKind, Duration),
    #[error(
        "This SearXNG does not answer in JSON (403). Add json to search.formats in its settings.yml, and restart it."
    )]
    Format,
    #[error("{title} answered {status}: {detail}", title = kind.title())]
    Status { kind: SearchKind, status: u16, detail: String },
    #[error("{title} sent an unexpected response. If search.url is set, check the address.", title = .0.title())]
    Unreadable(SearchKind),
}

impl SearchError {
    /// Interprets an error status.
    pub(super) fn from_status(
        access: &SearchAccess,
        status: u16,
        headers: &HeaderMap,
        body: &str,
    ) -> Self {
        let kind = access.kind;
        let detail = error_detail(body, access.key.as_deref());
        let text = detail.to_lowercase();
        let credit_words = ["credit", "quota", "billing", "plan's set usage limit"];
        match status {
            403 if kind == SearchKind::Searxng => Self::Format,
            402 | 432 | 433 => Self::Credit(kind),
            400..500 if credit_words.iter().any(|word| text.contains(word)) => Self::Credit(kind),
            401 | 403 => Self::Key(kind, status),
            422 if text.contains("token") => Self::Key(kind, status),
            429 => Self::RateLimit(kind, retry_delay(headers)),
            _ => Self::Status { kind, status, detail },
        }
    }
}

impl ToolFailure for SearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Fetch(error) => error.fault(),
            Self::RateLimit(_, retry_after) => Fault::RateLimited { retry_after: *retry_after },
            Self::Status { status: 500.., .. } | Self::Unreadable(_) => Fault::ExternalService,
            Self::NotSetUp(_)
            | Self::Url(_)
            | Self::Key(..)
            | Self::Credit(_)
            | Self::Format
            | Self::Status { .. } => Fault::Refused,
        }
    }
}

/// The provider's message, with the key removed.
fn error_detail(body: &str, key: Option<&str>) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let pointers = [
        "/error/detail",
        "/detail/error",
        "/error/0/msg",
        "/error/message",
        "/error",
        "/detail",
        "/message",
    ];
    let text = pointers.iter().find_map(|pointer| value.pointer(pointer)?.as_str());
    let text = text.map_or_else(|| plain_line(body), plain_line);
    let text = match key.filter(|key| !key.is_empty()) {
        Some(key) => text.replace(key, "[key]"),
        None => text,
    };
    if text.is_empty() { "no details".to_owned() } else { truncate(&text, 300) }
}

/// The delay by `Retry-After`, or by the exhausted limit in `X-RateLimit-…` (lists of limits).
fn retry_delay(headers: &HeaderMap) -> Duration {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let numbers = |name: &str| -> Vec<u64> {
        let list = text(name).unwrap_or_default().split(',');
        list.filter_map(|number| number.trim().parse().ok()).collect()
    };
    let after = numbers(RETRY_AFTER.as_str()).first().copied();
    let remaining = numbers("x-ratelimit-remaining");
    let resets = numbers("x-ratelimit-reset");
    let exhausted = remaining.iter().zip(&resets).filter(|(remaining, _)| **remaining == 0);
    let seconds = after.or_else(|| exhausted.map(|(_, reset)| *reset).max());
    seconds.map_or(DEFAULT_RETRY_DELAY, Duration::from_secs)
}
