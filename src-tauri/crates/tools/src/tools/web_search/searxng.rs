//! SearXNG (docs.searxng.org, *Search API*). Answers in JSON only if `search.formats` includes `json`.

use serde_json::Value;

use super::provider::{SearchAccess, SearchProvider, SearchRequest, SearchResult};

pub(super) struct Searxng;

impl SearchProvider for Searxng {
    fn request(&self, access: &SearchAccess, query: &str, _: u8) -> SearchRequest {
        SearchRequest::get(access, "/search", &[("q", query), ("format", "json")])
    }

    fn parse(&self, response: &Value) -> Option<Vec<SearchResult>> {
        let results = response["results"].as_array()?.iter();
        Some(
            results
                .filter_map(|result| SearchResult::parse(result, "title", "url", "content"))
                .collect(),
        )
    }
}
