//! Exa (docs.exa.ai, *Search*). A snippet is the first highlight.

use serde_json::{Value, json};

use super::provider::{SearchAccess, SearchProvider, SearchRequest, SearchResult};

pub(super) struct Exa;

impl SearchProvider for Exa {
    fn request(&self, access: &SearchAccess, query: &str, count: u8) -> SearchRequest {
        let contents = json!({ "highlights": true });
        let body = json!({ "query": query, "numResults": count, "contents": contents });
        SearchRequest::post(access, "/search", body).with_header("x-api-key", access.key_header(""))
    }

    fn parse(&self, response: &Value) -> Option<Vec<SearchResult>> {
        let results = response["results"].as_array()?.iter().filter_map(|result| {
            let mut result = result.clone();
            let snippet = result["highlights"][0].as_str().or(result["text"].as_str());
            result["snippet"] = snippet.unwrap_or_default().into();
            SearchResult::parse(&result, "title", "url", "snippet")
        });
        Some(results.collect())
    }
}
