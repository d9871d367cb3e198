//! `rouse mcp-conformance`: Rouse as the client of the MCP conformance suite, for the developers of Rouse.
//!
//! Never needs an engine. The suite passes the URL of its server as the last argument, and the context of a scenario in
//! the environment. Exit code 0 says only that the visit was complete; the suite judges the messages.

use crate::resolve::error::CliError;

/// The variable with the context of the scenario, as JSON.
const CONTEXT_VARIABLE: &str = "MCP_CONFORMANCE_CONTEXT";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URL of the server
    url: String,
}

pub(crate) async fn run(args: &Args) -> Result<(), CliError> {
    let context = std::env::var(CONTEXT_VARIABLE).ok();
    let visited = rouse_host::visit_mcp_server(&args.url, context.as_deref()).await;
    visited.map_err(|message| CliError::Other(anyhow::anyhow!(message)))
}
