//! Opening beneath a folder, on Windows. `workspace` states the rules. Preview: never run on Windows.
//!
//! Every folder on the way, and the file itself, is opened without `FILE_SHARE_DELETE` and kept open while the next component is
//! opened by name, so that none can be replaced by a link. Paths are verbatim (`\\?\`), so that `CON`, trailing dots and the like
//! have no special meaning.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rouse_core::UnixMs;

use super::entry::{EntryKind, FileVersion, FolderEntry, TargetState};
use super::path::RelativePath;

/// The folder's verbatim path, and the handles that keep the folder in place.
pub(super) struct RootHandle {
    path: PathBuf,
    _held: Vec<File>,
}

const FILE_SHARE_READ: u32 = 0x1;
const FILE_SHARE_WRITE: u32 = 0x2;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Longest component, in UTF-16 units.
const MAX_NAME_UNITS: usize = 255;

pub(super) fn open_root(path: &Path) -> io::Result<RootHandle> {
    let path = path.canonicalize()?;
    let held = open_held(&path)?;
    if !held.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(RootHandle { path, _held: vec![held] })
}

pub(super) fn open_subfolder(root: &RootHandle, path: &RelativePath) -> io::Result<RootHandle> {
    let HeldPath { path, last, mut parents } = walk(root, path, false)?;
    if !last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    parents.push(last);
    Ok(RootHandle { path, _held: parents })
}

/// Whether a component can be opened as written. A colon would name a stream, and each file system treats overlong names in its own
/// way.
pub(super) fn is_plain(name: &OsStr) -> bool {
    name.encode_wide().count() <= MAX_NAME_UNITS
        && name
            .encode_wide()
            .all(|unit| unit > 31 && !r#"<>:"|?*\/"#.encode_utf16().any(|special| special == unit))
}

pub(super) fn open_file(root: &RootHandle, path: &RelativePath) -> io::Result<File> {
    let held = walk(root, path, false)?;
    if held.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A second handle: the held handle sees the placeholder of a cloud file.
    File::open(&held.path)
}

pub(super) fn list_entries(
    root: &RootHandle,
    path: &RelativePath,
    limit: usize,
) -> io::Result<(Vec<FolderEntry>, bool)> {
    let held = walk(root, path, false)?;
    if !held.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&held.path)? {
        if found.len() == limit {
            return Ok((found, true));
        }
        found.push(describe_entry(&entry?)?);
    }
    Ok((found, false))
}

fn describe_entry(entry: &std::fs::DirEntry) -> io::Result<FolderEntry> {
    // An entry's metadata does not follow links.
    let metadata = entry.metadata()?;
    let (kind, size) = (kind_of(&metadata), metadata.len());
    Ok(FolderEntry { name: entry.file_name(), kind, size, version: version_of(&metadata) })
}

fn version_of(metadata: &std::fs::Metadata) -> FileVersion {
    let written = metadata.last_write_time();
    let modified_at = UnixMs(since_1970_ms(written));
    let stamp = format!("{} {written} {}", metadata.len(), metadata.creation_time());
    FileVersion { modified_at, latest_at: modified_at, stamp }
}

/// Converts the system's time: units of 100 ns since 1601.
fn since_1970_ms(ticks: u64) -> i64 {
    const TO_1970_MS: i64 = 11_644_473_600_000;
    i64::try_from(ticks / 10_000).unwrap_or(i64::MAX).saturating_sub(TO_1970_MS)
}

fn kind_of(metadata: &std::fs::Metadata) -> EntryKind {
    match metadata.file_type() {
        kind if kind.is_symlink() => EntryKind::Link,
        kind if kind.is_dir() => EntryKind::Folder,
        kind if kind.is_file() => EntryKind::File,
        _ => EntryKind::Other,
    }
}

pub(super) fn has_hard_links(file: &File) -> io::Result<bool> {
    Ok(winapi_util::file::information(file)?.number_of_links() > 1)
}

/// A name in a held folder, to be written.
pub(super) struct WriteTarget<'p> {
    path: PathBuf,
    _folder: HeldPath,
    _name: PhantomData<&'p OsStr>,
}

/// Opens the folder of `path`; links on the way are refused.
pub(super) fn open_target<'p>(
    root: &RootHandle,
    path: &'p RelativePath,
) -> io::Result<WriteTarget<'p>> {
    hold_target(root, path, false)
}

/// Like `open_target`; creates missing folders on the way.
pub(super) fn create_target<'p>(
    root: &RootHandle,
    path: &'p RelativePath,
) -> io::Result<WriteTarget<'p>> {
    hold_target(root, path, true)
}

fn hold_target<'p>(
    root: &RootHandle,
    path: &'p RelativePath,
    creates_folders: bool,
) -> io::Result<WriteTarget<'p>> {
    let (parent, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = walk(root, &parent, creates_folders)?;
    if !folder.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(WriteTarget { path: folder.path.join(name), _folder: folder, _name: PhantomData })
}

/// Returns whether the folder is new.
fn create_folder_at(path: &Path) -> io::Result<bool> {
    match std::fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

impl WriteTarget<'_> {
    pub(super) fn state(&self) -> io::Result<Option<TargetState>> {
        let file = match open_held(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        Ok(Some(TargetState {
            kind: kind_of(&metadata),
            has_hard_links: has_hard_links(&file)?,
            is_read_only: metadata.permissions().readonly(),
        }))
    }

    /// Returns whether the folder is new.
    pub(super) fn create_folder(&self) -> io::Result<bool> {
        create_folder_at(&self.path)
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let (temporary, mut file) = self.create_temporary()?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        drop(file);
        let written = written.and_then(|()| std::fs::rename(&temporary, &self.path));
        if written.is_err() {
            drop(std::fs::remove_file(&temporary));
        }
        written
    }

    /// Creates a temporary file in the target's folder.
    fn create_temporary(&self) -> io::Result<(PathBuf, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".rouse-{}-{count}.tmp", std::process::id());
            let path = self.path.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                // Left by a killed process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|source| source.is::<LinkInPath>())
}

/// Always false: devices are not in the file system here.
pub(super) fn is_special_file(_: &io::Error) -> bool {
    false
}

#[derive(Debug, thiserror::Error)]
#[error("the path contains a link")]
struct LinkInPath;

/// A path with all components held in place.
struct HeldPath {
    path: PathBuf,
    last: File,
    parents: Vec<File>,
}

fn walk(root: &RootHandle, path: &RelativePath, creates_folders: bool) -> io::Result<HeldPath> {
    let last = open_held(&root.path)?;
    let mut held = HeldPath { path: root.path.clone(), last, parents: Vec::new() };
    for name in path.as_path() {
        held.path.push(name);
        if creates_folders {
            create_folder_at(&held.path)?;
        }
        let next = open_held(&held.path)?;
        if next.metadata()?.file_type().is_symlink() {
            return Err(io::Error::other(LinkInPath));
        }
        held.parents.push(std::mem::replace(&mut held.last, next));
    }
    Ok(held)
}

/// Opens `path` itself, link or not, which can then be neither renamed nor deleted until the handle is closed.
fn open_held(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}
