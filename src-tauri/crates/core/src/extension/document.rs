//! The document of installed extensions (`extensions.lock`).
//!
//! Owns what a person has accepted: the definition of each server and each tool with its access. An extension without
//! an entry is not installed. Pitfall: an entry that is changed without consent; only `core::extension::consent` pages
//! lead to a change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::definition::ServerDefinition;
use super::name::ExtensionName;
use super::package::InstalledPackage;
use super::pin::{HeldTool, ToolDefinition, ToolHints};
use crate::UnixMs;

/// The installed extensions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionLock {
    /// The version of the format.
    pub version: u32,
    /// The extensions by name.
    #[serde(default)]
    pub extensions: BTreeMap<ExtensionName, Extension>,
}

/// An installed extension: an MCP server. Files of an older Rouse have no `package`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Extension {
    /// How the server is started or reached.
    pub server: ServerDefinition,
    /// The package that Rouse installed; none for a command or an address of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<InstalledPackage>,
    /// Whether runs may use the server.
    pub is_enabled: bool,
    /// When the definition was accepted.
    pub accepted_at_ms: UnixMs,
    /// The name and version that the server reported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_version: Option<String>,
    /// The accepted tools.
    #[serde(default)]
    pub tools: Vec<PinnedTool>,
    /// New and changed tools of the last listing, which wait for a person.
    #[serde(default)]
    pub held: Vec<HeldTool>,
    /// Raw names of accepted tools that the server no longer lists.
    #[serde(default)]
    pub gone: Vec<String>,
}

impl Extension {
    /// An enabled extension without tools, as accepted at `now`.
    #[must_use]
    pub const fn installed(server: ServerDefinition, now: UnixMs) -> Self {
        Self {
            package: None,
            server,
            is_enabled: true,
            accepted_at_ms: now,
            reported_version: None,
            tools: Vec::new(),
            held: Vec::new(),
            gone: Vec::new(),
        }
    }
}

/// An accepted tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PinnedTool {
    /// The accepted definition.
    pub definition: ToolDefinition,
    /// The hash of the definition.
    pub hash: String,
    /// How calls are judged.
    pub access: ToolAccess,
    /// When the tool was accepted.
    pub accepted_at_ms: UnixMs,
}

/// How calls of an accepted tool are judged. Chosen by the person at installation.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum ToolAccess {
    /// The tool only reads; no approval needed.
    ReadsOnly,
    /// Approval needed unless a grant covers the call.
    Ask,
    /// Approval needed every time.
    AlwaysAsk,
    /// Not offered.
    Off,
}

impl PinnedTool {
    /// The pin of a tool that a person accepts at `now`.
    #[must_use]
    pub fn accept(definition: ToolDefinition, access: ToolAccess, now: UnixMs) -> Self {
        Self { hash: definition.hash(), definition, access, accepted_at_ms: now }
    }
}

impl ToolAccess {
    /// The proposal on the consent page for a tool with these hints. The person decides.
    #[must_use]
    pub const fn suggested(hints: ToolHints) -> Self {
        match hints.read_only {
            Some(true) => Self::ReadsOnly,
            Some(false) | None => Self::Ask,
        }
    }
}
