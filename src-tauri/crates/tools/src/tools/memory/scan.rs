//! The scan for memory files, by metadata alone.
//!
//! Never follows links; hidden files are no part of the memory. Lists files that cannot be searched with the reason, because a silently
//! omitted note seems lost.

use std::collections::VecDeque;
use std::ffi::OsStr;

use super::folder::{MAX_DEPTH, MAX_FILE_BYTES, display_path};
use crate::workspace::{EntryKind, FileVersion, RelativePath, Workspace, WorkspaceError};

/// Limit of scanned entries: twice the tools' own limit.
const MAX_SCANNED: usize = 20_000;

/// A Markdown file that can be searched.
pub(super) struct MemoryFile {
    pub(super) path: RelativePath,
    /// The path in the index.
    pub(super) name: String,
    pub(super) version: FileVersion,
    pub(super) size: u64,
}

/// A file or folder that cannot be searched.
pub(super) struct SkippedFile {
    pub(super) path: String,
    /// A sentence.
    pub(super) reason: String,
}

/// The result of a scan.
#[derive(Default)]
pub(super) struct MemoryScan {
    pub(super) files: Vec<MemoryFile>,
    pub(super) skipped: Vec<SkippedFile>,
    /// Whether the limit was reached.
    pub(super) is_truncated: bool,
    scanned: usize,
}

/// Scans the memory's folder.
pub(super) fn scan_memory(memory: &Workspace) -> Result<MemoryScan, WorkspaceError> {
    let mut scan = MemoryScan::default();
    let root = memory.parse_path(".")?;
    let mut pending = VecDeque::from([(root.clone(), 1)]);
    while let Some((folder, depth)) = pending.pop_front() {
        match scan.scan_folder(memory, &folder) {
            Ok(folders) if depth < MAX_DEPTH => {
                pending.extend(folders.into_iter().map(|folder| (folder, depth + 1)));
            }
            Ok(folders) => folders.iter().for_each(|folder| {
                scan.skip(folder, format!("Below {MAX_DEPTH} folders, deeper than is searched."));
            }),
            // Removed since the listing.
            Err(WorkspaceError::Missing { .. }) if folder != root => {}
            Err(error) if folder == root => return Err(error),
            Err(error) => scan.skip(&folder, error.to_string()),
        }
    }
    scan.files.sort_by(|a, b| a.name.cmp(&b.name));
    scan.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(scan)
}

impl MemoryScan {
    /// Adds the files of a folder; returns the subfolders.
    fn scan_folder(
        &mut self,
        memory: &Workspace,
        folder: &RelativePath,
    ) -> Result<Vec<RelativePath>, WorkspaceError> {
        let limit = MAX_SCANNED.saturating_sub(self.scanned);
        if limit == 0 {
            self.is_truncated = true;
            return Ok(Vec::new());
        }
        let (entries, has_more) = memory.list_entries(folder, limit)?;
        self.scanned += entries.len();
        self.is_truncated |= has_more;
        let mut folders = Vec::new();
        for entry in entries.into_iter().filter(|entry| !entry.is_hidden()) {
            let path = folder.child(&entry.name);
            match entry.kind {
                EntryKind::Folder => folders.push(path),
                EntryKind::File if is_markdown(&path) => {
                    self.add_file(path, entry.version, entry.size);
                }
                EntryKind::Link if is_markdown(&path) => {
                    self.skip(&path, "A link, which is not followed.".to_owned());
                }
                EntryKind::File | EntryKind::Link | EntryKind::Other => {}
            }
        }
        Ok(folders)
    }

    fn add_file(&mut self, path: RelativePath, version: FileVersion, size: u64) {
        if size > MAX_FILE_BYTES {
            let reason = format!("Has {size} bytes; the limit is {MAX_FILE_BYTES}.");
            return self.skip(&path, reason);
        }
        // The index stores displayed paths, and two names with the same display would collide.
        let name = path.to_string();
        let exact: Option<Vec<&str>> = path.as_path().iter().map(OsStr::to_str).collect();
        if exact.is_none_or(|exact| exact.join("/") != name) {
            return self.skip(&path, "The name has invisible characters.".to_owned());
        }
        self.files.push(MemoryFile { path, name, version, size });
    }

    fn skip(&mut self, path: &RelativePath, reason: String) {
        self.skipped.push(SkippedFile { path: display_path(path), reason });
    }
}

fn is_markdown(path: &RelativePath) -> bool {
    path.as_path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
