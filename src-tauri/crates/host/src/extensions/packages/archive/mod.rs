//! Zip archives of bundles: the directory with its bounds, and the unpacking.
//!
//! Owns a strict subset of the format: one file, no encryption, no Zip64, stored or deflated entries. The central
//! directory decides; a local header with another name is refused. Never follows or creates a link. Pitfall: a declared
//! size that is smaller than the content; each entry ends at its declared size and is compared with its checksum.

mod directory;
mod error;
mod paths;
#[cfg(test)]
pub(super) mod built;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, copy, sink};
use std::path::Path;

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use rouse_core::extension::package::PackageSize;

use self::directory::{ArchiveEntry, Packing, read_directory};
pub(super) use self::error::ArchiveError;

/// The maximum bytes of an archive, and of its unpacked files.
pub(super) const MAX_BYTES: u64 = 200 << 20;
/// The signature of a local header.
const LOCAL_HEADER: u32 = 0x0403_4b50;
/// The bytes of a local header without its name.
const LOCAL_HEADER_BYTES: usize = 30;

/// An archive whose directory is within the bounds.
pub(super) struct BundleArchive<R> {
    content: R,
    entries: Vec<ArchiveEntry>,
}

impl<R: Read + Seek> BundleArchive<R> {
    /// Reads and checks the directory.
    pub(super) fn open(mut content: R) -> Result<Self, ArchiveError> {
        let entries = read_directory(&mut content)?;
        Ok(Self { content, entries })
    }

    /// The number of files and their unpacked bytes.
    pub(super) fn size(&self) -> PackageSize {
        let files = self.entries.iter().filter(|entry| !entry.is_folder);
        let bytes = files.clone().map(|entry| entry.bytes).sum();
        PackageSize { files: u32::try_from(files.count()).unwrap_or(u32::MAX), bytes }
    }

    /// The text of the file `path`, at most `limit` bytes.
    pub(super) fn read_text(&mut self, path: &str, limit: u64) -> Result<String, ArchiveError> {
        let entry = self.entries.iter().find(|entry| entry.path == path && !entry.is_folder);
        let entry = entry.cloned().ok_or_else(|| ArchiveError::Missing(path.to_owned()))?;
        if entry.bytes > limit {
            return Err(ArchiveError::TooLarge(entry.path));
        }
        let mut text = Vec::new();
        self.copy_entry(&entry, &mut text)?;
        String::from_utf8(text).map_err(|_| ArchiveError::NotText(entry.path))
    }

    /// Unpacks all files into the empty folder `folder`.
    pub(super) fn unpack(&mut self, folder: &Path) -> Result<(), ArchiveError> {
        for entry in self.entries.clone() {
            let path = folder.join(&entry.path);
            if entry.is_folder {
                std::fs::create_dir_all(&path)?;
                continue;
            }
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut file = create_file(&path, entry.is_program)?;
            self.copy_entry(&entry, &mut file)?;
        }
        Ok(())
    }

    /// Copies the content of an entry and compares its size and checksum.
    fn copy_entry(
        &mut self,
        entry: &ArchiveEntry,
        target: &mut impl std::io::Write,
    ) -> Result<(), ArchiveError> {
        self.seek_content(entry)?;
        let packed = (&mut self.content).take(entry.packed_bytes);
        let (bytes, sum) = match entry.packing {
            Packing::Stored => copy_checked(packed, entry.bytes, target)?,
            Packing::Deflated => copy_checked(DeflateDecoder::new(packed), entry.bytes, target)?,
        };
        if bytes != entry.bytes || sum != entry.crc {
            return Err(ArchiveError::Damaged(entry.path.clone()));
        }
        Ok(())
    }

    /// Moves to the content of an entry, after its local header.
    fn seek_content(&mut self, entry: &ArchiveEntry) -> Result<(), ArchiveError> {
        let damaged = || ArchiveError::Damaged(entry.path.clone());
        self.content.seek(SeekFrom::Start(entry.offset))?;
        let mut header = [0; LOCAL_HEADER_BYTES];
        self.content.read_exact(&mut header).map_err(|_| damaged())?;
        let signature = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let name_bytes = u16::from_le_bytes([header[26], header[27]]);
        let extra_bytes = u16::from_le_bytes([header[28], header[29]]);
        let mut name = vec![0; name_bytes.into()];
        self.content.read_exact(&mut name).map_err(|_| damaged())?;
        if signature != LOCAL_HEADER || name != entry.raw_name {
            return Err(damaged());
        }
        self.content.seek(SeekFrom::Current(extra_bytes.into()))?;
        Ok(())
    }
}

/// Copies at most `limit` bytes and one more, which shows a wrong size. Returns the bytes and their checksum.
fn copy_checked(
    content: impl Read,
    limit: u64,
    target: &mut impl std::io::Write,
) -> Result<(u64, u32), ArchiveError> {
    let mut content = CrcReader::new(content);
    let bytes = copy(&mut (&mut content).take(limit), target)?;
    let sum = content.crc().sum();
    let more = copy(&mut (&mut content).take(1), &mut sink())?;
    Ok((bytes + more, sum))
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
