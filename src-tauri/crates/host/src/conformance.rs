//! The visit of an MCP server for the conformance suite.
//!
//! Owns the guarded HTTP of the visit: besides public hosts, every port of this computer, because a scenario starts
//! several servers. Never starts an engine.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::http_exchange::{
    HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;
use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig};
use serde_json::Value;

use crate::clock::SystemClock;

/// The beginnings of URLs of this computer.
const LOOPBACK_URLS: [&str; 3] = ["http://localhost:", "http://127.0.0.1:", "http://[::1]:"];

/// Connects to the MCP server at `url`, lists its tools and calls each; signs in if the server asks for it. `context` is
/// the JSON of the scenario.
///
/// # Errors
/// The context is not JSON, or the connection, a sign-in, the list or a call failed: the cause as a sentence.
pub async fn visit_mcp_server(url: &str, context: Option<&str>) -> Result<(), String> {
    let context: Value = match context {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| format!("The context of the scenario is not JSON: {error}."))?,
        None => Value::Null,
    };
    let accepted = AcceptedServerUrls::default();
    let http = LoopbackHttp {
        guarded: GuardedHttp::new(&HttpConfig::default(), accepted.clone()),
        accepted,
        urls: Mutex::new(vec![url.to_owned()]),
    };
    let clock = Arc::new(SystemClock::default());
    rouse_mcp::visit_server(Arc::new(http), clock, url, &context).await
}

/// Guarded HTTP that also reaches every port of this computer.
struct LoopbackHttp {
    guarded: GuardedHttp,
    accepted: AcceptedServerUrls,
    /// The visited URL and the URLs of this computer so far.
    urls: Mutex<Vec<String>>,
}

impl HttpExchange for LoopbackHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        let mut urls = self.urls.lock().unwrap_or_else(PoisonError::into_inner);
        let is_loopback = LOOPBACK_URLS.iter().any(|start| request.url.starts_with(start));
        if is_loopback && !urls.contains(&request.url) {
            urls.push(request.url.clone());
        }
        self.accepted.replace(&urls);
        drop(urls);
        self.guarded.exchange(request)
    }
}
