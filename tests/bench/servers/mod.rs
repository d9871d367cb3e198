//! MCP servers of the engine, in the real programs.
//!
//! Owns the parts `server_calls`, `server_memory` and `server_tokens`, and the installation of a server by a client.
//! Pitfall: a server that still runs; only an engine that has started anew has servers that are known but off.

mod call_overhead;
mod http_double;
mod idle_memory;
mod request_tokens;

use rouse_gateway::Client;
use serde_json::{Value, json};

use crate::report::Report;

/// Measures the selected parts.
pub(crate) async fn measure(
    is_selected: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    if is_selected("server_calls") {
        call_overhead::measure(report).await?;
    }
    if is_selected("server_memory") {
        idle_memory::measure(report).await?;
    }
    if is_selected("server_tokens") {
        request_tokens::measure(report).await?;
    }
    Ok(())
}

/// Installs the server `name` and accepts its tools as proposed.
async fn install(client: &Client, name: &str, server: Value) -> anyhow::Result<()> {
    let mut params = json!({ "name": name, "server": server });
    let page = client.call("extensions.preview", params.clone()).await?;
    params["accept"] = page["hash"].clone();
    let tools = client.call("extensions.install", params).await?;
    anyhow::ensure!(tools["error"].is_null(), "{name} did not start: {}", tools["error"]);
    let accept = json!({ "name": name, "accept": tools["page"]["hash"] });
    client.call("extensions.accept", accept).await?;
    Ok(())
}
