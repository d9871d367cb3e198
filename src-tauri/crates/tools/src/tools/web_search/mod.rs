//! `web_search`: results of the search provider in the settings.
//!
//! Owns the request to the provider and the messages for errors: invalid key, no credit, rate limit. Each provider is a
//! file behind `SearchProvider`. The key goes to the provider's own host only and follows no redirect. Not offered
//! without a configured provider (`is_set_up`). Pitfall: a query carries data out, so a tainted run needs an approval
//! for each call.

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
use rouse_core::text::escape_invisible;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, SandboxMode, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments;
use crate::http_guard::{Fetcher, GatewayPorts, HttpConfig, HttpRequest, TextResponse, UrlTarget};
use crate::output::ToolFailure as _;
use crate::spec::{object_schema, read_only_spec};
use error::SearchError;
pub use provider::{SearchAccess, SearchKind};
use provider::{SearchProvider, SearchRequest, SearchResult};

/// Limit of a provider's response.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
const DEFAULT_RESULTS: u8 = 5;
const MAX_RESULTS: u8 = 20;

/// The search settings, read for every call because settings change while the engine runs.
pub trait SearchSettings: Send + Sync {
    /// Whether a provider is set up.
    fn is_set_up(&self) -> bool;
    /// The configured provider, or a message about the missing setting.
    fn access(&self) -> BoxFuture<'_, Result<SearchAccess, String>>;
}

pub(crate) struct WebSearch {
    spec: ToolSpec,
    settings: Arc<dyn SearchSettings>,
    gateway_ports: GatewayPorts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    count: Option<u8>,
}

impl WebSearch {
    pub(crate) fn new(settings: Arc<dyn SearchSettings>, gateway_ports: GatewayPorts) -> Self {
        let description = "Searches the web; returns title, url and snippet of each result. Read a result with web_fetch.";
        let parameters = object_schema(
            &["query"],
            json!({
                "query": { "type": "string", "minLength": 1, "maxLength": 400 },
                "count": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Default: 5." },
            }),
        );
        let base = read_only_spec("web_search", "Search the web", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { open_world: true, ..Annotations::READS },
            rate: RateLimit { per_minute: 20, per_hour: 200 },
            untrusted_output: true,
            ..base
        };
        Self { spec, settings, gateway_ports }
    }

    async fn search(&self, arguments: &Arguments) -> Result<Value, SearchError> {
        let access = self.settings.access().await.map_err(SearchError::NotSetUp)?;
        let count = arguments.count.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let provider = provider_of(access.kind);
        let request = provider.request(&access, &arguments.query, count);
        let value = self.send(&access, request).await?;
        let results = provider.parse(&value).ok_or(SearchError::Unreadable(access.kind))?;
        let results: Vec<Value> =
            results.into_iter().take(usize::from(count)).map(SearchResult::into_value).collect();
        Ok(json!({ "provider": access.kind.name(), "results": results }))
    }

    async fn send(
        &self,
        access: &SearchAccess,
        request: SearchRequest,
    ) -> Result<Value, SearchError> {
        let target =
            UrlTarget::parse(&request.url).map_err(|error| SearchError::Url(error.to_string()))?;
        // A URL in the settings is named by the person and may be local.
        let named =
            access.url.is_some().then(|| format!("{}:{}", target.url_host(), target.port()));
        let config = HttpConfig {
            allow_private_hosts: named.into_iter().collect(),
            gateway_ports: self.gateway_ports.clone(),
            ..HttpConfig::default()
        };
        let request = HttpRequest {
            headers: request.headers,
            body: request.body.map(|body| body.to_string()),
            max_bytes: MAX_RESPONSE_BYTES,
            has_secret: true,
            ..HttpRequest::new(request.method, target)
        };
        let response = Fetcher::new(&config).fetch(request).await.map_err(SearchError::Fetch)?;
        let (status, headers) = (response.status, response.headers.clone());
        let page = TextResponse::decode(response, MAX_RESPONSE_BYTES)
            .map_err(|_| SearchError::Unreadable(access.kind))?;
        if status >= 300 {
            return Err(SearchError::from_status(access, status, &headers, &page.body));
        }
        serde_json::from_str(&page.body).map_err(|_| SearchError::Unreadable(access.kind))
    }
}

fn provider_of(kind: SearchKind) -> &'static dyn SearchProvider {
    match kind {
        SearchKind::Searxng => &searxng::Searxng,
        SearchKind::Brave => &brave::Brave,
        SearchKind::Tavily => &tavily::Tavily,
        SearchKind::Exa => &exa::Exa,
        SearchKind::Kagi => &kagi::Kagi,
    }
}

/// The results as text for people.
fn summarize(value: &Value) -> String {
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

    fn unavailable_reason<'a>(&'a self, _: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.settings.access().await.err() })
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let query = arguments["query"].as_str().unwrap_or_default();
        Box::pin(std::future::ready(escape_invisible(&format!("Search the web for: {query}"))))
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = match arguments::parse::<Arguments>(call.arguments()) {
                Ok(arguments) => arguments,
                Err(message) => return arguments::invalid_arguments(message),
            };
            match self.search(&arguments).await {
                Ok(value) => {
                    let summary = summarize(&value);
                    ToolOutput::ok(value).in_words(&summary)
                }
                Err(error) => ToolOutput::faulty(error.fault(), error.to_string()),
            }
        })
    }
}
