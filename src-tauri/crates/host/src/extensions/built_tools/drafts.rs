//! The drafts of tools: one folder of Rouse for each name.
//!
//! Owns the names of files and the size of a change. Never checks a draft. Blocks. Pitfall: a path that leaves the
//! folder; every part of a path is a plain name.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::extension::{ExtensionName, ToolDraftChange};
use rouse_wasm::{ToolFolder, ToolFolderError};

/// The maximum bytes of the new texts in one change.
const MAX_CHANGE_BYTES: usize = 2 << 20;
/// The maximum number of drafts.
const MAX_DRAFTS: usize = 50;
/// The maximum parts of a path.
const MAX_PARTS: usize = 5;
/// The maximum bytes of a path.
const MAX_PATH_BYTES: usize = 200;

/// The drafts below a folder.
#[derive(Debug, Clone)]
pub(super) struct ToolDrafts {
    folder: PathBuf,
}

/// Why a draft was not changed, as a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum DraftError {
    #[error(
        "`{0}` is no path of a file in a tool. Use plain names such as tool.js or lib/time.js."
    )]
    Path(String),
    #[error("The files have more than {} MB. Shorten them.", MAX_CHANGE_BYTES >> 20)]
    TooLarge,
    #[error(
        "There are {MAX_DRAFTS} drafts of tools. Ask the person to remove one: rouse tools remove NAME."
    )]
    TooMany,
    #[error(transparent)]
    Source(#[from] ToolFolderError),
    #[error("The draft {0} cannot be written: {1}. Check the disk.")]
    Io(PathBuf, io::Error),
}

impl ToolDrafts {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of a draft, which may not exist.
    pub(super) fn folder(&self, name: &ExtensionName) -> PathBuf {
        self.folder.join(name.as_str())
    }

    /// Applies a change. A new draft begins with the files of `installed`, if it exists.
    ///
    /// # Errors
    /// A path is invalid, or a file cannot be read or written.
    pub(super) fn apply(
        &self,
        change: &ToolDraftChange,
        installed: &Path,
    ) -> Result<PathBuf, DraftError> {
        check_files(&change.files)?;
        let draft = self.folder(&change.name);
        if !draft.exists() && self.count() >= MAX_DRAFTS {
            return Err(DraftError::TooMany);
        }
        let source = match &change.folder {
            Some(folder) => Some(ToolFolder::read(folder)?),
            None if !draft.exists() && installed.exists() => Some(ToolFolder::read(installed)?),
            None => None,
        };
        let written = self.write(&draft, change, source.as_ref());
        written.map_err(|error| DraftError::Io(draft.clone(), error))?;
        Ok(draft)
    }

    fn count(&self) -> usize {
        fs::read_dir(&self.folder).map_or(0, Iterator::count)
    }

    /// Replaces the draft by the files of `source`, if there is one, then writes the changed files.
    fn write(
        &self,
        draft: &Path,
        change: &ToolDraftChange,
        source: Option<&ToolFolder>,
    ) -> io::Result<()> {
        if let Some(source) = source {
            self.remove(&change.name)?;
            source.copy_to(draft)?;
        }
        fs::create_dir_all(draft)?;
        for (path, text) in &change.files {
            let file = draft.join(path);
            match text {
                Some(text) => {
                    fs::create_dir_all(file.parent().expect("BUG: a file has a folder"))?;
                    fs::write(file, text)?;
                }
                None => ignore_missing(fs::remove_file(file))?,
            }
        }
        Ok(())
    }

    /// Deletes a draft. False without one.
    ///
    /// # Errors
    /// A file cannot be deleted.
    pub(super) fn remove(&self, name: &ExtensionName) -> io::Result<bool> {
        let folder = self.folder(name);
        let existed = folder.exists();
        ignore_missing(fs::remove_dir_all(folder))?;
        Ok(existed)
    }
}

fn check_files(files: &BTreeMap<String, Option<String>>) -> Result<(), DraftError> {
    if let Some(path) = files.keys().find(|path| !is_plain_path(path)) {
        return Err(DraftError::Path(path.clone()));
    }
    let bytes: usize = files.values().flatten().map(String::len).sum();
    if bytes > MAX_CHANGE_BYTES { Err(DraftError::TooLarge) } else { Ok(()) }
}

/// Whether every part is a name of letters, digits, `-`, `_` and `.`, and does not begin with a dot.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && part.chars().all(is_allowed)
    };
    path.len() <= MAX_PATH_BYTES
        && path.split('/').count() <= MAX_PARTS
        && path.split('/').all(is_plain)
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, files: &[(&str, Option<&str>)]) -> ToolDraftChange {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.map(str::to_owned)));
        ToolDraftChange {
            name: name.parse().expect("a name"),
            folder: None,
            files: files.collect(),
        }
    }

    fn texts(draft: &Path) -> Vec<(String, String)> {
        let folder = ToolFolder::read(draft).expect("a draft");
        let text = |(path, content): (&str, &[u8])| {
            (path.to_owned(), String::from_utf8(content.to_vec()).expect("a text"))
        };
        folder.files().map(text).collect()
    }

    fn pairs(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn draft_begins_with_the_installed_files() {
        let root = tempfile::tempdir().expect("a folder");
        let installed = root.path().join("installed");
        fs::create_dir(&installed).expect("a folder");
        fs::write(installed.join("tool.js"), "old").expect("a file");
        fs::write(installed.join("note.txt"), "old").expect("a file");
        let drafts = ToolDrafts::new(root.path().join("drafts"));
        let first = change("dice", &[("lib/a.js", Some("new")), ("note.txt", None)]);
        let draft = drafts.apply(&first, &installed).expect("a draft");
        assert_eq!(texts(&draft), pairs(&[("lib/a.js", "new"), ("tool.js", "old")]));
        // A further change continues the draft.
        fs::write(installed.join("tool.js"), "newer").expect("a file");
        let draft = drafts.apply(&change("dice", &[("b.js", Some("b"))]), &installed);
        let expected = pairs(&[("b.js", "b"), ("lib/a.js", "new"), ("tool.js", "old")]);
        assert_eq!(texts(&draft.expect("a draft")), expected);
    }

    #[test]
    fn folder_replaces_the_draft() {
        let root = tempfile::tempdir().expect("a folder");
        let (source, none) = (root.path().join("source"), root.path().join("none"));
        fs::create_dir(&source).expect("a folder");
        fs::write(source.join("tool.js"), "mine").expect("a file");
        let drafts = ToolDrafts::new(root.path().join("drafts"));
        drafts.apply(&change("dice", &[("a.js", Some("a"))]), &none).expect("a draft");
        let replacing = ToolDraftChange { folder: Some(source), ..change("dice", &[]) };
        let draft = drafts.apply(&replacing, &none).expect("a draft");
        assert_eq!(texts(&draft), pairs(&[("tool.js", "mine")]));
    }

    #[test]
    fn path_outside_of_the_draft_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let drafts = ToolDrafts::new(root.path().join("drafts"));
        for path in ["../a", "/a", "a//b", ".git/config", "a/./b", "C:\\a", "a.", "a b", ""] {
            let refused = drafts.apply(&change("dice", &[(path, Some("x"))]), root.path());
            assert!(matches!(refused, Err(DraftError::Path(_))), "{path}: {refused:?}");
        }
        assert!(!root.path().join("drafts").exists());
    }

    #[test]
    fn number_of_drafts_is_bounded() {
        let root = tempfile::tempdir().expect("a folder");
        let (drafts, none) =
            (ToolDrafts::new(root.path().join("drafts")), root.path().join("none"));
        for number in 0..MAX_DRAFTS {
            drafts.apply(&change(&format!("tool-{number}"), &[]), &none).expect("a draft");
        }
        let refused = drafts.apply(&change("one-more", &[]), &none);
        assert!(matches!(refused, Err(DraftError::TooMany)), "{refused:?}");
        assert!(drafts.apply(&change("tool-0", &[]), &none).is_ok());
    }
}
