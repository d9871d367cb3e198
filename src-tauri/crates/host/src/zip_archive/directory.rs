//! The entries of a zip archive.
//!
//! Owns the bounds: size, number of entries, unpacked bytes and their ratio to the packed bytes. The crate `zip` reads the
//! format; here stands what of it Rouse accepts. Never reads the content of an entry. Pitfall: entries that share their
//! content; all packed bytes together must fit into the archive.

use std::io::{Read, Seek, SeekFrom};

use rouse_core::text::escape_line;
use zip::CompressionMethod;
use zip::read::{ArchiveOffset, Config, OwnedZipFileEntry, ZipFileEntry};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;

use super::error::ArchiveError;
use super::paths::EntryPaths;

/// The maximum number of entries.
const MAX_ENTRIES: usize = 20_000;
/// The maximum ratio of unpacked to packed bytes of a large entry.
const MAX_RATIO: u64 = 200;
/// The bytes from which the ratio counts.
const RATIO_FROM: u64 = 1 << 20;

/// The kind of a file in a Unix mode, and its values.
const KIND_MASK: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;

/// An accepted entry.
pub(super) struct ArchiveEntry {
    /// The path, without `/` at its end.
    pub(super) path: String,
    pub(super) is_folder: bool,
    pub(super) is_program: bool,
    pub(super) bytes: u64,
    pub(super) packed_bytes: u64,
    /// The entry for the crate.
    pub(super) data: OwnedZipFileEntry,
}

/// Reads all entries, and checks the bounds and that both headers of each entry agree.
pub(super) fn read_directory(
    content: &mut (impl Read + Seek),
    max_bytes: u64,
) -> Result<Vec<ArchiveEntry>, ArchiveError> {
    let length = content.seek(SeekFrom::End(0))?;
    if length > max_bytes {
        return Err(ArchiveError::Bound(format!("has more than {} MB", max_bytes >> 20)));
    }
    // An archive behind other data is refused: another reader could see another archive.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let archive = ZipIterable::try_new(content, config).map_err(unreadable)?;
    if archive.len() > MAX_ENTRIES {
        return Err(ArchiveError::Bound(format!("has more than {MAX_ENTRIES} entries")));
    }
    let mut archive = archive.enforce_header_consistency(true);
    let (mut entries, mut paths) = (Vec::with_capacity(archive.len()), EntryPaths::default());
    let (mut packed_bytes, mut bytes) = (0_u64, 0_u64);
    for entry in archive.files().map_err(unreadable)? {
        let entry = accepted_entry(entry.map_err(unreadable)?)?;
        paths.add(&entry.path, entry.is_folder)?;
        packed_bytes = packed_bytes.saturating_add(entry.packed_bytes);
        bytes = bytes.saturating_add(entry.bytes);
        if bytes > max_bytes {
            let limit = max_bytes >> 20;
            return Err(ArchiveError::Bound(format!("has more than {limit} MB of unpacked files")));
        }
        check_ratio(&entry)?;
        entries.push(entry);
    }
    if packed_bytes > length {
        return Err(ArchiveError::Format("its entries overlap".to_owned()));
    }
    Ok(entries)
}

/// Checks the ratio of an entry.
fn check_ratio(entry: &ArchiveEntry) -> Result<(), ArchiveError> {
    if entry.bytes > RATIO_FROM && entry.bytes / MAX_RATIO > entry.packed_bytes {
        let path = escape_line(&entry.path);
        return Err(ArchiveError::Bound(format!("packs {path} more than {MAX_RATIO} times")));
    }
    Ok(())
}

/// Refuses an entry of a kind that Rouse does not unpack.
fn accepted_entry(entry: ZipFileEntry<'static>) -> Result<ArchiveEntry, ArchiveError> {
    let name = std::str::from_utf8(entry.name_raw())
        .map_err(|_| ArchiveError::Format("a name is not in UTF-8".to_owned()))?;
    let refuse = |reason| {
        let path = escape_line(name);
        Err(ArchiveError::Entry { path, reason })
    };
    let mode = entry.unix_mode().unwrap_or_default();
    let is_folder = name.ends_with('/');
    match mode & KIND_MASK {
        0 => {}
        KIND_FOLDER if is_folder => {}
        KIND_FILE if !is_folder => {}
        _ => return refuse("is a link or a special file"),
    }
    if entry.encrypted() {
        return refuse("is encrypted");
    }
    if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        return refuse("is packed in a form that Rouse does not read");
    }
    if is_folder && entry.size() != 0 {
        return refuse("is a folder with content");
    }
    Ok(ArchiveEntry {
        path: name.strip_suffix('/').unwrap_or(name).to_owned(),
        is_folder,
        is_program: mode & 0o111 != 0 && !is_folder,
        bytes: entry.size(),
        packed_bytes: entry.compressed_size(),
        data: entry.into(),
    })
}

/// The error of a directory that cannot be read.
fn unreadable(error: ZipError) -> ArchiveError {
    match error {
        ZipError::Io(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            ArchiveError::Io(error)
        }
        // The sentence of the crate may quote a name of the archive.
        error => ArchiveError::Format(escape_line(&error.to_string())),
    }
}
