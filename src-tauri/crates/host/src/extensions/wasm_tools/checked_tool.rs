//! The facts about a tool's folder that passed its check, for the consent page.
//!
//! Owns the fields only. Pitfall: facts of a folder that differ from its copy; the page has the hash of all files.

use rouse_core::extension::package::{FileList, PackageSize};
use rouse_core::extension::{ExtensionName, ServerTransport};

/// The facts about a folder that passed its check.
pub(crate) struct CheckedTool {
    /// The name in the manifest.
    pub(in crate::extensions) name: ExtensionName,
    /// The permissions in the manifest.
    pub(in crate::extensions) transport: ServerTransport,
    pub(in crate::extensions) list: FileList,
    pub(in crate::extensions) size: PackageSize,
    /// Name, version and description, as the manifest says.
    pub(in crate::extensions) claims: String,
    /// The results of the check, as sentences.
    pub(in crate::extensions) notes: Vec<String>,
}
