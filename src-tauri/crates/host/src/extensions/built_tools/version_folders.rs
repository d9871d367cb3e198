//! The files of built versions: one folder for each name and hash.
//!
//! Owns the names of files, and folders that appear complete or not at all. Never checks a version. Blocks. Pitfall: a
//! path that leaves the folder; every part of a path is a plain name.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::extension::ExtensionName;
use rouse_wasm::ToolFolder;
use uuid::Uuid;

/// The maximum bytes of the new texts in one change.
const MAX_CHANGE_BYTES: usize = 2 << 20;
/// The maximum number of names.
const MAX_NAMES: usize = 50;
/// The maximum parts of a path.
const MAX_PARTS: usize = 5;
/// The maximum bytes of a path.
const MAX_PATH_BYTES: usize = 200;
/// The beginning of the name of an incomplete folder.
const INCOMPLETE: &str = ".new-";

/// The folders of versions below a folder.
#[derive(Debug, Clone)]
pub(super) struct VersionFolders {
    root: PathBuf,
}

/// Why a version was not written, as a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum VersionFolderError {
    #[error(
        "`{0}` is no path of a file in a tool. Use plain names such as tool.js or lib/time.js."
    )]
    Path(String),
    #[error("The files have more than {} MB. Shorten them.", MAX_CHANGE_BYTES >> 20)]
    TooLarge,
    #[error(
        "There are {MAX_NAMES} built tools. Ask the person to remove one: rouse tools remove NAME."
    )]
    TooMany,
    #[error("The files of {0} cannot be written: {1}. Check the disk and the paths.")]
    Io(ExtensionName, io::Error),
}

impl VersionFolders {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder of a version, which may not exist.
    pub(super) fn folder(&self, name: &ExtensionName, hash: &str) -> PathBuf {
        self.root.join(name.as_str()).join(hash)
    }

    /// The files of a version; none if they are gone or differ from the hash.
    pub(super) fn read(&self, name: &ExtensionName, hash: &str) -> Option<ToolFolder> {
        // silent-ok: unreadable files are as good as none; the caller says what to do.
        let folder = ToolFolder::read(&self.folder(name, hash)).ok()?;
        (folder.hash() == hash).then_some(folder)
    }

    /// Refuses a new name when there are too many.
    ///
    /// # Errors
    /// There are too many names.
    pub(super) fn check_name(&self, name: &ExtensionName) -> Result<(), VersionFolderError> {
        let names = fs::read_dir(&self.root).map_or(0, Iterator::count);
        let is_known = self.root.join(name.as_str()).exists();
        if is_known || names < MAX_NAMES { Ok(()) } else { Err(VersionFolderError::TooMany) }
    }

    /// Writes the files of a version.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(
        &self,
        name: &ExtensionName,
        files: &ToolFolder,
    ) -> Result<(), VersionFolderError> {
        let versions = self.root.join(name.as_str());
        let target = self.folder(name, &files.hash());
        if self.read(name, &files.hash()).is_some() {
            return Ok(());
        }
        let new = versions.join(format!("{INCOMPLETE}{}", Uuid::new_v4()));
        let written = files.copy_to(&new).and_then(|()| replace(&new, &target));
        written.map_err(|error| {
            drop(fs::remove_dir_all(&new));
            VersionFolderError::Io(name.clone(), error)
        })
    }

    /// Deletes the folders of a name except those with these hashes.
    ///
    /// # Errors
    /// A folder cannot be deleted.
    pub(super) fn prune(&self, name: &ExtensionName, kept: &[String]) -> io::Result<()> {
        let versions = self.root.join(name.as_str());
        let entries = match fs::read_dir(&versions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if !kept.iter().any(|hash| entry.file_name() == hash.as_str()) {
                delete_folder(&entry.path())?;
            }
        }
        if kept.is_empty() { ignore_missing(fs::remove_dir(versions)) } else { Ok(()) }
    }
}

/// Checks the paths and the size of a change.
///
/// # Errors
/// A path is not plain, or the texts are too large.
pub(super) fn check_changes(
    files: &BTreeMap<String, Option<String>>,
) -> Result<(), VersionFolderError> {
    if let Some(path) = files.keys().find(|path| !is_plain_path(path)) {
        return Err(VersionFolderError::Path(path.clone()));
    }
    let bytes: usize = files.values().flatten().map(String::len).sum();
    if bytes > MAX_CHANGE_BYTES { Err(VersionFolderError::TooLarge) } else { Ok(()) }
}

/// Whether every part is a name of letters, digits, `-`, `_` and `.`, and does not begin with a dot.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let has_dot_at_end = part.starts_with('.') || part.ends_with('.');
        !part.is_empty() && !has_dot_at_end && part.chars().all(is_allowed)
    };
    path.len() <= MAX_PATH_BYTES
        && path.split('/').count() <= MAX_PARTS
        && path.split('/').all(is_plain)
}

/// Puts a complete folder into the place of damaged files, if there are any.
fn replace(new: &Path, target: &Path) -> io::Result<()> {
    delete_folder(target)?;
    fs::rename(new, target)
}

/// Deletes a folder, if it exists.
pub(super) fn delete_folder(folder: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_dir_all(folder))
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

    struct Fixture {
        root: tempfile::TempDir,
        folders: VersionFolders,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            let folders = VersionFolders::new(root.path().join("versions"));
            Self { root, folders }
        }

        /// Writes a version with this script and returns its hash.
        fn write(&self, name: &str, script: &str) -> Result<String, VersionFolderError> {
            let content = Some(script.as_bytes().to_vec());
            let files = ToolFolder::default().with_changes([("lib/tool.js".to_owned(), content)]);
            let files = files.expect("small files");
            self.folders.write(&name.parse().expect("a name"), &files).map(|()| files.hash())
        }

        fn has(&self, name: &str, hash: &str) -> bool {
            self.folders.read(&name.parse().expect("a name"), hash).is_some()
        }
    }

    #[test]
    fn written_version_is_read_by_its_hash() {
        let fixture = Fixture::new();
        let (one, two) = (fixture.write("dice", "1").expect("1"), fixture.write("dice", "2"));
        let two = two.expect("2");
        assert!(fixture.has("dice", &one) && fixture.has("dice", &two));
        assert!(!fixture.has("other", &one) && !fixture.has("dice", "00"));
        let folder = fixture.folders.folder(&"dice".parse().expect("a name"), &one);
        fs::write(folder.join("lib/tool.js"), "changed").expect("a file");
        assert!(!fixture.has("dice", &one));
        fixture.write("dice", "1").expect("repaired");
        assert!(fixture.has("dice", &one));
    }

    #[test]
    fn version_that_cannot_be_written_leaves_nothing() {
        let fixture = Fixture::new();
        let paths = ["a", "a/b"].map(|path| (path.to_owned(), Some(Vec::new())));
        let files = ToolFolder::default().with_changes(paths).expect("small files");
        let name = "dice".parse().expect("a name");
        let refused = fixture.folders.write(&name, &files);
        assert!(matches!(refused, Err(VersionFolderError::Io(..))), "{refused:?}");
        let versions = fixture.root.path().join("versions/dice");
        assert_eq!(fs::read_dir(versions).expect("a folder").count(), 0);
    }

    #[test]
    fn pruned_versions_are_gone() {
        let fixture = Fixture::new();
        let name = "dice".parse().expect("a name");
        let one = fixture.write("dice", "1").expect("1");
        let two = fixture.write("dice", "2").expect("2");
        fixture.folders.prune(&name, std::slice::from_ref(&two)).expect("pruned");
        assert!(!fixture.has("dice", &one) && fixture.has("dice", &two));
        fixture.folders.prune(&name, &[]).expect("pruned");
        assert!(!fixture.root.path().join("versions/dice").exists());
    }

    #[test]
    fn path_outside_of_a_tool_is_refused() {
        for path in ["../a", "/a", "a//b", ".git/config", "a/./b", "C:\\a", "a.", "a b", ""] {
            let files = BTreeMap::from([(path.to_owned(), Some(String::new()))]);
            let refused = check_changes(&files);
            assert!(matches!(refused, Err(VersionFolderError::Path(_))), "{path}: {refused:?}");
        }
        let files = BTreeMap::from([("lib/time-2.js".to_owned(), None)]);
        assert!(check_changes(&files).is_ok());
    }

    #[test]
    fn number_of_names_is_bounded() {
        let fixture = Fixture::new();
        for number in 0..MAX_NAMES {
            fixture.write(&format!("tool-{number}"), "1").expect("a version");
        }
        let check = |name: &str| fixture.folders.check_name(&name.parse().expect("a name"));
        assert!(matches!(check("one-more"), Err(VersionFolderError::TooMany)));
        assert!(check("tool-0").is_ok());
    }
}
