//! Zip archives from other authors: the entries with their bounds, and the unpacking.
//!
//! Serves bundles of MCP servers and skills. Owns a strict subset of the format: one file, no encryption, stored or deflated entries whose two headers agree. The
//! crate `zip` reads and checks the content; its own unpacking is not used, because that one follows links. Never follows
//! or creates a link. Pitfall: content that is shorter than its declared size; the crate accepts it, so Rouse compares.

mod directory;
mod error;
mod paths;
#[cfg(test)]
pub(crate) mod built;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write, copy};
use std::path::Path;

use rouse_core::extension::package::PackageSize;
use rouse_core::text::escape_line;
use zip::ZipReadOptions;
use zip::result::ZipError;

use self::directory::{ArchiveEntry, read_directory};
pub(crate) use self::error::ArchiveError;

/// An archive whose directory is within the bounds.
pub(crate) struct BoundedArchive<R> {
    content: R,
    entries: Vec<ArchiveEntry>,
}

impl<R: Read + Seek> BoundedArchive<R> {
    /// Reads and checks the directory. `max_bytes` bounds the archive, and its unpacked files together.
    pub(crate) fn open(mut content: R, max_bytes: u64) -> Result<Self, ArchiveError> {
        let entries = read_directory(&mut content, max_bytes)?;
        Ok(Self { content, entries })
    }

    /// The number of files and their unpacked bytes.
    pub(crate) fn size(&self) -> PackageSize {
        let files = self.entries.iter().filter(|entry| !entry.is_folder);
        let bytes = files.clone().map(|entry| entry.bytes).sum();
        PackageSize { files: u32::try_from(files.count()).unwrap_or(u32::MAX), bytes }
    }

    /// The text of the file `path`, at most `limit` bytes.
    pub(crate) fn read_text(&mut self, path: &str, limit: u64) -> Result<String, ArchiveError> {
        let entry = self.entries.iter().find(|entry| entry.path == path && !entry.is_folder);
        let entry = entry.ok_or_else(|| ArchiveError::Missing(path.to_owned()))?;
        if entry.bytes > limit {
            return Err(ArchiveError::TooLarge(path.to_owned()));
        }
        let mut text = Vec::new();
        copy_entry(&mut self.content, entry, &mut text)?;
        String::from_utf8(text).map_err(|_| ArchiveError::NotText(path.to_owned()))
    }

    /// The content of all files by path, without unpacking.
    pub(crate) fn read_files(&mut self) -> Result<BTreeMap<String, Vec<u8>>, ArchiveError> {
        let mut files = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| !entry.is_folder) {
            let mut content = Vec::new();
            copy_entry(&mut self.content, entry, &mut content)?;
            files.insert(entry.path.clone(), content);
        }
        Ok(files)
    }

    /// Unpacks all files into the empty folder `folder`.
    pub(crate) fn unpack(&mut self, folder: &Path) -> Result<(), ArchiveError> {
        for entry in &self.entries {
            let path = folder.join(&entry.path);
            if entry.is_folder {
                std::fs::create_dir_all(&path)?;
                continue;
            }
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut file = create_file(&path, entry.is_program)?;
            copy_entry(&mut self.content, entry, &mut file)?;
        }
        Ok(())
    }
}

/// Copies the content of an entry. The crate compares the checksum and refuses content beyond the declared size.
fn copy_entry(
    content: &mut (impl Read + Seek),
    entry: &ArchiveEntry,
    target: &mut impl Write,
) -> Result<(), ArchiveError> {
    let damaged = || ArchiveError::Damaged(escape_line(&entry.path));
    let file = entry.data.as_ref().with_reader(content, ZipReadOptions::new());
    let mut file = file.map_err(|error| match error {
        ZipError::Io(error) => ArchiveError::Io(error),
        _ => damaged(),
    })?;
    let bytes = copy(&mut file, target).map_err(|error| match error.kind() {
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => damaged(),
        _ => ArchiveError::Io(error),
    })?;
    if bytes == entry.bytes { Ok(()) } else { Err(damaged()) }
}

/// Creates a file that does not exist yet.
fn create_file(path: &Path, is_program: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        let mode = if is_program { 0o700 } else { 0o600 };
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    }
    #[cfg(not(unix))]
    let _ = is_program;
    options.open(path)
}
