//! The visit of an MCP server for the conformance suite.
//!
//! Owns the guarded HTTP of the visit: only the host of the given URL may have a local address. Never starts an engine.

use std::sync::Arc;

use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig};
use serde_json::Value;

/// Connects to the MCP server at `url`, lists its tools and calls each. `context` is the JSON of the scenario.
///
/// # Errors
/// The context is not JSON, or the connection, the list or a call failed: the cause as a sentence.
pub async fn visit_mcp_server(url: &str, context: Option<&str>) -> Result<(), String> {
    let context: Value = match context {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| format!("The context of the scenario is not JSON: {error}."))?,
        None => Value::Null,
    };
    let accepted = AcceptedServerUrls::default();
    accepted.replace(&[url.to_owned()]);
    let exchange = Arc::new(GuardedHttp::new(&HttpConfig::default(), accepted));
    rouse_mcp::visit_server(exchange, url, &context).await
}
