//! SearXNG (docs.searxng.org, *Search API*). It answers JSON only if its `search.formats` has `json`.

use serde_json::Value;

use super::provider::{Ask, Found, Provider, SearchAccess};

pub(super) struct Searxng;

impl Provider for Searxng {
    fn ask(&self, access: &SearchAccess, query: &str, _: u8) -> Ask {
        Ask::get(access, "/search", &[("q", query), ("format", "json")])
    }

    fn found(&self, answer: &Value) -> Option<Vec<Found>> {
        let results = answer["results"].as_array()?;
        Some(results.iter().filter_map(|one| Found::of(one, "title", "url", "content")).collect())
    }
}
