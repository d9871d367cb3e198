//! The central directory of a zip archive.
//!
//! Owns the bounds: size, number of files, unpacked bytes and their ratio to the packed bytes. Never reads the content
//! of an entry. Pitfall: entries that share their content; all packed bytes together must fit into the archive.

use std::io::{Read, Seek, SeekFrom};

use rouse_core::text::escape_line;

use super::MAX_BYTES;
use super::error::ArchiveError;
use super::paths::EntryPaths;

/// The maximum number of entries.
const MAX_ENTRIES: usize = 20_000;
/// The maximum ratio of unpacked to packed bytes of a large entry.
const MAX_RATIO: u64 = 200;
/// The bytes from which the ratio counts.
const RATIO_FROM: u64 = 1 << 20;

/// The signature of the directory's end.
const END: u32 = 0x0605_4b50;
/// The bytes of the directory's end without its comment.
const END_BYTES: usize = 22;
/// The maximum bytes of the comment.
const MAX_COMMENT: usize = 0xffff;
/// The signature of an entry of the directory.
const ENTRY: u32 = 0x0201_4b50;
/// The bytes of an entry without its name.
const ENTRY_BYTES: usize = 46;

/// The flag of an encrypted entry.
const ENCRYPTED: u16 = 1;
/// The kind of a file in a Unix mode, and its values.
const KIND_MASK: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;
/// The system of an entry with a Unix mode.
const UNIX: u16 = 3;

/// How the content of an entry is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Stored,
    Deflated,
}

/// An entry of the directory.
#[derive(Debug, Clone)]
pub(super) struct ArchiveEntry {
    /// The path, without `/` at its end.
    pub(super) path: String,
    /// The path as written.
    pub(super) raw_name: Vec<u8>,
    pub(super) is_folder: bool,
    pub(super) is_program: bool,
    pub(super) packing: Packing,
    pub(super) crc: u32,
    pub(super) packed_bytes: u64,
    pub(super) bytes: u64,
    /// The place of the local header.
    pub(super) offset: u64,
}

/// The end of the directory.
struct DirectoryEnd {
    entries: usize,
    bytes: usize,
    offset: u64,
}

/// Reads all entries and checks the bounds.
pub(super) fn read_directory(
    content: &mut (impl Read + Seek),
) -> Result<Vec<ArchiveEntry>, ArchiveError> {
    let length = content.seek(SeekFrom::End(0))?;
    if length > MAX_BYTES {
        return Err(ArchiveError::Bound(format!("has more than {} MB", MAX_BYTES >> 20)));
    }
    let end = read_end(content, length)?;
    if end.entries > MAX_ENTRIES {
        return Err(ArchiveError::Bound(format!("has more than {MAX_ENTRIES} entries")));
    }
    content.seek(SeekFrom::Start(end.offset))?;
    let mut directory = vec![0; end.bytes];
    content.read_exact(&mut directory)?;
    let mut rest = directory.as_slice();
    let (mut entries, mut paths) = (Vec::with_capacity(end.entries), EntryPaths::default());
    let (mut packed_bytes, mut bytes) = (0_u64, 0_u64);
    for _ in 0..end.entries {
        let (entry, length) = read_entry(rest)?;
        rest = rest.get(length..).ok_or(ArchiveError::Format("its directory is cut"))?;
        paths.add(&entry.path, entry.is_folder)?;
        packed_bytes += entry.packed_bytes;
        bytes += entry.bytes;
        check_bounds(&entry, bytes)?;
        entries.push(entry);
    }
    if packed_bytes > end.offset || entries.iter().any(|entry| entry.offset >= end.offset) {
        return Err(ArchiveError::Format("its entries overlap"));
    }
    Ok(entries)
}

/// Checks an entry; `bytes` are the unpacked bytes so far.
fn check_bounds(entry: &ArchiveEntry, bytes: u64) -> Result<(), ArchiveError> {
    if bytes > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        return Err(ArchiveError::Bound(format!("has more than {limit} MB of unpacked files")));
    }
    if entry.bytes > RATIO_FROM && entry.bytes / MAX_RATIO > entry.packed_bytes {
        let path = escape_line(&entry.path);
        return Err(ArchiveError::Bound(format!("packs {path} more than {MAX_RATIO} times")));
    }
    Ok(())
}

/// Finds the end of the directory: the last one whose comment ends with the file.
fn read_end(content: &mut (impl Read + Seek), length: u64) -> Result<DirectoryEnd, ArchiveError> {
    let tail_bytes = length.min((END_BYTES + MAX_COMMENT) as u64);
    content.seek(SeekFrom::Start(length - tail_bytes))?;
    let mut tail = Vec::new();
    content.take(tail_bytes).read_to_end(&mut tail)?;
    let starts = (0..=tail.len().saturating_sub(END_BYTES)).rev();
    let is_end = |at: &usize| {
        let Some(end) = tail.get(*at..*at + END_BYTES) else { return false };
        u32_at(end, 0) == END && *at + END_BYTES + usize::from(u16_at(end, 20)) == tail.len()
    };
    let at = starts.into_iter().find(is_end).ok_or(ArchiveError::Format("it has no directory"))?;
    let end = &tail[at..at + END_BYTES];
    let (entries, bytes, offset) = (u16_at(end, 10), u32_at(end, 12), u32_at(end, 16));
    if u16_at(end, 4) != 0 || u16_at(end, 6) != 0 || u16_at(end, 8) != entries {
        return Err(ArchiveError::Format("it is a part of several files"));
    }
    if entries == u16::MAX || bytes == u32::MAX || offset == u32::MAX {
        return Err(ArchiveError::Format("it is in the format Zip64"));
    }
    let end_at = length - tail_bytes + at as u64;
    if u64::from(offset) + u64::from(bytes) != end_at {
        return Err(ArchiveError::Format("its directory is in another place"));
    }
    Ok(DirectoryEnd { entries: entries.into(), bytes: bytes as usize, offset: offset.into() })
}

/// The entry at the beginning of `rest`, and its length.
fn read_entry(rest: &[u8]) -> Result<(ArchiveEntry, usize), ArchiveError> {
    let cut = || ArchiveError::Format("its directory is cut");
    let head = rest.get(..ENTRY_BYTES).ok_or_else(cut)?;
    if u32_at(head, 0) != ENTRY {
        return Err(ArchiveError::Format("its directory is damaged"));
    }
    let name_bytes = usize::from(u16_at(head, 28));
    let tail_bytes = usize::from(u16_at(head, 30)) + usize::from(u16_at(head, 32));
    let raw_name = rest.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes).ok_or_else(cut)?;
    let name = std::str::from_utf8(raw_name)
        .map_err(|_| ArchiveError::Format("a name is not in UTF-8"))?;
    let refuse = |reason| {
        let path = escape_line(name);
        Err(ArchiveError::Entry { path, reason })
    };
    let is_unix = u16_at(head, 4) >> 8 == UNIX;
    let mode = if is_unix { u32_at(head, 38) >> 16 } else { 0 };
    let is_folder = name.ends_with('/');
    match mode & KIND_MASK {
        0 => {}
        KIND_FOLDER if is_folder => {}
        KIND_FILE if !is_folder => {}
        _ => return refuse("is a link or a special file"),
    }
    if u16_at(head, 8) & ENCRYPTED != 0 {
        return refuse("is encrypted");
    }
    let packing = match u16_at(head, 10) {
        0 => Packing::Stored,
        8 => Packing::Deflated,
        _ => return refuse("is packed in a form that Rouse does not read"),
    };
    let (packed_bytes, bytes) = (u32_at(head, 20), u32_at(head, 24));
    if packed_bytes == u32::MAX || bytes == u32::MAX || u32_at(head, 42) == u32::MAX {
        return Err(ArchiveError::Format("it is in the format Zip64"));
    }
    if is_folder && bytes != 0 {
        return refuse("is a folder with content");
    }
    let entry = ArchiveEntry {
        path: name.strip_suffix('/').unwrap_or(name).to_owned(),
        raw_name: raw_name.to_vec(),
        is_folder,
        is_program: mode & 0o111 != 0 && !is_folder,
        packing,
        crc: u32_at(head, 16),
        packed_bytes: packed_bytes.into(),
        bytes: bytes.into(),
        offset: u32_at(head, 42).into(),
    };
    Ok((entry, ENTRY_BYTES + name_bytes + tail_bytes))
}

/// The number at `at`; the caller has checked the length.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The number at `at`; the caller has checked the length.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
