//! `extensions.*`: installed MCP servers, their tools, and the pages that a person accepts.

use std::collections::BTreeMap;

pub use rouse_core::extension::ConsentPage;
use rouse_core::extension::package::{ExtensionSource, FileChange};
use rouse_core::extension::{
    AgentPresetView, Extension, ExtensionName, ServerDefinition, ServerState, ServerStatus,
    SignInStatus, ToolAccess,
};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::tool::RefusedToolView;

/// `extensions.list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ExtensionsListResult {
    /// The extensions, by name.
    pub extensions: Vec<ExtensionView>,
}

/// An extension in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionView {
    /// Name.
    pub name: ExtensionName,
    /// The command line or the URL.
    pub transport: String,
    /// Whether runs may use the server.
    pub is_enabled: bool,
    /// State of the server.
    pub state: ServerState,
    /// Label of the state.
    pub label: String,
    /// Reason of the state, and what to do.
    pub reason: Option<String>,
    /// Whether this is a coding agent, which has no tools.
    pub is_coding_agent: bool,
    /// Number of accepted tools that runs may call.
    pub accepted: usize,
    /// Number of tools that wait for a person.
    pub held: usize,
    /// Number of accepted tools that are off.
    pub off: usize,
    /// Name and version that the server reported last.
    pub reported_version: Option<String>,
}

/// `agents.presets`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AgentPresetsResult {
    /// The known coding agents.
    pub presets: Vec<AgentPresetView>,
}

/// `extensions.get`, `review`, `remove`, `restart`, `installStatus`, `cancelInstall`, and the verbs of a sign-in.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct ExtensionRef {
    /// Name of the extension.
    pub name: ExtensionName,
}

/// `extensions.get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionDetail {
    /// Name.
    pub name: ExtensionName,
    /// The document.
    pub extension: Extension,
    /// State of the server, with the end of its error output.
    pub status: ServerStatus,
    /// State of the sign-in at a server over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sign_in: Option<SignInStatus>,
    /// The accepted and the held tools.
    pub tools: Vec<ExtensionToolView>,
}

/// A tool of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionToolView {
    /// Raw name at the server.
    pub raw_name: String,
    /// Name in jobs, runs and grants.
    pub tool_name: String,
}

/// `extensions.preview`: the page of an installation or an update.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ExtensionDraft {
    /// Name of the extension.
    pub name: ExtensionName,
    /// The definition. A bare program name is looked up in `PATH`. With a package, the arguments follow those of the
    /// package, and the command may be empty.
    pub server: ServerDefinition,
    /// The package to install.
    pub source: Option<ExtensionSource>,
}

/// `extensions.install`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ExtensionInstallParams {
    /// Name of the extension.
    pub name: ExtensionName,
    /// The definition.
    pub server: ServerDefinition,
    /// The package to install.
    pub source: Option<ExtensionSource>,
    /// Hash of the accepted page of `extensions.preview`; at least the first 12 digits.
    pub accept: String,
}

/// `extensions.install`, `extensions.review`: the tools that wait for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerToolsPage {
    /// The page, with the held tools.
    pub page: ConsentPage,
    /// The proposed access of each held tool, by raw name.
    pub proposals: BTreeMap<String, ToolAccess>,
    /// Listed tools that can never be offered.
    pub refused: Vec<RefusedToolView>,
    /// The server's instructions for a model, which no model gets.
    pub instructions: Option<String>,
    /// Why the installed server did not start, and what to do.
    pub error: Option<String>,
    /// The packages inside that an update added or removed; none for an installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub component_changes: Option<Vec<String>>,
}

/// `extensions.accept`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ExtensionAcceptParams {
    /// Name of the extension.
    pub name: ExtensionName,
    /// Hash of the accepted page of tools; at least the first 12 digits.
    pub accept: String,
    /// The chosen access by raw name. Default: the proposal.
    pub access: Option<BTreeMap<String, ToolAccess>>,
}

/// `extensions.setAccess`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct ExtensionAccessParams {
    /// Name of the extension.
    pub name: ExtensionName,
    /// Raw name of the accepted tool.
    pub tool: String,
    /// How calls of the tool are judged.
    pub access: ToolAccess,
}

/// `extensions.setEnabled`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct ExtensionEnabledParams {
    /// Name of the extension.
    pub name: ExtensionName,
    /// Whether runs may use the server.
    pub enabled: bool,
}

/// `extensions.remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionRemoved {
    /// Number of revoked grants for tools of the extension.
    pub revoked_grants: usize,
    /// What the person must delete, as a sentence.
    pub manual_cleanup: Option<String>,
}

/// `extensions.installStatus`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InstallStatus {
    /// What the installation does; none without an installation.
    pub step: Option<String>,
}

/// `extensions.verify`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ExtensionsVerifyParams {
    /// Name of the extension. Default: all extensions.
    pub name: Option<ExtensionName>,
}

/// `extensions.verify`: the extensions with a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExtensionsVerifyResult {
    /// The extensions, by name.
    pub extensions: Vec<VerifiedFiles>,
}

/// The files of a package, compared with the accepted files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedFiles {
    /// Name of the extension.
    pub name: ExtensionName,
    /// Number of accepted files.
    pub files: u32,
    /// The files that differ.
    pub changes: Vec<FileChange>,
    /// Why the files cannot be compared.
    pub problem: Option<String>,
}
