//! The files of a tool's folder, read once.
//!
//! Owns the bounds, and the hash that is the identity of a version: every file with its path and its bytes. Whoever
//! runs the tool runs the bytes that were hashed. Pitfall: a file that the hash does not cover; links are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rouse_core::extension::package::FileList;
use rouse_core::text::{escape_line, hex_digits};
use sha2::{Digest as _, Sha256};

const MAX_FILES: usize = 200;
const MAX_FOLDERS: usize = 200;
const MAX_BYTES: u64 = 10 << 20;

/// The files of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolFolder {
    files: BTreeMap<String, Vec<u8>>,
}

/// Why the folder of a tool was not read.
#[derive(Debug, thiserror::Error)]
pub enum ToolFolderError {
    /// A file or folder could not be read.
    #[error("{path} could not be read: {source}.")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A link, a device or a pipe.
    #[error("{0} is no plain file. Copy the file itself into the folder.")]
    NotPlain(PathBuf),
    /// A name that is not UTF-8, or has an invisible character.
    #[error("The name of {0:?} is not UTF-8 or has an invisible character. Rename it.")]
    Name(PathBuf),
    /// Too many files.
    #[error("The folder has more than {MAX_FILES} files. Keep sources and builds elsewhere.")]
    TooMany,
    /// Too many bytes.
    #[error("The folder has more than {} MB. Keep sources and builds elsewhere.", MAX_BYTES >> 20)]
    TooLarge,
}

impl ToolFolder {
    /// Reads every file below `folder`.
    ///
    /// # Errors
    /// A file is a link or unreadable, or the folder is too large.
    pub fn read(folder: &Path) -> Result<Self, ToolFolderError> {
        let mut files = BTreeMap::new();
        let (mut waiting, mut folders, mut bytes) = (vec![folder.to_owned()], 0, 0);
        while let Some(path) = waiting.pop() {
            folders += 1;
            for entry in fs::read_dir(&path).map_err(|source| unreadable(&path, source))? {
                let entry = entry.map_err(|source| unreadable(&path, source))?;
                let kind = entry.file_type().map_err(|source| unreadable(&path, source))?;
                if kind.is_dir() {
                    waiting.push(entry.path());
                } else if kind.is_file() {
                    let content = read_file(&entry.path(), MAX_BYTES - bytes)?;
                    bytes += content.len() as u64;
                    files.insert(relative_name(folder, &entry.path())?, content);
                } else {
                    return Err(ToolFolderError::NotPlain(entry.path()));
                }
                if files.len() > MAX_FILES || folders + waiting.len() > MAX_FOLDERS {
                    return Err(ToolFolderError::TooMany);
                }
            }
        }
        Ok(Self { files })
    }

    /// The same folder with changed files: new bytes, or none to delete the file.
    ///
    /// # Errors
    /// There are too many files or bytes then.
    pub fn with_changes(
        mut self,
        changes: impl IntoIterator<Item = (String, Option<Vec<u8>>)>,
    ) -> Result<Self, ToolFolderError> {
        for (path, content) in changes {
            match content {
                Some(content) => drop(self.files.insert(path, content)),
                None => drop(self.files.remove(&path)),
            }
        }
        let bytes: usize = self.files.values().map(Vec::len).sum();
        if self.files.len() > MAX_FILES {
            Err(ToolFolderError::TooMany)
        } else if bytes as u64 > MAX_BYTES {
            Err(ToolFolderError::TooLarge)
        } else {
            Ok(self)
        }
    }

    /// The files: relative paths with `/`, sorted, and their bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// The bytes of the file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Writes the files into `target`.
    ///
    /// # Errors
    /// A folder or a file cannot be written.
    pub fn copy_to(&self, target: &Path) -> io::Result<()> {
        fs::create_dir_all(target)?;
        for (name, content) in self.files() {
            let file = target.join(name);
            fs::create_dir_all(file.parent().expect("BUG: a file has a folder"))?;
            fs::write(&file, content)?;
        }
        Ok(())
    }

    /// The files with their hashes, as `extensions.lock` has them.
    #[must_use]
    pub fn file_list(&self) -> FileList {
        let mut list = FileList::default();
        for (path, content) in self.files() {
            list.insert(path.to_owned(), hex_digits(&Sha256::digest(content)));
        }
        list
    }

    /// The SHA-256 of all paths and bytes, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        self.file_list().sha256()
    }
}

fn unreadable(path: &Path, source: io::Error) -> ToolFolderError {
    ToolFolderError::Io { path: path.to_owned(), source }
}

fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, ToolFolderError> {
    let mut content = Vec::new();
    let file = fs::File::open(path).map_err(|source| unreadable(path, source))?;
    let read = file.take(limit + 1).read_to_end(&mut content);
    read.map_err(|source| unreadable(path, source))?;
    if content.len() as u64 > limit {
        return Err(ToolFolderError::TooLarge);
    }
    Ok(content)
}

fn relative_name(folder: &Path, path: &Path) -> Result<String, ToolFolderError> {
    let relative = path.strip_prefix(folder).expect("BUG: the path is below the folder");
    let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
    // A line break in a name would change the list of files.
    let name = parts.map(|parts| parts.join("/"));
    let name = name.filter(|name| escape_line(name) == *name);
    name.ok_or_else(|| ToolFolderError::Name(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        folder
    }

    fn hash(files: &[(&str, &str)]) -> String {
        ToolFolder::read(folder(files).path()).expect("files").hash()
    }

    #[test]
    fn hash_covers_every_path_and_byte() {
        let original = hash(&[("a", "1"), ("b/c", "2")]);
        assert_eq!(hash(&[("b/c", "2"), ("a", "1")]), original);
        for other in [
            &[("a", "1"), ("b/c", "3")][..],
            &[("a", "1"), ("b/d", "2")],
            &[("a", "1"), ("b/c", "2"), ("e", "")],
            &[("a", "12"), ("b/c", "")],
            &[("a1", ""), ("b/c", "2")],
        ] {
            assert_ne!(hash(other), original, "{other:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_in_the_folder_is_refused() {
        let outside = folder(&[("key", "secret")]);
        for target in [outside.path().join("key"), outside.path().to_owned()] {
            let folder = folder(&[("a", "1")]);
            std::os::unix::fs::symlink(target, folder.path().join("b")).expect("a link");
            let read = ToolFolder::read(folder.path());
            assert!(matches!(read, Err(ToolFolderError::NotPlain(_))));
        }
    }

    #[cfg(unix)]
    #[test]
    fn name_with_a_line_break_is_refused() {
        let read = ToolFolder::read(folder(&[("a 00\nb", "1")]).path());
        assert!(matches!(read, Err(ToolFolderError::Name(_))));
    }

    #[test]
    fn large_folder_is_refused() {
        let content = "x".repeat((MAX_BYTES / 2) as usize);
        let large = folder(&[("a", &content), ("b", &content)]);
        assert!(ToolFolder::read(large.path()).is_ok());
        fs::write(large.path().join("c"), "x").expect("a file");
        assert!(matches!(ToolFolder::read(large.path()), Err(ToolFolderError::TooLarge)));
        let many = folder(&[]);
        for number in 0..=MAX_FILES {
            fs::write(many.path().join(number.to_string()), "").expect("a file");
        }
        assert!(matches!(ToolFolder::read(many.path()), Err(ToolFolderError::TooMany)));
    }
}
