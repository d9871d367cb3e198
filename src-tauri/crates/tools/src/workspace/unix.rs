//! Opening beneath a folder's handle, on Unix. `workspace` states the rules.

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

use super::entry::{EntryKind, FileVersion, FolderEntry, TargetState};
use super::path::RelativePath;

pub(super) struct RootHandle(OwnedFd);

/// Treatment of links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkPolicy {
    /// Follow links that stay inside, if the kernel enforces that.
    FollowInside,
    /// Refuse links: a write is approved for a single path, and a link can be redirected.
    Refuse,
}

// Without NONBLOCK, opening a pipe would wait for a writer; without NOCTTY, a terminal could become the controlling one.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

pub(super) fn open_root(path: &Path) -> io::Result<RootHandle> {
    Ok(RootHandle(rustix::fs::open(path, FOLDER, Mode::empty())?))
}

pub(super) fn open_subfolder(root: &RootHandle, path: &RelativePath) -> io::Result<RootHandle> {
    let flags = FOLDER | OFlags::NOFOLLOW;
    Ok(RootHandle(open_beneath(root.0.as_fd(), path, flags, LinkPolicy::FollowInside)?))
}

/// Whether a component can be opened as written.
pub(super) fn is_plain(name: &OsStr) -> bool {
    !name.as_bytes().contains(&0)
}

pub(super) fn open_file(root: &RootHandle, path: &RelativePath) -> io::Result<File> {
    Ok(File::from(open_beneath(root.0.as_fd(), path, FILE, LinkPolicy::FollowInside)?))
}

pub(super) fn list_entries(
    root: &RootHandle,
    path: &RelativePath,
    limit: usize,
) -> io::Result<(Vec<FolderEntry>, bool)> {
    let folder = open_beneath(root.0.as_fd(), path, FOLDER, LinkPolicy::FollowInside)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if found.len() == limit {
            return Ok((found, true));
        }
        found.extend(describe_entry(&folder, name)?);
    }
    Ok((found, false))
}

/// Describes an entry; `None` if gone since the folder was read.
fn describe_entry(folder: &OwnedFd, name: &CStr) -> io::Result<Option<FolderEntry>> {
    let Some(stat) = stat_entry(folder, name)? else { return Ok(None) };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let name = OsStr::from_bytes(name.to_bytes()).to_owned();
    Ok(Some(FolderEntry { name, kind: kind_of(&stat), size, version: version_of(&stat) }))
}

/// The modification time can be set to anything, the change time cannot; a replaced file has another inode.
fn version_of(stat: &Stat) -> FileVersion {
    let Stat { st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, st_ino, .. } = stat;
    let stamp = format!("{st_size} {st_mtime}.{st_mtime_nsec} {st_ctime}.{st_ctime_nsec} {st_ino}");
    let (modified_at, changed_at) = (instant(*st_mtime), instant(*st_ctime));
    FileVersion { modified_at, latest_at: modified_at.max(changed_at), stamp }
}

/// Converts seconds since 1970, a different type on every system; earlier times become 1970.
fn instant(seconds: impl TryInto<i64>) -> UnixMs {
    UnixMs(seconds.try_into().unwrap_or(0).saturating_mul(1_000))
}

/// The metadata of the name itself, links not followed; `None` if missing.
fn stat_entry(folder: &OwnedFd, name: impl Arg) -> io::Result<Option<Stat>> {
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

pub(super) fn has_hard_links(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() > 1)
}

/// A name in an open folder, to be written.
pub(super) struct WriteTarget<'p> {
    folder: OwnedFd,
    name: &'p OsStr,
}

/// Opens the folder of `path`; links on the way are refused.
pub(super) fn open_target<'p>(
    root: &RootHandle,
    path: &'p RelativePath,
) -> io::Result<WriteTarget<'p>> {
    let (parent, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = open_beneath(root.0.as_fd(), &parent, FOLDER, LinkPolicy::Refuse)?;
    Ok(WriteTarget { folder, name })
}

/// Like `open_target`; creates missing folders on the way.
pub(super) fn create_target<'p>(
    root: &RootHandle,
    path: &'p RelativePath,
) -> io::Result<WriteTarget<'p>> {
    let (parent, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
    Ok(WriteTarget { folder: create_folders(root, &parent)?, name })
}

fn create_folders(root: &RootHandle, path: &RelativePath) -> io::Result<OwnedFd> {
    match open_beneath(root.0.as_fd(), path, FOLDER, LinkPolicy::Refuse) {
        Err(Errno::NOENT) => {}
        answer => return Ok(answer?),
    }
    let (parent, name) = path.split().ok_or(io::ErrorKind::NotFound)?;
    let parent = create_folders(root, &parent)?;
    create_folder_in(&parent, name)?;
    Ok(openat(&parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Returns whether the folder is new.
fn create_folder_in(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    match rustix::fs::mkdirat(folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) => rustix::fs::fsync(folder)?,
        Err(Errno::EXIST) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

impl WriteTarget<'_> {
    pub(super) fn state(&self) -> io::Result<Option<TargetState>> {
        let state = |stat: Stat| TargetState {
            kind: kind_of(&stat),
            has_hard_links: stat.st_nlink > 1,
            is_read_only: stat.st_mode & 0o222 == 0,
        };
        Ok(stat_entry(&self.folder, self.name)?.map(state))
    }

    /// Returns whether the folder is new.
    pub(super) fn create_folder(&self) -> io::Result<bool> {
        create_folder_in(&self.folder, self.name)
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        // Permission bits of the replaced file, without setuid, setgid and sticky.
        let mode = stat_entry(&self.folder, self.name)?
            .map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
        let (name, mut file) = self.create_temporary()?;
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
            // Fails if the rename has succeeded already.
            let removed = rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty());
            tracing::debug!(?removed, "removed the temporary file of a failed write");
        }
        written
    }

    /// Creates a temporary file in the target's folder.
    fn create_temporary(&self) -> io::Result<(String, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        const NEW: OFlags = OFlags::WRONLY
            .union(OFlags::CREATE)
            .union(OFlags::EXCL)
            .union(OFlags::NOFOLLOW)
            .union(OFlags::CLOEXEC);
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".rouse-{}-{count}.tmp", std::process::id());
            match openat(&self.folder, name.as_str(), NEW, mode) {
                Ok(file) => return Ok((name, File::from(file))),
                // Left by a killed process with the same id.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// `O_NOFOLLOW` returns this for a link as the last component, `openat2` for a broken or refused link.
pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Opening a socket or a device without a driver returns these.
pub(super) fn is_special_file(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP))
}

#[cfg(target_os = "linux")]
fn open_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    links: LinkPolicy,
) -> rustix::io::Result<OwnedFd> {
    match openat2_beneath(root, path, flags, links) {
        // Unknown to the kernel, or forbidden by an older filter. The walk is stricter.
        Err(Errno::NOSYS | Errno::PERM) => walk_beneath(root, path, flags),
        answer => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    _: LinkPolicy,
) -> rustix::io::Result<OwnedFd> {
    walk_beneath(root, path, flags)
}

#[cfg(target_os = "linux")]
fn openat2_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    links: LinkPolicy,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    // The kernel returns AGAIN if something is renamed meanwhile; this many in a row are an attack.
    const TRIES: usize = 16;
    let link_flags = match links {
        LinkPolicy::FollowInside => ResolveFlags::NO_MAGICLINKS,
        LinkPolicy::Refuse => ResolveFlags::NO_SYMLINKS,
    };
    let resolve = ResolveFlags::BENEATH | link_flags;
    let path = if path.as_path().as_os_str().is_empty() { Path::new(".") } else { path.as_path() };
    let mut tries = (0..TRIES).map(|_| openat2(root, path, flags, Mode::empty(), resolve));
    tries.find(|answer| !matches!(answer, Err(Errno::AGAIN))).unwrap_or(Err(Errno::AGAIN))
}

/// Opens the components in order and refuses links.
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
