//! Packages: MCP servers that Rouse installs from npm, PyPI, a bundle (`.mcpb`) or a folder.
//!
//! Owns the sources with their exact versions, the plan that a page shows, the list of installed files, and the reading
//! of foreign manifests. Never reads a file and never starts a program. Pitfall: a version that can name other code
//! tomorrow, such as `latest`; only exact versions are accepted.

mod version;
mod source;
mod plan;
mod file_list;
mod installed;
mod bundle_setting;
mod bundle;
mod server_json;

pub use bundle::{BundleError, BundleManifest, BundlePlace, BundleStart, MAX_MANIFEST_BYTES};
pub use bundle_setting::BundleSettingError;
pub use file_list::{FileChange, FileChangeKind, FileList, FileManifest, PackageChanges};
pub use installed::InstalledPackage;
pub use plan::{InstallStep, PROGRAM_OF_PACKAGE, PackagePlan, PackageSize};
pub use server_json::{
    ServerJsonDraft, ServerJsonError, draft_from_server_json, server_json_source,
};
pub use source::ExtensionSource;
pub use version::{ExactPackage, PackageRegistry, PackageSpecError};
