//! The walk through the files below a folder, depth first and by name.
//!
//! Owns the limits and reports a reached limit. Opens files through the workspace's handle only. Pitfall: binary files
//! would fill the results with noise, so these are skipped.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use rouse_core::text::escape_path;

use crate::text::truncate;
use crate::workspace::{
    EntryKind, FolderEntry, IgnoreRules, RelativePath, Workspace, WorkspaceError,
};

/// Limits of a search.
const MAX_ENTRIES: usize = 50_000;
const MAX_TOTAL_BYTES: u64 = 256 << 20;
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_NOTES: usize = 5;

/// A file of the walk.
pub(super) struct FoundFile {
    /// The path for other tools.
    pub(super) name: String,
    /// The path below the searched folder, for globs.
    pub(super) relative_path: PathBuf,
    path: RelativePath,
    size: u64,
}

enum WalkStep {
    Folder { path: RelativePath, name: String, relative_path: PathBuf, rules: IgnoreRules },
    File(FoundFile),
}

/// A walk through the files below a folder.
pub(super) struct FileWalk<'w> {
    workspace: &'w Workspace,
    pub(super) shows_hidden: bool,
    pub(super) shows_ignored: bool,
    /// A stack; the next step is the last element.
    pending: Vec<WalkStep>,
    /// Whether the next folder is the requested folder. An error there ends the search.
    is_first: bool,
    entries: usize,
    bytes: u64,
    is_truncated: bool,
    too_large: usize,
    notes: Vec<String>,
}

impl<'w> FileWalk<'w> {
    /// A walk from `path`, a folder or a file, shown as `name`.
    pub(super) fn new(workspace: &'w Workspace, path: &RelativePath, name: &str) -> Self {
        let (path, rules) = (path.clone(), IgnoreRules::for_parents(workspace, path));
        let name = if name == "." { String::new() } else { name.to_owned() };
        Self {
            workspace,
            shows_hidden: false,
            shows_ignored: false,
            pending: vec![WalkStep::Folder { path, name, relative_path: PathBuf::new(), rules }],
            is_first: true,
            entries: 0,
            bytes: 0,
            is_truncated: false,
            too_large: 0,
            notes: Vec::new(),
        }
    }

    /// Returns the next file; `None` at the end or at a limit.
    ///
    /// # Errors
    /// The requested folder cannot be read.
    pub(super) fn next_file(&mut self) -> Result<Option<FoundFile>, WorkspaceError> {
        while let Some(step) = self.pending.pop() {
            if self.is_truncated {
                break;
            }
            let (path, name, relative_path, rules) = match step {
                WalkStep::File(file) => return Ok(Some(file)),
                WalkStep::Folder { path, name, relative_path, rules } => {
                    (path, name, relative_path, rules)
                }
            };
            let is_first = std::mem::take(&mut self.is_first);
            match self.enter(&path, &name, &relative_path, &rules) {
                Err(WorkspaceError::NotAFolder { .. }) if is_first => {
                    let (_, size) = self.workspace.open_file(&path)?;
                    let relative_path = path.as_path().file_name().map(PathBuf::from);
                    let relative_path = relative_path.unwrap_or_default();
                    return Ok(Some(FoundFile { name, relative_path, path, size }));
                }
                Err(error) if is_first => return Err(error),
                Err(error) => self.add_note(&error),
                Ok(()) => {}
            }
        }
        Ok(None)
    }

    /// Pushes the entries of a folder.
    fn enter(
        &mut self,
        path: &RelativePath,
        name: &str,
        relative_path: &Path,
        rules: &IgnoreRules,
    ) -> Result<(), WorkspaceError> {
        let limit = MAX_ENTRIES.saturating_sub(self.entries).max(1);
        let (mut entries, has_more) = self.workspace.list_entries(path, limit)?;
        self.entries += entries.len();
        self.is_truncated |= has_more || self.entries >= MAX_ENTRIES;
        // Reversed, because the last element is walked first.
        entries.sort_by(|a, b| b.name.cmp(&a.name));
        let rules = rules.with_folder(self.workspace, path);
        for entry in entries {
            let path = path.child(&entry.name);
            if self.is_omitted(&entry, &path, &rules) {
                continue;
            }
            let shown = escape_path(&entry.name.to_string_lossy());
            let name = if name.is_empty() { shown } else { format!("{name}/{shown}") };
            let relative_path = relative_path.join(&entry.name);
            match entry.kind {
                EntryKind::File => {
                    let size = entry.size;
                    let file = FoundFile { name, relative_path, path, size };
                    self.pending.push(WalkStep::File(file));
                }
                EntryKind::Folder => {
                    let rules = rules.clone();
                    self.pending.push(WalkStep::Folder { path, name, relative_path, rules });
                }
                EntryKind::Link | EntryKind::Other => {}
            }
        }
        Ok(())
    }

    fn is_omitted(&self, entry: &FolderEntry, path: &RelativePath, rules: &IgnoreRules) -> bool {
        let is_folder = entry.kind == EntryKind::Folder;
        (!self.shows_hidden && entry.is_hidden())
            || (!self.shows_ignored && rules.is_ignored(path, is_folder))
    }

    /// Reads a text file; `None` if binary, too large or unreadable.
    pub(super) fn read_text(&mut self, file: &FoundFile) -> Option<Vec<u8>> {
        if file.size > MAX_FILE_BYTES {
            self.too_large += 1;
            return None;
        }
        self.bytes = self.bytes.saturating_add(file.size);
        self.is_truncated |= self.bytes > MAX_TOTAL_BYTES;
        let (file, _) = self.workspace.open_file(&file.path).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        let is_text = !bytes.iter().take(8_192).any(|byte| *byte == 0);
        is_text.then_some(bytes)
    }

    fn add_note(&mut self, error: &WorkspaceError) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(truncate(&error.to_string(), 300));
        }
    }

    /// Notes about files that were not searched.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.is_truncated {
            let note =
                "The search stopped at its limit: there are too many files. Narrow it with path.";
            self.notes.push(note.to_owned());
        }
        if self.too_large > 0 {
            let (count, megabytes) = (self.too_large, MAX_FILE_BYTES >> 20);
            self.notes.push(format!("{count} files over {megabytes} MB were not searched."));
        }
        self.notes
    }
}
