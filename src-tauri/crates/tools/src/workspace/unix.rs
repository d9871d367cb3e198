//! Opening beneath a folder's handle, on Unix. The rules are in the module above.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{Entry, EntryKind, RelativePath};

pub(super) struct Root(OwnedFd);

// Opening a pipe without this would wait for a writer; a terminal without NOCTTY could become ours.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

pub(super) fn open_root(path: &Path) -> io::Result<Root> {
    Ok(Root(rustix::fs::open(path, FOLDER, Mode::empty())?))
}

/// Whether a component can be opened as it is written.
pub(super) fn is_plain(name: &OsStr) -> bool {
    !name.as_bytes().contains(&0)
}

pub(super) fn open_file(root: &Root, path: &RelativePath) -> io::Result<File> {
    Ok(File::from(beneath(root.0.as_fd(), path, FILE)?))
}

pub(super) fn entries(
    root: &Root,
    path: &RelativePath,
    most: usize,
) -> io::Result<(Vec<Entry>, bool)> {
    let folder = beneath(root.0.as_fd(), path, FOLDER)?;
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
fn described(folder: &OwnedFd, name: &std::ffi::CStr) -> io::Result<Option<Entry>> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    Ok(Some(Entry { name: OsStr::from_bytes(name.to_bytes()).to_owned(), kind, size }))
}

/// `O_NOFOLLOW` answers this when the last component is a link, `openat2` when a link has no place to lead to.
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
) -> rustix::io::Result<OwnedFd> {
    match kernel_beneath(root, path, flags) {
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
) -> rustix::io::Result<OwnedFd> {
    walk_beneath(root, path, flags)
}

#[cfg(target_os = "linux")]
fn kernel_beneath(
    root: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    // The kernel gives up with AGAIN when something is renamed while it looks; so often in a row means on purpose.
    const TRIES: usize = 16;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
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
