//! The port to open servers: the tools of a named server, for a run.
//!
//! A run names its servers. Opening starts or reaches a server and compares its tools with the accepted ones; the lease keeps the
//! server from an idle stop while the run lasts. Never answers a tool that no person has accepted.

use std::sync::Arc;

use strum::{IntoStaticStr, VariantNames};

use super::missing_tool::MissingTool;
use super::name::ExtensionName;
use crate::future::BoxFuture;
use crate::tool::Tool;

/// Opens servers for runs.
pub trait ToolServers: Send + Sync {
    /// Starts or reaches a server, within the server's time limit.
    fn open<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<OpenServer, ServerUnavailable>>;
    /// The accepted tools of every enabled server, as of the last listing, without starting a server. A call of such a
    /// tool starts its server.
    fn known_tools(&self) -> Vec<Arc<dyn Tool>>;
}

/// A server that a run uses.
pub struct OpenServer {
    /// Accepted tools that are not available: changed, or no longer listed.
    pub missing: Vec<MissingTool>,
    /// Keeps the server running.
    pub lease: ServerLease,
}

/// Keeps a server running until dropped.
pub type ServerLease = Box<dyn Send + Sync>;

/// Why the tools of a server are not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} {remedy}")]
pub struct ServerUnavailable {
    /// The server.
    pub server: ExtensionName,
    /// The kind of the cause.
    pub kind: UnavailableKind,
    /// The cause, as a sentence that names the server.
    pub reason: String,
    /// The remedy, as a sentence.
    pub remedy: String,
}

/// Why a server is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "camelCase")]
pub enum UnavailableKind {
    /// Not installed.
    NotInstalled,
    /// Switched off by the person.
    Off,
    /// Did not start, was not reached, or broke.
    Unreachable,
    /// The sign-in is missing or expired.
    NeedsSignIn,
    /// All tools wait for a person.
    Quarantined,
    /// A secret of the definition is missing or not bound to the server.
    MissingSecret,
}

impl ServerUnavailable {
    /// The server is not installed.
    #[must_use]
    pub fn not_installed(server: &ExtensionName) -> Self {
        Self {
            server: server.clone(),
            kind: UnavailableKind::NotInstalled,
            reason: format!("The MCP server {server} is not installed."),
            remedy: format!(
                "Install it with `rouse mcp add {server} -- COMMAND` or `rouse mcp add {server} --url URL`, or remove it from the job."
            ),
        }
    }
}

impl UnavailableKind {
    /// Whether a later attempt may succeed without a person.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        match self {
            Self::Unreachable => true,
            Self::NotInstalled
            | Self::Off
            | Self::NeedsSignIn
            | Self::Quarantined
            | Self::MissingSecret => false,
        }
    }
}
