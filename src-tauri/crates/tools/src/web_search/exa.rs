//! Exa (docs.exa.ai, *Search*). A snippet is the first part of the text that fits the query.

use serde_json::{Value, json};

use super::provider::{Ask, Found, Provider, SearchAccess};

pub(super) struct Exa;

impl Provider for Exa {
    fn ask(&self, access: &SearchAccess, query: &str, count: u8) -> Ask {
        let contents = json!({ "highlights": true });
        let body = json!({ "query": query, "numResults": count, "contents": contents });
        Ask::post(access, "/search", body).with("x-api-key", access.key_header(""))
    }

    fn found(&self, answer: &Value) -> Option<Vec<Found>> {
        let results = answer["results"].as_array()?.iter().filter_map(|result| {
            let mut result = result.clone();
            let snippet = result["highlights"][0].as_str().or(result["text"].as_str());
            result["snippet"] = snippet.unwrap_or_default().into();
            Found::of(&result, "title", "url", "snippet")
        });
        Some(results.collect())
    }
}
