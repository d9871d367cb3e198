//! Tavily (docs.tavily.com, *Search*).

use serde_json::{Value, json};

use super::provider::{SearchAccess, SearchProvider, SearchRequest, SearchResult};

pub(super) struct Tavily;

impl SearchProvider for Tavily {
    fn request(&self, access: &SearchAccess, query: &str, count: u8) -> SearchRequest {
        let body = json!({ "query": query, "max_results": count });
        SearchRequest::post(access, "/search", body)
            .with_header("authorization", access.key_header("Bearer "))
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
