//! The record of an installed package in `extensions.lock`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::file_list::FileManifest;
use super::source::ExtensionSource;
use crate::extension::definition::ServerDefinition;

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InstalledPackage {
    /// The source, with the hash that the installation found.
    pub source: ExtensionSource,
    /// The definition as the person wrote it, without what the package adds. An update begins with it.
    pub draft: ServerDefinition,
    /// The accepted files.
    pub files: FileManifest,
    /// The packages inside, each as `name==version` of PyPI or `name@version` of npm.
    #[serde(default)]
    pub components: Vec<String>,
}
