//! Kagi (help.kagi.com, *Search API*). Results are in `data.search`, or in `data` with `t` = 0 in the older format.

use serde_json::Value;

use super::provider::{SearchAccess, SearchProvider, SearchRequest, SearchResult};

pub(super) struct Kagi;

impl SearchProvider for Kagi {
    fn request(&self, access: &SearchAccess, query: &str, count: u8) -> SearchRequest {
        let count = count.to_string();
        SearchRequest::get(access, "/api/v1/search", &[("q", query), ("limit", &count)])
            .with_header("authorization", access.key_header("Bot "))
    }

    fn parse(&self, response: &Value) -> Option<Vec<SearchResult>> {
        let data = &response["data"];
        let results = data.as_array().or_else(|| data["search"].as_array())?;
        let is_result = |result: &&Value| result["t"].as_i64().is_none_or(|kind| kind == 0);
        let results = results.iter().filter(is_result);
        Some(
            results
                .filter_map(|result| SearchResult::parse(result, "title", "url", "snippet"))
                .collect(),
        )
    }
}
