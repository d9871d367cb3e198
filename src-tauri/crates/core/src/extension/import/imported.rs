//! The result of an import: proposed servers, skipped servers, and the errors of a document.

use std::fmt;

use serde::Serialize;

use crate::extension::definition::ServerDefinition;
use crate::extension::name::ExtensionName;

/// The maximum size of a document.
pub const MAX_CONFIG_BYTES: usize = 4 << 20;

/// The maximum number of servers in a document.
pub const MAX_SERVERS: usize = 200;

/// The program whose settings hold the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ImportSource {
    /// Claude Desktop, Claude Code, Cursor and others: `mcpServers`.
    McpServers,
    /// VS Code: `servers` of `mcp.json` or of the settings.
    VsCode,
    /// Codex: `mcp_servers` of `config.toml`.
    Codex,
    /// Goose: `extensions` of `config.yaml`.
    Goose,
}

/// The servers of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedServers {
    /// The detected or given program.
    pub source: ImportSource,
    /// The servers, in the order of the document.
    pub servers: Vec<ImportedServer>,
    /// The servers that Rouse cannot run.
    pub skipped: Vec<SkippedServer>,
}

/// A proposed server. Nothing is installed before its page is accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedServer {
    /// The proposed name, unique in the document.
    pub name: ExtensionName,
    /// The name in the document: untrusted text.
    pub original_name: String,
    /// The proposed definition, without values of secrets.
    pub definition: ServerDefinition,
    /// Whether the server is enabled in the document.
    pub is_enabled: bool,
    /// The secrets that the definition names.
    pub secrets: Vec<ImportedSecret>,
    /// Notes for the person, as sentences.
    pub notes: Vec<String>,
}

/// A server that Rouse cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedServer {
    /// The name in the document: untrusted text.
    pub original_name: String,
    /// The reason, as sentences.
    pub reason: String,
}

/// A secret that a proposed definition names. `Debug` hides the value.
#[derive(Clone, PartialEq, Eq)]
pub struct ImportedSecret {
    /// The proposed name of the secret.
    pub name: String,
    /// The variable or header that gets the value, escaped for a page.
    pub field: String,
    value: Option<String>,
}

/// Why a document cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerImportError {
    /// Over the size limit.
    #[error("the file is larger than {} MB", MAX_CONFIG_BYTES >> 20)]
    TooLarge,
    /// Invalid JSON.
    #[error("the file is no valid JSON document: {0}")]
    Json(String),
    /// No servers found.
    #[error(
        "the file names no MCP servers. Expected `mcpServers` (Claude, Cursor), `servers` (VS Code), `mcp_servers` (Codex) or `extensions` (Goose)"
    )]
    NoServers,
    /// Over the limit of servers.
    #[error("the file names {0} servers; at most {MAX_SERVERS} are imported at once")]
    TooMany(usize),
    /// Several servers, none of this name.
    #[error("no server is called {name}. Servers: {servers}")]
    NotNamed {
        /// The name of the extension.
        name: ExtensionName,
        /// The names in the document, escaped.
        servers: String,
    },
    /// Rouse cannot run the server: the reason, as sentences.
    #[error("{0}")]
    Refused(String),
}

impl ImportedSecret {
    pub(super) const fn new(name: String, field: String, value: Option<String>) -> Self {
        Self { name, field, value }
    }

    /// The value in the document, only for storage. None when the document names the secret without a value.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl fmt::Debug for ImportedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ImportedSecret");
        shown.field("name", &self.name).field("field", &self.field).finish_non_exhaustive()
    }
}
