//! `extensions.search`, `extensions.registryEntry`, `skills.search`, `skills.download`: registries of servers and skills.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `extensions.search`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct RegistrySearchParams {
    /// Words of the search.
    pub query: String,
    /// Next page of an earlier search.
    pub cursor: Option<String>,
}

/// `extensions.search`: a page of servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySearchResult {
    /// Address of the registry.
    pub registry: String,
    /// The servers.
    pub servers: Vec<RegistryServerView>,
    /// Cursor of the next page; none on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next: Option<String>,
}

/// `extensions.registryEntry`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct RegistryEntryParams {
    /// Name of the entry.
    pub name: String,
    /// Version of the entry. Default: the latest.
    pub version: Option<String>,
}

/// A server of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryServerView {
    /// Name in the registry.
    pub name: String,
    /// Title: untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// Description: untrusted text.
    pub description: String,
    /// Version of the entry.
    pub version: String,
    /// Whether the publisher marks the version as deprecated.
    pub is_deprecated: bool,
    /// The source of an installation, for people; none if Rouse cannot install the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub source: Option<String>,
    /// Why Rouse cannot install the entry, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<String>,
    /// The entry as JSON text.
    pub document: String,
}

/// `skills.search`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillSearchParams {
    /// Words of the search.
    pub query: String,
}

/// `skills.search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillSearchResult {
    /// Address of the registry.
    pub registry: String,
    /// The skills.
    pub skills: Vec<RegistrySkillView>,
}

/// A skill of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySkillView {
    /// Identifier in the registry.
    pub slug: String,
    /// Name: untrusted text.
    pub name: String,
    /// Description: untrusted text.
    pub description: String,
    /// The newest version, if the registry names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<String>,
}

/// `skills.download`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SkillDownloadParams {
    /// Identifier in the registry.
    pub slug: String,
    /// Version. Default: the latest.
    pub version: Option<String>,
}

/// `skills.download`: the downloaded file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillDownload {
    /// Path of the zip file.
    pub path: String,
    /// What the moderation of the registry says, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub warning: Option<String>,
}
