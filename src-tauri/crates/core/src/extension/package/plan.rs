//! The plan of an installation, as its page shows the plan.
//!
//! Owns the commands that Rouse runs after the consent. A page with another plan has another hash. Pitfall: a fact that
//! is known only after the download, such as the path of a program; the page names it by a placeholder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::file_list::PackageChanges;
use super::source::ExtensionSource;

/// Stands for the program of a package in the arguments of a page. The installation puts the path into its place.
pub const PROGRAM_OF_PACKAGE: &str = "{{program of the package}}";

/// What an installation does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct PackagePlan {
    /// The source.
    pub source: ExtensionSource,
    /// The installed source that the plan replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ExtensionSource>,
    /// The files of a bundle or folder that differ from the installed ones; none for an installation, and before a
    /// download.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<PackageChanges>,
    /// The registry: its address in the person's settings, or the default of the installer. None for files of this
    /// computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// Name, version and author by the package's own manifest: untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// The commands, in their order.
    pub steps: Vec<InstallStep>,
    /// The folder of the installed files.
    pub folder: String,
    /// The size of the files; none before a download.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<PackageSize>,
    /// What the person should know, as sentences.
    pub notes: Vec<String>,
}

/// A command of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InstallStep {
    /// The absolute path of the program.
    pub program: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// The variables beside the basic ones.
    pub environment: BTreeMap<String, String>,
}

/// The number of files and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PackageSize {
    /// The number of files.
    pub files: u32,
    /// The bytes of all files.
    pub bytes: u64,
}
