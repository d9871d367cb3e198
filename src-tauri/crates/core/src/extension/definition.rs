//! The definition of an MCP server: how Rouse starts or reaches it.
//!
//! Owns the fields that a person accepts on the consent page. Never holds a secret's value: values of variables and
//! headers hold handles (`{{secret:NAME}}`), which are filled in when the server starts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::sign_in::OAuthClientSettings;
use crate::job::FolderGrant;

/// How an MCP server is started or reached, and what the server may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(optional_fields)]
pub struct ServerDefinition {
    /// The way to the server.
    pub transport: ServerTransport,
    /// Time limit of the start in seconds [default: 30].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 300))]
    pub start_timeout_seconds: Option<u32>,
    /// Time limit of a call without progress in seconds [default: 60].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3_600))]
    pub call_timeout_seconds: Option<u32>,
}

/// The way to an MCP server.
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
}

impl ServerDefinition {
    /// A definition with the default time limits.
    #[must_use]
    pub const fn new(transport: ServerTransport) -> Self {
        Self { transport, start_timeout_seconds: None, call_timeout_seconds: None }
    }

    /// Whether arguments of a call can leave this computer.
    #[must_use]
    pub const fn is_open_world(&self) -> bool {
        match &self.transport {
            ServerTransport::Stdio { hosts, is_unconfined, .. } => {
                *is_unconfined || !hosts.is_empty()
            }
            ServerTransport::Http { .. } => true,
        }
    }
}
