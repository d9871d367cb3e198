//! Opening beneath a folder's handle, on Unix. The rules are in the module above.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rouse_core::UnixMs;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{Entry, EntryKind, RelativePath, Standing, Trace};

pub(super) struct Root(OwnedFd);

/// Which links on the way are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Those that stay inside, where the kernel itself sees to that.
    Inside,
    /// None: what is allowed to be written is one place, and a link can be led to another one.
    Never,
}

// Opening a pipe without this would wait for a writer; a terminal without NOCTTY could become ours.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

pub(super) fn open_root(path: &Path) -> io::Result<Root> {
    Ok(Root(rustix::fs::open(path, FOLDER, Mode::empty())?))
}

/// The folder at `path` as a root of its own.
pub(super) fn open_below(root: &Root, path: &RelativePath) -> io::Result<Root> {
    Ok(Root(beneath(root.0.as_fd(), path, FOLDER | OFlags::NOFOLLOW, Links::Inside)?))
}

/// Whether a component can be opened as it is written.
pub(super) fn is_plain(name: &OsStr) -> bool {
    !name.as_bytes().contains(&0)
}

pub(super) fn open_file(root: &Root, path: &RelativePath) -> io::Result<File> {
    Ok(File::from(beneath(root.0.as_fd(), path, FILE, Links::Inside)?))
}

pub(super) fn entries(
    root: &Root,
    path: &RelativePath,
    most: usize,
) -> io::Result<(Vec<Entry>, bool)> {
    let folder = beneath(root.0.as_fd(), path, FOLDER, Links::Inside)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if found.len() == most {
            return Ok((found, true));
        }
        found.extend(described(&folder, name)?);
    }
    Ok((found, false))
}

/// The entry as it is now; none when it has gone since the folder was read.
fn described(folder: &OwnedFd, name: &CStr) -> io::Result<Option<Entry>> {
    let Some(stat) = stat_of(folder, name)? else { return Ok(None) };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let name = OsStr::from_bytes(name.to_bytes()).to_owned();
    Ok(Some(Entry { name, kind: kind_of(&stat), size, trace: trace_of(&stat) }))
}

/// The time of a change of the content can be set to anything, that of a change of the file cannot; a file that was put
/// in place of another has another number.
fn trace_of(stat: &Stat) -> Trace {
    let Stat { st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, st_ino, .. } = stat;
    let stamp = format!("{st_size} {st_mtime}.{st_mtime_nsec} {st_ctime}.{st_ctime_nsec} {st_ino}");
    let (modified_at, changed_at) = (instant(*st_mtime), instant(*st_ctime));
    Trace { modified_at, latest_at: modified_at.max(changed_at), stamp }
}

/// Seconds since 1970, which every system counts in a type of its own; those before are of no use here.
fn instant(seconds: impl TryInto<i64>) -> UnixMs {
    UnixMs(seconds.try_into().unwrap_or(0).saturating_mul(1_000))
}

/// What the name itself stands for; none when nothing is there.
fn stat_of(folder: &OwnedFd, name: impl Arg) -> io::Result<Option<Stat>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn kind_of(stat: &Stat) -> EntryKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

/// Whether the open file has more than one name.
pub(super) fn has_other_names(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 1)
}

/// A name in an open folder, where something is to be put.
pub(super) struct Place<'p> {
    folder: OwnedFd,
    name: &'p OsStr,
}

/// The place of `path`, to which no link leads; the folders on the way can be made where they are missing.
pub(super) fn place<'p>(
    root: &Root,
    path: &'p RelativePath,
    makes_folders: bool,
) -> io::Result<Place<'p>> {
    let (above, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = match makes_folders {
        true => made(root, &above)?,
        false => beneath(root.0.as_fd(), &above, FOLDER, Links::Never)?,
    };
    Ok(Place { folder, name })
}

fn made(root: &Root, path: &RelativePath) -> io::Result<OwnedFd> {
    match beneath(root.0.as_fd(), path, FOLDER, Links::Never) {
        Err(Errno::NOENT) => {}
        answer => return Ok(answer?),
    }
    let (above, name) = path.split().ok_or(io::ErrorKind::NotFound)?;
    let above = made(root, &above)?;
    make_folder_in(&above, name)?;
    Ok(openat(&above, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Whether it was not there.
fn make_folder_in(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    match rustix::fs::mkdirat(folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) => rustix::fs::fsync(folder)?,
        Err(Errno::EXIST) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

impl Place<'_> {
    pub(super) fn look(&self) -> io::Result<Option<Standing>> {
        let standing = |stat: Stat| Standing {
            kind: kind_of(&stat),
            has_other_names: stat.st_nlink > 1,
            is_read_only: stat.st_mode & 0o222 == 0,
        };
        Ok(stat_of(&self.folder, self.name)?.map(standing))
    }

    /// Whether it was not there.
    pub(super) fn make_folder(&self) -> io::Result<bool> {
        make_folder_in(&self.folder, self.name)
    }

    /// Puts a file here, whole or not at all.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        // Of what was there: who may read, write and start it, and nothing that lends rights.
        let mode =
            stat_of(&self.folder, self.name)?.map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
        let (name, mut file) = self.beside()?;
        let written = || -> io::Result<()> {
            file.write_all(content)?;
            if let Some(mode) = mode {
                rustix::fs::fchmod(&file, mode)?;
            }
            file.sync_all()?;
            rustix::fs::renameat(&self.folder, &name, &self.folder, self.name)?;
            Ok(rustix::fs::fsync(&self.folder)?)
        }();
        if written.is_err() {
            // It may have its new name already; then there is nothing to take away.
            let gone = rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty());
            tracing::debug!(?gone, "a file that could not be written was taken away");
        }
        written
    }

    /// A new file beside this place, under a name that nothing has.
    fn beside(&self) -> io::Result<(String, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        const NEW: OFlags = OFlags::WRONLY
            .union(OFlags::CREATE)
            .union(OFlags::EXCL)
            .union(OFlags::NOFOLLOW)
            .union(OFlags::CLOEXEC);
        let everybody = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".rouse-{}-{count}.tmp", std::process::id());
            match openat(&self.folder, name.as_str(), NEW, everybody) {
                Ok(file) => return Ok((name, File::from(file))),
                // Left behind by a process of the same number that was killed.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// `O_NOFOLLOW` answers this when the last component is a link, `openat2` when a link has no place to lead to, or none is
/// followed.
pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// What opening a socket or a device without a driver answers.
pub(super) fn is_special_file(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP))
}

#[cfg(target_os = "linux")]
fn beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    links: Links,
) -> rustix::io::Result<OwnedFd> {
    match kernel_beneath(root, path, flags, links) {
        // Unknown to the kernel, or forbidden by a filter that does not know it: the walk is stricter, not weaker.
        Err(Errno::NOSYS | Errno::PERM) => walk_beneath(root, path, flags),
        answer => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    _: Links,
) -> rustix::io::Result<OwnedFd> {
    walk_beneath(root, path, flags)
}

#[cfg(target_os = "linux")]
fn kernel_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    links: Links,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    // The kernel gives up with AGAIN when something is renamed while it looks; so often in a row means on purpose.
    const TRIES: usize = 16;
    let unfollowed = match links {
        Links::Inside => ResolveFlags::NO_MAGICLINKS,
        Links::Never => ResolveFlags::NO_SYMLINKS,
    };
    let resolve = ResolveFlags::BENEATH | unfollowed;
    let path = if path.as_path().as_os_str().is_empty() { Path::new(".") } else { path.as_path() };
    let mut tries = (0..TRIES).map(|_| openat2(root, path, flags, Mode::empty(), resolve));
    tries.find(|answer| !matches!(answer, Err(Errno::AGAIN))).unwrap_or(Err(Errno::AGAIN))
}

/// One component after the other, following no link.
pub(super) fn walk_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut at = openat(root, ".", FOLDER, Mode::empty())?;
    let mut names = path.as_path().iter().peekable();
    while let Some(name) = names.next() {
        let wanted = if names.peek().is_some() { FOLDER } else { flags };
        at = openat(&at, name, wanted | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}
