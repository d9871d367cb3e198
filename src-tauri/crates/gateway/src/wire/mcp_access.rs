//! `mcpAccess.*`: the tokens of programs that use Rouse as an MCP server.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The tools that a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum McpScope {
    /// Tools that change nothing.
    Read,
    /// All tools.
    Write,
}

/// A token. Its value is known only at the creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct McpTokenView {
    /// Name that the person chose.
    pub name: String,
    /// The tools that the token opens.
    pub scope: McpScope,
    /// Creation time.
    pub created_at_ms: i64,
    /// Last use, exact to an hour; none before the first.
    pub last_used_at_ms: Option<i64>,
}

/// `mcpAccess.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct McpAccessListResult {
    /// The tokens, by name.
    pub tokens: Vec<McpTokenView>,
    /// URL of the MCP server.
    pub url: String,
}

/// `mcpAccess.create`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct McpAccessCreateParams {
    /// Name: 1 to 60 visible characters.
    pub name: String,
    /// The tools that the token opens.
    pub scope: McpScope,
}

/// `mcpAccess.create`: the new token.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct McpTokenCreated {
    /// The value for `Authorization: Bearer …`, only in this response.
    pub token: String,
    /// URL of the MCP server.
    pub url: String,
    /// The token.
    #[serde(flatten)]
    pub view: McpTokenView,
}

/// A token by name.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct McpTokenRef {
    /// Name of the token.
    pub name: String,
}
