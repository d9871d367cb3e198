//! Metadata of files and folders. A link is described itself, not the target.

use std::ffi::OsString;

use rouse_core::UnixMs;

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    pub(crate) name: OsString,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    pub(crate) version: FileVersion,
}

impl FolderEntry {
    /// Whether the name begins with a dot.
    pub(crate) fn is_hidden(&self) -> bool {
        self.name.as_encoded_bytes().starts_with(b".")
    }
}

/// The version of a file by metadata: differs if the content differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileVersion {
    /// Modification time, which programs can set.
    pub(crate) modified_at: UnixMs,
    /// The latest time in the metadata. A second change within the clock's granularity leaves no trace.
    pub(crate) latest_at: UnixMs,
    /// All metadata, for comparison.
    pub(crate) stamp: String,
}

/// Metadata of a path that is about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetState {
    pub(crate) kind: EntryKind,
    pub(super) has_hard_links: bool,
    pub(super) is_read_only: bool,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    /// A device, a pipe or a socket.
    Other,
}
