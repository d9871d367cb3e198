//! Brave Search (api-dashboard.search.brave.com, *Web search*).

use serde_json::Value;

use super::provider::{Ask, Found, Provider, SearchAccess};

pub(super) struct Brave;

impl Provider for Brave {
    fn ask(&self, access: &SearchAccess, query: &str, count: u8) -> Ask {
        let count = count.to_string();
        let parameters = [("q", query), ("count", &count), ("text_decorations", "false")];
        Ask::get(access, "/res/v1/web/search", &parameters)
            .with("x-subscription-token", access.key_header(""))
    }

    /// Without any result there is no `web`.
    fn found(&self, answer: &Value) -> Option<Vec<Found>> {
        let results = answer.as_object()?.get("web").map(|web| web["results"].as_array());
        let results = results.unwrap_or(Some(&Vec::new()))?.clone();
        Some(
            results
                .iter()
                .filter_map(|one| Found::of(one, "title", "url", "description"))
                .collect(),
        )
    }
}
