//! The files of a package: their hashes and their sizes on the disk.
//!
//! Owns the walk through a folder. Links are not followed; the record of a link is the hash of its target's path. Pitfall:
//! a name that the list cannot hold, such as one with a line break; such a file is refused.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rouse_core::extension::package::{FileList, PackageSize};
use rouse_core::text::escape_line;
use rouse_core::text::hex_digits;
use sha2::{Digest as _, Sha256};

/// The maximum number of files.
const MAX_FILES: usize = 50_000;
/// The maximum bytes of all files.
const MAX_BYTES: u64 = 1 << 30;

/// Size and time of the files by path: the fast comparison.
pub(super) type FileStamps = BTreeMap<String, FileStamp>;

/// Size and time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The files of a folder with their hashes.
#[derive(Debug)]
pub(super) struct HashedFiles {
    pub(super) list: FileList,
    pub(super) size: PackageSize,
    /// Read before the hashes, so that a later change has another stamp.
    pub(super) stamps: FileStamps,
}

/// A file of a walk.
struct WalkedFile {
    path: PathBuf,
    is_link: bool,
    stamp: FileStamp,
}

/// Hashes all files of `folder`.
///
/// # Errors
/// A file cannot be read or listed: cause and remedy as sentences.
pub(super) fn hash_files(folder: &Path) -> Result<HashedFiles, String> {
    let walked = walk(folder)?;
    let mut list = FileList::default();
    let mut bytes = 0;
    for (name, file) in &walked {
        let unreadable = |error: std::io::Error| unreadable(&file.path, &error);
        let hash = if file.is_link {
            let target = std::fs::read_link(&file.path).map_err(unreadable)?;
            let target = target.to_str().ok_or_else(|| odd_name(&file.path))?;
            hex_digits(&Sha256::digest(format!("link {target}").as_bytes()))
        } else {
            bytes += file.stamp.bytes;
            let mut content = std::fs::File::open(&file.path).map_err(unreadable)?;
            hash_of(&mut content).map_err(unreadable)?
        };
        list.insert(name.clone(), hash);
    }
    let files = u32::try_from(walked.len()).unwrap_or(u32::MAX);
    let stamps = walked.into_iter().map(|(name, file)| (name, file.stamp)).collect();
    Ok(HashedFiles { list, size: PackageSize { files, bytes }, stamps })
}

/// Sizes and times of all files of `folder`.
///
/// # Errors
/// A file cannot be listed: cause and remedy as sentences.
pub(super) fn stamp_files(folder: &Path) -> Result<FileStamps, String> {
    let walked = walk(folder)?.into_iter();
    Ok(walked.map(|(name, file)| (name, file.stamp)).collect())
}

/// The SHA-256 of a stream.
pub(super) fn hash_of(content: &mut impl Read) -> std::io::Result<String> {
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(hex_digits(&digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// All files and links below `folder`, by their path with `/`.
fn walk(folder: &Path) -> Result<BTreeMap<String, WalkedFile>, String> {
    let mut found = BTreeMap::new();
    let (mut open, mut bytes) = (vec![(folder.to_owned(), String::new())], 0_u64);
    while let Some((path, prefix)) = open.pop() {
        let entries = std::fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&path, &error))?;
            let path = entry.path();
            let name = entry.file_name().into_string().map_err(|_| odd_name(&path))?;
            if name.chars().any(char::is_control) {
                return Err(odd_name(&path));
            }
            let name = format!("{prefix}{name}");
            let metadata = entry.metadata().map_err(|error| unreadable(&path, &error))?;
            if metadata.is_dir() {
                open.push((path, format!("{name}/")));
                continue;
            }
            let file = walked_file(path, &metadata)?;
            bytes += file.stamp.bytes;
            found.insert(name, file);
            if found.len() > MAX_FILES || bytes > MAX_BYTES {
                return Err(format!(
                    "{} has more than {MAX_FILES} files or {} MB. Choose a smaller package or folder.",
                    folder.display(),
                    MAX_BYTES >> 20
                ));
            }
        }
    }
    Ok(found)
}

fn walked_file(path: PathBuf, metadata: &Metadata) -> Result<WalkedFile, String> {
    let is_link = metadata.is_symlink();
    if !is_link && !metadata.is_file() {
        let shown = escape_line(&path.display().to_string());
        return Err(format!("{shown} is neither a file nor a folder. Remove it."));
    }
    // silent-ok: some file systems have no time; the daily hash then finds a change.
    let stamp = FileStamp { bytes: metadata.len(), modified: metadata.modified().ok() };
    Ok(WalkedFile { path, is_link, stamp })
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    let path = escape_line(&path.display().to_string());
    format!("{path} cannot be read: {error}. Check its permissions.")
}

fn odd_name(path: &Path) -> String {
    let path = escape_line(&path.display().to_string());
    format!("The name {path} is not plain text. Rename the file.")
}
