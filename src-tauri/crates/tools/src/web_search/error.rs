//! What went wrong with a search, and what to do about it.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use rouse_core::tool::Fault;
use serde_json::Value;
use thiserror::Error;

use super::provider::{SearchAccess, SearchKind};
use crate::answer::Faulty;
use crate::http::FetchError;
use crate::text::{plain_line, shortened};

/// The wait where a provider names none.
const USUAL_WAIT: Duration = Duration::from_secs(60);

/// Why there are no results.
#[derive(Debug, Error)]
pub(super) enum SearchError {
    #[error("{0}")]
    NotSetUp(String),
    #[error("The address of the search provider in the settings (search.url) is not valid: {0}")]
    Url(String),
    #[error("The search provider was not reached: {0}")]
    Fetch(#[source] FetchError),
    #[error("{title} refused the key ({status}). Check the key at {account}, and set it with search.keySecret or search.keyEnv.", title = .0.title(), account = .0.account(), status = .1)]
    Key(SearchKind, u16),
    #[error("{title} answered that the account has no credit left. Add credit at {account}.", title = .0.title(), account = .0.account())]
    Credit(SearchKind),
    #[error("{title} limits how often it may be asked. Try again in {wait} s.", title = .0.title(), wait = .1.as_secs())]
    Limit(SearchKind, Duration),
    #[error(
        "This SearXNG refuses to answer as JSON (403). Add json to search.formats in its settings.yml, and restart it."
    )]
    Format,
    #[error("{title} answered {status}: {detail}", title = kind.title())]
    Status { kind: SearchKind, status: u16, detail: String },
    #[error("The answer of {title} is not what its documentation says. If search.url is set, check the address.", title = .0.title())]
    Unreadable(SearchKind),
}

impl SearchError {
    /// What an answer with this status says.
    pub(super) fn of_status(
        access: &SearchAccess,
        status: u16,
        headers: &HeaderMap,
        body: &str,
    ) -> Self {
        let kind = access.kind;
        let detail = detail(body, access.key.as_deref());
        let says = detail.to_lowercase();
        let is_credit = ["credit", "quota", "billing", "plan's set usage limit"];
        match status {
            403 if kind == SearchKind::Searxng => Self::Format,
            402 | 432 | 433 => Self::Credit(kind),
            400..500 if is_credit.iter().any(|word| says.contains(word)) => Self::Credit(kind),
            401 | 403 => Self::Key(kind, status),
            422 if says.contains("token") => Self::Key(kind, status),
            429 => Self::Limit(kind, wait(headers)),
            _ => Self::Status { kind, status, detail },
        }
    }
}

impl Faulty for SearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Fetch(error) => error.fault(),
            Self::Limit(_, retry_after) => Fault::RateLimited { retry_after: *retry_after },
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

/// The provider's own words, without the key if it repeats that.
fn detail(body: &str, key: Option<&str>) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let places = [
        "/error/detail",
        "/detail/error",
        "/error/0/msg",
        "/error/message",
        "/error",
        "/detail",
        "/message",
    ];
    let said = places.iter().find_map(|place| value.pointer(place)?.as_str());
    let said = said.map_or_else(|| plain_line(body), plain_line);
    let said = match key.filter(|key| !key.is_empty()) {
        Some(key) => said.replace(key, "[key]"),
        None => said,
    };
    if said.is_empty() { "nothing else".to_owned() } else { shortened(&said, 300) }
}

/// How long to wait: by `Retry-After`, or by the limit of which nothing remains (`X-RateLimit-…`, a list of limits).
fn wait(headers: &HeaderMap) -> Duration {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let numbers = |name: &str| -> Vec<u64> {
        let list = text(name).unwrap_or_default().split(',');
        list.filter_map(|number| number.trim().parse().ok()).collect()
    };
    let after = numbers(RETRY_AFTER.as_str()).first().copied();
    let remaining = numbers("x-ratelimit-remaining");
    let resets = numbers("x-ratelimit-reset");
    let used_up = remaining.iter().zip(&resets).filter(|(remaining, _)| **remaining == 0);
    let seconds = after.or_else(|| used_up.map(|(_, reset)| *reset).max());
    seconds.map_or(USUAL_WAIT, Duration::from_secs)
}
