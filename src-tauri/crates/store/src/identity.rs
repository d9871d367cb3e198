//! Which file the store has open, and whether it still is the one at its path.
//!
//! Somebody who deletes or replaces the file of a running engine takes only its name away: on Unix SQLite goes on writing,
//! and everything since would be gone with the process ("How To Corrupt An SQLite Database File", 2.4). So nothing is
//! written, and no slot fires, while the name stands for another file; when the same file is put back, all goes on. One
//! could get it wrong by asking for the name alone: a backup that was copied over it is another file.

use std::path::{Path, PathBuf};

/// A file by its name and by what the name stood for.
#[derive(Debug)]
pub(crate) struct Identity {
    path: PathBuf,
    file: Option<FileNumber>,
}

/// A device and a file on it.
type FileNumber = (u64, u64);

impl Identity {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: number(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_still_there(&self) -> bool {
        number(&self.path) == self.file
    }
}

#[cfg(unix)]
fn number(path: &Path) -> Option<FileNumber> {
    use std::os::unix::fs::MetadataExt as _;
    // silent-ok: a file that cannot be asked for is not the one that was opened.
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Windows lets nobody delete or replace an open file.
#[cfg(not(unix))]
const fn number(_: &Path) -> Option<FileNumber> {
    None
}
