//! The folders of an installation: new files, and the replaced skill until the end.
//!
//! Owns `skills/installed/.install`, which is no name of a skill, and the swap. A crash leaves the old or new skill:
//! `recover` brings a moved skill back where the new one is missing. Pitfall: staging on another disk; a rename would
//! not be atomic.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::places::exists;

/// The folder of an installation under way.
const STAGING: &str = ".install";

/// The folders of an installation below the folder of installed skills.
pub(super) struct SkillStaging {
    installed: PathBuf,
}

impl SkillStaging {
    pub(super) const fn new(installed: PathBuf) -> Self {
        Self { installed }
    }

    /// Restores a skill of an interrupted installation, and deletes the staging folder.
    pub(super) fn recover(&self) -> io::Result<()> {
        for name in names_in(&self.folder().join("old"))? {
            let target = self.installed.join(&name);
            if !exists(&target) {
                fs::rename(self.old(&name), target)?;
            }
        }
        delete_folder(&self.folder())
    }

    /// Writes the files of a new skill. Deletes what an earlier installation left.
    pub(super) fn write(&self, files: &BTreeMap<String, Vec<u8>>) -> io::Result<PathBuf> {
        self.recover()?;
        let new = self.folder().join("new");
        create_private_folder(&new)?;
        for (path, bytes) in files {
            let path = new.join(path);
            if let Some(parent) = path.parent() {
                create_private_folder(parent)?;
            }
            write_private_file(&path, bytes)?;
        }
        Ok(new)
    }

    /// Moves the written skill to its place. The replaced skill stays until `recover`.
    pub(super) fn swap(&self, new: &Path, name: &str) -> io::Result<()> {
        let (folder, old) = (self.installed.join(name), self.old(name));
        create_private_folder(&self.folder().join("old"))?;
        if let Err(error) = fs::rename(&folder, old)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        fs::rename(new, folder)
    }

    /// Brings the replaced skill back.
    pub(super) fn undo_swap(&self, name: &str) -> io::Result<()> {
        delete_folder(&self.installed.join(name))?;
        self.recover()
    }

    /// Deletes an installed skill. False without one.
    pub(super) fn delete(&self, name: &str) -> io::Result<bool> {
        self.recover()?;
        if !names_in(&self.installed)?.iter().any(|known| known == name) {
            return Ok(false);
        }
        let removed = self.folder().join("removed");
        create_private_folder(&self.folder())?;
        fs::rename(self.installed.join(name), removed)?;
        delete_folder(&self.folder())?;
        Ok(true)
    }

    fn folder(&self) -> PathBuf {
        self.installed.join(STAGING)
    }

    fn old(&self, name: &str) -> PathBuf {
        self.folder().join("old").join(name)
    }
}

/// The names in a folder; none without the folder.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    // A name that is not UTF-8 is no name of a skill.
    let names = entries.filter_map(|entry| match entry {
        Ok(entry) => entry.file_name().into_string().ok().map(Ok),
        Err(error) => Some(Err(error)),
    });
    names.collect()
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}

fn delete_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
