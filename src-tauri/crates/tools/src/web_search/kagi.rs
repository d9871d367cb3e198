//! Kagi (help.kagi.com, *Search API*). The results stand in `data.search`; in the older answer in `data`, where those of
//! another kind (`t`) are related searches.

use serde_json::Value;

use super::provider::{Ask, Found, Provider, SearchAccess};

pub(super) struct Kagi;

impl Provider for Kagi {
    fn ask(&self, access: &SearchAccess, query: &str, count: u8) -> Ask {
        let count = count.to_string();
        Ask::get(access, "/api/v1/search", &[("q", query), ("limit", &count)])
            .with("authorization", access.key_header("Bot "))
    }

    fn found(&self, answer: &Value) -> Option<Vec<Found>> {
        let data = &answer["data"];
        let results = data.as_array().or_else(|| data["search"].as_array())?;
        let is_result = |one: &&Value| one["t"].as_i64().is_none_or(|kind| kind == 0);
        let results = results.iter().filter(is_result);
        Some(results.filter_map(|one| Found::of(one, "title", "url", "snippet")).collect())
    }
}
