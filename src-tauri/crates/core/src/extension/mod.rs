//! Extensions: tool sources that did not come with Rouse.
//!
//! Owns the document of an installed extension, the pins of accepted tools, the names of their tools for a model, the
//! import of servers, the versions of built tools, and the ports to server processes and open servers. Never starts a
//! process and never reads a file.
//! Pitfall: a server's own annotations are hints; only the access that a person chose decides how a call is judged.

mod agent_preset;
mod book;
mod compiled;
mod consent;
mod definition;
mod sign_in;
mod document;
mod missing_tool;
mod name;
mod origin;
mod pin;
mod plain_secret;
mod server_port;
mod coding_agent;
mod server_process;
mod state;
mod tool_build;
mod tool_builds;
pub mod package;
pub mod import;

pub use agent_preset::{AGENT_PRESETS, AgentPreset, AgentPresetView};
pub use book::{ExtensionBook, UnfilledSecret};
pub use coding_agent::{DELEGATE, TaskFolders};
pub use compiled::CompiledHashes;
pub use consent::ConsentPage;
pub use definition::{ServerDefinition, ServerProtocol, ServerTransport, ToolFileAccess};
pub use document::{Extension, ExtensionLock, PinnedTool, ToolAccess};
pub use missing_tool::{MissingTool, MissingToolCause};
pub use name::{
    ExtensionName, InvalidExtensionName, RESERVED_EXTENSION_NAMES, extension_of_tool, tool_name,
};
pub use origin::ToolOrigin;
pub use pin::{HeldTool, ToolChange, ToolDefinition, ToolHints, ToolListing, compare_listing};
pub use plain_secret::{PlainSecret, plain_secret, plain_secret_setting};
pub use server_port::{OpenServer, ServerLease, ServerUnavailable, ToolServers, UnavailableKind};
pub use server_process::{
    MAX_LINE_BYTES, ProcessEnd, ServerCommand, ServerLine, ServerProcess, ServerProcesses,
    ServerStartError,
};
pub use sign_in::{
    OAuthClientSettings, SignInCallback, SignInEnd, SignInRecord, SignInState, SignInStatus,
    SignInStore, SignInStoreError,
};
pub use state::{ServerState, ServerStatus};
pub use tool_build::{
    ToolBuild, ToolBuildState, ToolLanguage, ToolSourceFile, ToolTestResult, tool_reach,
};
pub use tool_builds::{NoToolBuilds, ToolBuilds, ToolOffer, ToolVersionChange};
