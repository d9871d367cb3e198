//! The walk through a folder: every file once, folder by folder and by name, within bounds.
//!
//! Owns the bounds and says which one was met. Opens nothing but through the workspace's handle. Pitfall: a file that is
//! no text would fill the results with noise, so it is left out.

use std::io::Read as _;
use std::path::PathBuf;

use rouse_core::visible::visible_path;

use crate::list_dir::rules::Rules;
use crate::text::shortened;
use crate::workspace::{Entry, EntryKind, RelativePath, Workspace, WorkspaceError};

/// The entries that one search looks at.
const MOST_ENTRIES: usize = 50_000;
/// The bytes that one search reads.
const MOST_BYTES: u64 = 256 << 20;
/// The largest file that is searched.
const MOST_FILE_BYTES: u64 = 8 << 20;
/// The notes of one search.
const MOST_NOTES: usize = 5;

/// A file.
pub(super) struct Found {
    /// The path that other tools take.
    pub(super) name: String,
    /// The path below the folder that is searched, for a glob.
    pub(super) below: PathBuf,
    path: RelativePath,
    size: u64,
}

/// One step of the walk.
enum Step {
    Folder { path: RelativePath, name: String, below: PathBuf, rules: Rules },
    File(Found),
}

/// A walk through the files below a folder.
pub(super) struct Walk<'w> {
    workspace: &'w Workspace,
    pub(super) shows_hidden: bool,
    pub(super) shows_ignored: bool,
    /// What is still to be walked, the next at the end.
    waiting: Vec<Step>,
    /// The folder that the search begins in, whose errors are the caller's.
    is_first: bool,
    entries: usize,
    bytes: u64,
    is_cut: bool,
    too_large: usize,
    notes: Vec<String>,
}

impl<'w> Walk<'w> {
    /// A walk from `path`, a folder or a file that people call `name`.
    pub(super) fn new(workspace: &'w Workspace, path: &RelativePath, name: &str) -> Self {
        let (path, rules) = (path.clone(), Rules::above(workspace, path));
        let name = if name == "." { String::new() } else { name.to_owned() };
        Self {
            workspace,
            shows_hidden: false,
            shows_ignored: false,
            waiting: vec![Step::Folder { path, name, below: PathBuf::new(), rules }],
            is_first: true,
            entries: 0,
            bytes: 0,
            is_cut: false,
            too_large: 0,
            notes: Vec::new(),
        }
    }

    /// The next file; none when there is no other, or a bound is met.
    ///
    /// # Errors
    /// When the folder that the search begins in cannot be read.
    pub(super) fn next_file(&mut self) -> Result<Option<Found>, WorkspaceError> {
        while let Some(step) = self.waiting.pop() {
            if self.is_cut {
                break;
            }
            match step {
                Step::File(found) => return Ok(Some(found)),
                Step::Folder { path, name, below, rules } => {
                    let is_first = std::mem::take(&mut self.is_first);
                    match self.enter(&path, &name, &below, &rules) {
                        Err(WorkspaceError::NotAFolder { .. }) if is_first => {
                            let (_, size) = self.workspace.open_file(&path)?;
                            let below = path.as_path().file_name().map(PathBuf::from);
                            let below = below.unwrap_or_default();
                            return Ok(Some(Found { name, below, path, size }));
                        }
                        Err(error) if is_first => return Err(error),
                        Err(error) => self.note(&error),
                        Ok(()) => {}
                    }
                }
            }
        }
        Ok(None)
    }

    /// Puts what is in a folder before all that waits.
    fn enter(
        &mut self,
        path: &RelativePath,
        name: &str,
        below: &std::path::Path,
        rules: &Rules,
    ) -> Result<(), WorkspaceError> {
        let most = MOST_ENTRIES.saturating_sub(self.entries).max(1);
        let (mut entries, has_more) = self.workspace.entries(path, most)?;
        self.entries += entries.len();
        self.is_cut |= has_more || self.entries >= MOST_ENTRIES;
        // The last one is walked first.
        entries.sort_by(|a, b| b.name.cmp(&a.name));
        let rules = rules.with_those_of(self.workspace, path);
        for entry in entries {
            let path = path.child(&entry.name);
            if self.is_left_out(&entry, &path, &rules) {
                continue;
            }
            let shown = visible_path(&entry.name.to_string_lossy());
            let name = if name.is_empty() { shown } else { format!("{name}/{shown}") };
            let below = below.join(&entry.name);
            match entry.kind {
                EntryKind::File => {
                    let size = entry.size;
                    self.waiting.push(Step::File(Found { name, below, path, size }));
                }
                EntryKind::Folder => {
                    let rules = rules.clone();
                    self.waiting.push(Step::Folder { path, name, below, rules });
                }
                EntryKind::Link | EntryKind::Other => {}
            }
        }
        Ok(())
    }

    fn is_left_out(&self, entry: &Entry, path: &RelativePath, rules: &Rules) -> bool {
        let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
        let is_folder = entry.kind == EntryKind::Folder;
        (is_hidden && !self.shows_hidden) || (!self.shows_ignored && rules.ignore(path, is_folder))
    }

    /// The bytes of a text file; none for another one, or for one that cannot be read.
    pub(super) fn content(&mut self, found: &Found) -> Option<Vec<u8>> {
        if found.size > MOST_FILE_BYTES {
            self.too_large += 1;
            return None;
        }
        self.bytes = self.bytes.saturating_add(found.size);
        self.is_cut |= self.bytes > MOST_BYTES;
        let (file, _) = self.workspace.open_file(&found.path).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        let is_text = !bytes.iter().take(8_192).any(|byte| *byte == 0);
        is_text.then_some(bytes)
    }

    fn note(&mut self, error: &WorkspaceError) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(shortened(&error.to_string(), 300));
        }
    }

    /// What the search has left out.
    pub(super) fn notes(mut self) -> Vec<String> {
        if self.is_cut {
            let cut = "The search was cut off: there are too many files. Narrow it with path.";
            self.notes.push(cut.to_owned());
        }
        if self.too_large > 0 {
            let megabytes = MOST_FILE_BYTES >> 20;
            let count = self.too_large;
            self.notes.push(format!("{count} files over {megabytes} MB were not searched."));
        }
        self.notes
    }
}
