//! Access to the workspace folder through handles.
//!
//! Owns the way from a written path to an open file or folder. Never compares paths as text to decide containment: a path is split
//! into plain components and opened beneath the workspace's handle, so that neither `..`, nor a link, nor a folder swapped for a link
//! between check and use leads outside.
//!
//! - Linux: `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`; links that stay inside work. Without `openat2`, and on other
//!   Unixes: component by component, and links are refused.
//! - Windows (preview): component by component; every folder on the way is held open without the right to delete or rename it. Links
//!   and junctions are refused.
//!
//! Writes are stricter (`write`): links are refused on every system, because an approval is for one path. Folders are created one by
//! one beneath their own handle, and a file is replaced as a whole.
//!
//! Refuses devices, pipes and sockets, which can block or act when read, and hard links, whose other name may lie outside.
//! Pitfall: to resolve a path first and open it by name afterwards.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
mod entry;
mod error;
mod folders;
mod ignore_rules;
mod path;
mod root;
mod write;
#[cfg(test)]
mod tests;

pub(crate) use entry::{EntryKind, FileVersion, FolderEntry};
pub(crate) use error::WorkspaceError;
pub use folders::expand_granted_path;
pub(crate) use folders::{GrantedFolder, ResolvedPath, RunFolders};
pub(crate) use ignore_rules::IgnoreRules;
pub(crate) use path::{RelativePath, create_private_folder, expand_home, home_folder};
pub(crate) use root::Workspace;
pub(crate) use write::{MAX_FINGERPRINT_BYTES, file_fingerprint, sha256_hex};
