//! `web_search`: results of a search provider that the person has set up.
//!
//! Owns the request to the provider and the words for its errors: a wrong key, no credit, a limit with the time to wait.
//! Each provider is one small file behind `Provider`. The key comes from the settings, goes to the provider's own host
//! alone, and never follows a redirect elsewhere. Never offered while no provider is set up (`is_set_up`). Pitfall: a query
//! carries what the run knows to somebody else, so in a tainted run each call needs an approval.

mod brave;
mod error;
mod exa;
mod kagi;
mod provider;
mod searxng;
mod tavily;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, SandboxMode, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::visible::visible;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Faulty as _;
use crate::http::{Fetcher, HttpConfig, OwnPorts, Page, Request, Target};
use crate::{arguments, spec};
use error::SearchError;
use provider::{Ask, Found};
pub use provider::{SearchAccess, SearchKind};

/// The most bytes of a provider's answer.
const MOST_BYTES: usize = 1 << 20;

/// Results of a call that names no number.
const USUAL_COUNT: u8 = 5;

/// The most results of a call.
const MOST_COUNT: u8 = 20;

/// Where the tool learns which provider is set up, each time anew: settings change while the engine runs.
pub trait SearchSettings: Send + Sync {
    /// Whether a provider is set up.
    fn is_set_up(&self) -> bool;
    /// The provider, or what is missing and what to do, in words.
    fn access(&self) -> BoxFuture<'_, Result<SearchAccess, String>>;
}

/// The tool.
pub(crate) struct WebSearch {
    spec: ToolSpec,
    settings: Arc<dyn SearchSettings>,
    own_ports: OwnPorts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    count: Option<u8>,
}

impl WebSearch {
    pub(crate) fn new(settings: Arc<dyn SearchSettings>, own_ports: OwnPorts) -> Self {
        let description = "Searches the web; returns title, url and snippet of each result. Read a result with web_fetch.";
        let parameters = spec::object(
            &["query"],
            json!({
                "query": { "type": "string", "minLength": 1, "maxLength": 400 },
                "count": { "type": "integer", "minimum": 1, "maximum": MOST_COUNT, "description": "Default: 5." },
            }),
        );
        let harmless = spec::harmless(("web_search", "Search the web"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { open_world: true, ..Annotations::READS },
            rate: RateLimit { per_minute: 20, per_hour: 200 },
            untrusted_output: true,
            ..harmless
        };
        Self { spec, settings, own_ports }
    }

    async fn search(&self, arguments: &Arguments) -> Result<Value, SearchError> {
        let access = self.settings.access().await.map_err(SearchError::NotSetUp)?;
        let count = arguments.count.unwrap_or(USUAL_COUNT).clamp(1, MOST_COUNT);
        let ask = access.kind.provider().ask(&access, &arguments.query, count);
        let found = self.answer(&access, ask).await?;
        let results: Vec<Value> =
            found.into_iter().take(usize::from(count)).map(Found::into_value).collect();
        Ok(json!({ "provider": access.kind.name(), "results": results }))
    }

    async fn answer(&self, access: &SearchAccess, ask: Ask) -> Result<Vec<Found>, SearchError> {
        let target =
            Target::parse(&ask.url).map_err(|error| SearchError::Url(error.to_string()))?;
        // An address in the settings is one that the person has named, also one of this computer.
        let named =
            access.url.is_some().then(|| format!("{}:{}", target.host_in_url(), target.port()));
        let config = HttpConfig {
            allow_private_hosts: named.into_iter().collect(),
            own_ports: self.own_ports.clone(),
            ..HttpConfig::default()
        };
        let request = Request {
            headers: ask.headers,
            body: ask.body.map(|body| body.to_string()),
            most: MOST_BYTES,
            has_secret: true,
            ..Request::new(ask.method, target)
        };
        let answer = Fetcher::new(&config).fetch(request).await.map_err(SearchError::Fetch)?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let page =
            Page::of(answer, MOST_BYTES).map_err(|_| SearchError::Unreadable(access.kind))?;
        if status >= 300 {
            return Err(SearchError::of_status(access, status, &headers, &page.body));
        }
        let value: Option<Value> = serde_json::from_str(&page.body).ok();
        let found = value.and_then(|value| access.kind.provider().found(&value));
        found.ok_or(SearchError::Unreadable(access.kind))
    }
}

/// The results as a person reads them.
fn words(value: &Value) -> String {
    let results = value["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |result: &Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let lines = results.iter().map(|result| {
        format!("{}\n{}\n{}", text(result, "title"), text(result, "url"), text(result, "snippet"))
    });
    let lines = lines.collect::<Vec<_>>().join("\n\n");
    if lines.is_empty() { "No results.".to_owned() } else { lines }
}

impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_set_up(&self) -> bool {
        self.settings.is_set_up()
    }

    fn why_not_here<'a>(&'a self, _: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.settings.access().await.err() })
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let query = arguments["query"].as_str().unwrap_or_default();
        Box::pin(std::future::ready(visible(&format!("Search the web for: {query}"))))
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = match arguments::read::<Arguments>(call.arguments()) {
                Ok(arguments) => arguments,
                Err(misfit) => return arguments::misfit(misfit),
            };
            match self.search(&arguments).await {
                Ok(value) => {
                    let words = words(&value);
                    ToolOutput::ok(value).in_words(&words)
                }
                Err(error) => ToolOutput::faulty(error.fault(), error.to_string()),
            }
        })
    }
}
