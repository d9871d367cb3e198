//! The document of installed extensions (`extensions.lock`).
//!
//! Owns what a person has accepted: the definition of each server and each tool with its access. An extension without
//! an entry is not installed. Pitfall: an entry that is changed without consent; only `core::extension::consent` pages
//! lead to a change.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::definition::ServerDefinition;
use super::name::{ExtensionName, tool_name};
use super::origin::ToolOrigin;
use super::package::InstalledPackage;
use super::pin::{HeldTool, ToolDefinition, ToolHints};
use crate::UnixMs;
use crate::tool::{Annotations, ApprovalRule, RateLimit, ToolDomain, ToolSpec};

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

impl Extension {
    /// The spec of an accepted tool: the access that the person chose decides, and no claim of the tool.
    #[must_use]
    pub fn tool_spec(
        &self,
        name: &ExtensionName,
        pin: &PinnedTool,
        approval: ApprovalRule,
        call_for: Duration,
    ) -> ToolSpec {
        let definition = &pin.definition;
        let reads_only = approval == ApprovalRule::Never;
        ToolSpec {
            name: tool_name(name, &definition.name),
            label: None,
            description: definition.description.clone(),
            parameters: definition.input_schema.clone(),
            annotations: Annotations {
                read_only: reads_only,
                destructive: !reads_only,
                idempotent: reads_only,
                open_world: self.server.is_open_world(),
            },
            approval,
            domain: ToolDomain::InProcess,
            rate: RateLimit::USUAL,
            call_for,
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            attended_only: false,
            listed_only: false,
            origin: Some(ToolOrigin {
                extension: name.clone(),
                raw_name: definition.name.clone(),
                version: self.reported_version.clone(),
                hash: pin.hash.clone(),
            }),
        }
    }
}

impl Extension {
    /// The proposed access of an offered tool. Never less than a person chose for the tool before: a changed tool that
    /// newly claims to be read-only keeps its access.
    #[must_use]
    pub fn proposed_access(&self, offered: &ToolDefinition) -> ToolAccess {
        let suggested = ToolAccess::suggested(offered.hints);
        let pin = self.tools.iter().find(|pin| pin.definition.name == offered.name);
        pin.map_or(suggested, |pin| pin.access.stricter(suggested))
    }
}

impl PinnedTool {
    /// The pin of a tool that a person accepts at `now`.
    #[must_use]
    pub fn accept(definition: ToolDefinition, access: ToolAccess, now: UnixMs) -> Self {
        Self { hash: definition.hash(), definition, access, accepted_at_ms: now }
    }
}

impl ToolAccess {
    /// The approval rule of the calls; none for a tool that is not offered.
    #[must_use]
    pub const fn approval_rule(self) -> Option<ApprovalRule> {
        match self {
            Self::ReadsOnly => Some(ApprovalRule::Never),
            Self::Ask => Some(ApprovalRule::UnlessGranted),
            Self::AlwaysAsk => Some(ApprovalRule::Always),
            Self::Off => None,
        }
    }

    /// The proposal on the consent page for a tool with these hints. The person decides.
    #[must_use]
    pub const fn suggested(hints: ToolHints) -> Self {
        match hints.read_only {
            Some(true) => Self::ReadsOnly,
            Some(false) | None => Self::Ask,
        }
    }

    /// The stricter of two choices.
    #[must_use]
    pub const fn stricter(self, other: Self) -> Self {
        if self.strictness() < other.strictness() { other } else { self }
    }

    const fn strictness(self) -> u8 {
        match self {
            Self::ReadsOnly => 0,
            Self::Ask => 1,
            Self::AlwaysAsk => 2,
            Self::Off => 3,
        }
    }
}
