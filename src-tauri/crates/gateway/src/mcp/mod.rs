//! Rouse as an MCP server: 12 tools over the method table, for programs outside Rouse.
//!
//! Owns the protocol in both eras: the `initialize` handshake of the versions up to 2025-11-25, and the metadata in each request of
//! 2026-07-28. Stateless: no session, no stream, only JSON answers. Writes go through `core::routines`, so a program outside gains
//! no right that only a person grants. Never decides an approval. Never changes grants, secrets, settings, hooks, MCP servers,
//! trust, sandbox or hosts.
//! Pitfall: a run of Rouse that starts a program that creates jobs; a caller from a run may only read.

mod failure;
mod message;
mod headers;
mod protocol;
mod caller;
mod tools;
mod respond;

pub(crate) use caller::McpCaller;
pub(crate) use headers::{CLIENT_HEADER, RUN_HEADER, decode, encode, standard_headers};
pub(crate) use respond::respond;
pub(crate) use tools::McpTools;

use serde_json::Value;

/// Answers a message of an MCP client without an engine: the protocol works, and each tool call gets `problem`. None for a
/// message without an answer.
pub async fn answer_mcp_offline(body: &[u8], problem: &str) -> Option<Value> {
    respond(body, None, McpTools::Unavailable(problem)).await.body
}
