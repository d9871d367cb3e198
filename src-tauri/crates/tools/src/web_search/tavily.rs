//! Tavily (docs.tavily.com, *Search*).

use serde_json::{Value, json};

use super::provider::{Ask, Found, Provider, SearchAccess};

pub(super) struct Tavily;

impl Provider for Tavily {
    fn ask(&self, access: &SearchAccess, query: &str, count: u8) -> Ask {
        let body = json!({ "query": query, "max_results": count });
        Ask::post(access, "/search", body).with("authorization", access.key_header("Bearer "))
    }

    fn found(&self, answer: &Value) -> Option<Vec<Found>> {
        let results = answer["results"].as_array()?;
        Some(results.iter().filter_map(|one| Found::of(one, "title", "url", "content")).collect())
    }
}
