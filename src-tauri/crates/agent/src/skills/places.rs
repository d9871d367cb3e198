//! The places of skill folders.
//!
//! Owns the names of the folders in a place. Never reads a skill. Pitfall: a symlink is listed like a folder, and refused
//! when it is read.

use std::fs;
use std::io;
use std::path::Path;

/// The subfolder of installed skills.
pub(super) const INSTALLED: &str = "installed";

/// The most subfolders of a folder.
pub(super) const MAX_FOLDERS: usize = 200;

/// The names of the skill folders in `folder`; none without the folder.
pub(super) fn folder_names(folder: &Path) -> Vec<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, folder = %folder.display(), "skills cannot be listed");
            }
            return Vec::new();
        }
    };
    // Files are not skills. Symlinks are listed with an error.
    let is_skill_folder = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
            && !entry.file_name().to_string_lossy().starts_with('.')
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(is_skill_folder)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.truncate(MAX_FOLDERS);
    names
}

/// Whether anything has this path.
pub(super) fn exists(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok()
}
