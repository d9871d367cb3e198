//! Opening beneath a folder, on Windows. The rules are in the module above.
//!
//! Every folder on the way, and the file itself, is opened without `FILE_SHARE_DELETE` and kept open while the next
//! one is opened by name: as long as it is open, nobody can rename or delete it, and so nobody can put a link in its
//! place. Paths are verbatim (`\\?\`), so that `CON`, trailing dots and the like mean nothing special.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rouse_core::UnixMs;

use super::{Entry, EntryKind, RelativePath, Standing, Trace};

/// The folder's verbatim path, and the handle that keeps it in its place.
pub(super) struct Root {
    path: PathBuf,
    _held: Vec<File>,
}

const FILE_SHARE_READ: u32 = 0x1;
const FILE_SHARE_WRITE: u32 = 0x2;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Of a component, in units of UTF-16.
const LONGEST_NAME: usize = 255;

pub(super) fn open_root(path: &Path) -> io::Result<Root> {
    let path = path.canonicalize()?;
    let held = hold(&path)?;
    if !held.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(Root { path, _held: vec![held] })
}

/// The folder at `path` as a root of its own.
pub(super) fn open_below(root: &Root, path: &RelativePath) -> io::Result<Root> {
    let Way { path, last, mut before } = walk(root, path, false)?;
    if !last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    before.push(last);
    Ok(Root { path, _held: before })
}

/// Whether a component can be opened as it is written: a colon would name a stream of the file, and what a name that is
/// too long comes to is for each file system to say.
pub(super) fn is_plain(name: &OsStr) -> bool {
    name.encode_wide().count() <= LONGEST_NAME
        && name
            .encode_wide()
            .all(|unit| unit > 31 && !r#"<>:"|?*\/"#.encode_utf16().any(|special| special == unit))
}

pub(super) fn open_file(root: &Root, path: &RelativePath) -> io::Result<File> {
    let way = walk(root, path, false)?;
    if way.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A second handle, because the held one sees a cloud file as its placeholder.
    File::open(&way.path)
}

pub(super) fn entries(
    root: &Root,
    path: &RelativePath,
    most: usize,
) -> io::Result<(Vec<Entry>, bool)> {
    let way = walk(root, path, false)?;
    if !way.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&way.path)? {
        if found.len() == most {
            return Ok((found, true));
        }
        found.push(described(&entry?)?);
    }
    Ok((found, false))
}

fn described(entry: &std::fs::DirEntry) -> io::Result<Entry> {
    // The metadata of an entry does not follow links.
    let metadata = entry.metadata()?;
    let (kind, size) = (kind_of(&metadata), metadata.len());
    Ok(Entry { name: entry.file_name(), kind, size, trace: trace_of(&metadata) })
}

fn trace_of(metadata: &std::fs::Metadata) -> Trace {
    let written = metadata.last_write_time();
    let modified_at = UnixMs(since_1970_ms(written));
    let stamp = format!("{} {written} {}", metadata.len(), metadata.creation_time());
    Trace { modified_at, latest_at: modified_at, stamp }
}

/// The system counts hundreds of nanoseconds since 1601.
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

/// Whether the open file has more than one name.
pub(super) fn has_other_names(file: &File) -> io::Result<bool> {
    Ok(winapi_util::file::information(file)?.number_of_links() > 1)
}

/// A name in a folder that is held in its place.
pub(super) struct Place<'p> {
    path: PathBuf,
    /// The folders on the way.
    _held: Way,
    _name: PhantomData<&'p OsStr>,
}

/// The place of `path`; the folders on the way can be made where they are missing.
pub(super) fn place<'p>(
    root: &Root,
    path: &'p RelativePath,
    makes_folders: bool,
) -> io::Result<Place<'p>> {
    let (above, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
    let way = walk(root, &above, makes_folders)?;
    if !way.last.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(Place { path: way.path.join(name), _held: way, _name: PhantomData })
}

/// Whether it was not there.
fn make_folder_at(path: &Path) -> io::Result<bool> {
    match std::fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

impl Place<'_> {
    pub(super) fn look(&self) -> io::Result<Option<Standing>> {
        let file = match hold(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        Ok(Some(Standing {
            kind: kind_of(&metadata),
            has_other_names: has_other_names(&file)?,
            is_read_only: metadata.permissions().readonly(),
        }))
    }

    /// Whether it was not there.
    pub(super) fn make_folder(&self) -> io::Result<bool> {
        make_folder_at(&self.path)
    }

    /// Puts a file here, whole or not at all.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let (beside, mut file) = self.beside()?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        drop(file);
        let written = written.and_then(|()| std::fs::rename(&beside, &self.path));
        if written.is_err() {
            drop(std::fs::remove_file(&beside));
        }
        written
    }

    /// A new file beside this place, under a name that nothing has.
    fn beside(&self) -> io::Result<(PathBuf, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".rouse-{}-{count}.tmp", std::process::id());
            let path = self.path.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                // Left behind by a process of the same number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|source| source.is::<LinkOnTheWay>())
}

/// Devices have no place in the file system here.
pub(super) fn is_special_file(_: &io::Error) -> bool {
    false
}

#[derive(Debug, thiserror::Error)]
#[error("a link is on the way")]
struct LinkOnTheWay;

/// A path all of whose components are held in their places.
struct Way {
    path: PathBuf,
    last: File,
    before: Vec<File>,
}

fn walk(root: &Root, path: &RelativePath, makes_folders: bool) -> io::Result<Way> {
    let mut way = Way { path: root.path.clone(), last: hold(&root.path)?, before: Vec::new() };
    for name in path.as_path() {
        way.path.push(name);
        if makes_folders {
            make_folder_at(&way.path)?;
        }
        let next = hold(&way.path)?;
        if next.metadata()?.file_type().is_symlink() {
            return Err(io::Error::other(LinkOnTheWay));
        }
        way.before.push(std::mem::replace(&mut way.last, next));
    }
    Ok(way)
}

/// Opens what is at `path` itself, link or not, so that it can be neither renamed nor deleted until it is closed.
fn hold(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}
