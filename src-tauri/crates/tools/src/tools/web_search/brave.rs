//! Brave Search (api-dashboard.search.brave.com, *Web search*).

use serde_json::Value;

use super::provider::{SearchAccess, SearchProvider, SearchRequest, SearchResult};

pub(super) struct Brave;

impl SearchProvider for Brave {
    fn request(&self, access: &SearchAccess, query: &str, count: u8) -> SearchRequest {
        let count = count.to_string();
        let parameters = [("q", query), ("count", &count), ("text_decorations", "false")];
        SearchRequest::get(access, "/res/v1/web/search", &parameters)
            .with_header("x-subscription-token", access.key_header(""))
    }

    /// A response without results has no `web` field.
    fn parse(&self, response: &Value) -> Option<Vec<SearchResult>> {
        let Some(web) = response.as_object()?.get("web") else { return Some(Vec::new()) };
        let results = web["results"].as_array()?.iter();
        Some(
            results
                .filter_map(|result| SearchResult::parse(result, "title", "url", "description"))
                .collect(),
        )
    }
}
