//! The definition of an extension: how Rouse starts or reaches an MCP server, a coding agent or a tool.
//!
//! Owns the fields that a person accepts on the consent page. Never holds a secret's value: values of variables and
//! headers hold handles (`{{secret:NAME}}`), which are filled in when the server starts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::sign_in::OAuthClientSettings;
use crate::job::FolderGrant;

/// How a server is started or reached, and what the server may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(optional_fields)]
pub struct ServerDefinition {
    /// The way to the server.
    pub transport: ServerTransport,
    /// The protocol [default: mcp].
    #[serde(default, skip_serializing_if = "ServerProtocol::is_mcp")]
    #[ts(optional, as = "Option<ServerProtocol>")]
    pub protocol: ServerProtocol,
    /// Session mode of a coding agent, such as `default`; that of the agent's settings when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub mode: Option<String>,
    /// Time limit of the start in seconds [default: 30].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 300))]
    pub start_timeout_seconds: Option<u32>,
    /// Time limit of a call without progress in seconds [default: 60, of a coding agent 600].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3_600))]
    pub call_timeout_seconds: Option<u32>,
}

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum ServerProtocol {
    /// The Model Context Protocol: a server with tools.
    #[default]
    Mcp,
    /// The Agent Client Protocol: a coding agent that works on tasks.
    Acp,
}

impl ServerProtocol {
    /// Whether this is a server with tools.
    #[must_use]
    pub const fn is_mcp(&self) -> bool {
        matches!(self, Self::Mcp)
    }
}

/// The way to a server or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerTransport {
    /// A child process; messages are lines on its standard input and output.
    Stdio {
        /// The program; an absolute path once accepted.
        command: String,
        /// The arguments.
        #[serde(default)]
        arguments: Vec<String>,
        /// Variables beside the basic ones (`PATH`, `HOME`, `LANG`, …); values may hold secret handles.
        #[serde(default)]
        environment: BTreeMap<String, String>,
        /// The working directory; the server's own folder when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        folder: Option<String>,
        /// Folders beside the server's own that it may use.
        #[serde(default)]
        folders: Vec<FolderGrant>,
        /// Reachable hosts; no network when empty.
        #[serde(default)]
        hosts: Vec<String>,
        /// Whether the server runs with the person's own rights, outside the sandbox.
        #[serde(default)]
        is_unconfined: bool,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of each request; values may hold secret handles.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The client of a sign-in; Rouse registers itself when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        oauth: Option<OAuthClientSettings>,
    },
    /// A tool in WebAssembly or JavaScript, which runs in Rouse's own sandbox.
    Wasm {
        /// Reachable hosts; no network when empty.
        #[serde(default)]
        hosts: Vec<String>,
        /// Names of secrets for requests to these hosts.
        #[serde(default)]
        secrets: Vec<String>,
        /// Access to the tool's own folder.
        #[serde(default)]
        files: ToolFileAccess,
    },
}

/// Access of a tool to its own folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum ToolFileAccess {
    /// No access.
    #[default]
    None,
    /// The tool reads files.
    Read,
    /// The tool reads and writes files.
    Write,
}

impl ToolFileAccess {
    /// The access in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "reads its own folder",
            Self::Write => "reads and writes its own folder",
        }
    }
}

impl ServerDefinition {
    /// A definition with the default time limits.
    #[must_use]
    pub const fn new(transport: ServerTransport) -> Self {
        Self {
            transport,
            protocol: ServerProtocol::Mcp,
            mode: None,
            start_timeout_seconds: None,
            call_timeout_seconds: None,
        }
    }

    /// What limits the actions that a coding agent does not ask about, as a sentence.
    #[must_use]
    pub const fn unasked_limit(&self) -> &'static str {
        if matches!(self.transport, ServerTransport::Stdio { is_unconfined: true, .. }) {
            "Nothing limits the actions that it does not ask about: they have all your rights."
        } else {
            "Only its sandbox limits the actions that it does not ask about."
        }
    }

    /// What the extension is, for people.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        if self.is_coding_agent() {
            "coding agent"
        } else if self.is_wasm() {
            "tool"
        } else {
            "MCP server"
        }
    }

    /// Whether this is a coding agent.
    #[must_use]
    pub const fn is_coding_agent(&self) -> bool {
        matches!(self.protocol, ServerProtocol::Acp)
    }

    /// Whether this is a tool in Rouse's own sandbox, without a server.
    #[must_use]
    pub const fn is_wasm(&self) -> bool {
        matches!(self.transport, ServerTransport::Wasm { .. })
    }

    /// Whether arguments of a call can leave this computer.
    #[must_use]
    pub const fn is_open_world(&self) -> bool {
        match &self.transport {
            ServerTransport::Stdio { hosts, is_unconfined, .. } => {
                *is_unconfined || !hosts.is_empty()
            }
            ServerTransport::Http { .. } => true,
            ServerTransport::Wasm { hosts, .. } => !hosts.is_empty(),
        }
    }
}
