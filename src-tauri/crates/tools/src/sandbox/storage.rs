//! What a confined command may take of the disks that it can write: space, files, and the size of its private home.
//!
//! Owns the measuring. Free space and free files come from the file system, which answers at once. The home is walked
//! only when the command can have filled it since the last walk: the space taken from its disk is more than the home had
//! left. Pitfall: a walk on every look would cost more than the command.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfs, fstatvfs, open};

use rouse_core::job::FolderAccess;

use super::Sandbox;

/// Free space beyond the bound at which a command is ended. Eight writers into memory on a busy computer with two
/// processors wrote 304 MB more between that look and their end.
const MARGIN: u64 = 512 << 20;
/// The most free files that are left for others; half of the free ones when that is less.
const FREE_FILES: u64 = 100_000;

/// What the command may still take.
pub(super) enum Room {
    /// So many bytes until the nearest bound.
    Left(u64),
    /// A bound is crossed: the beginning of the sentence that says which.
    Over(String),
}

/// The disks of a command, and its home.
pub(super) struct Storage {
    disks: Vec<Disk>,
    home: Option<PrivateHome>,
}

/// One file system that the command can write.
struct Disk {
    folder: OwnedFd,
    /// The space that is to be left.
    least_bytes: u64,
    /// The files that are to be left; none where the file system has no bound on them.
    least_files: Option<u64>,
    /// The files in use above which the command has made too many.
    most_files: u64,
}

/// The private home of a command.
struct PrivateHome {
    path: PathBuf,
    folder: OwnedFd,
    most_bytes: u64,
    /// The size at the last walk.
    bytes: u64,
    /// The free space of its disk at the last walk.
    free_then: u64,
}

impl Storage {
    pub(super) fn new(sandbox: &Sandbox) -> io::Result<Self> {
        let limits = &sandbox.limits;
        let is_written = |access| access == FolderAccess::Write;
        let granted = sandbox.granted.iter().filter(|folder| is_written(folder.access));
        let granted = granted.map(|folder| &folder.path);
        let folders = granted.chain([&sandbox.workspace]).chain(&sandbox.home);
        let (mut disks, mut known) = (Vec::new(), Vec::new());
        for folder in folders {
            let device = fs::metadata(folder)?.dev();
            if !known.contains(&device) {
                known.push(device);
                disks.push(Disk::new(folder, limits.disk_left_bytes, limits.new_files)?);
            }
        }
        let home = sandbox.home.as_deref();
        let home = home.map(|home| PrivateHome::new(home, limits.home_bytes)).transpose()?;
        Ok(Self { disks, home })
    }

    /// What is left until the nearest bound.
    pub(super) fn room(&mut self) -> io::Result<Room> {
        let mut room = u64::MAX;
        for disk in &self.disks {
            match disk.room()? {
                Room::Left(left) => room = room.min(left),
                over @ Room::Over(_) => return Ok(over),
            }
        }
        match self.home.as_mut().map(PrivateHome::room).transpose()? {
            Some(Room::Left(left)) => Ok(Room::Left(room.min(left))),
            Some(over @ Room::Over(_)) => Ok(over),
            None => Ok(Room::Left(room)),
        }
    }

    /// One disk of which so much is to be left.
    #[cfg(test)]
    pub(super) fn with_space_left(folder: &Path, least_bytes: u64) -> Self {
        let disk = Disk::new(folder, 0, u64::MAX).expect("a folder");
        Self { disks: vec![Disk { least_bytes, ..disk }], home: None }
    }
}

impl Disk {
    /// Of a disk that is nearly full already, half of what is left may be taken.
    fn new(folder: &Path, least_bytes: u64, new_files: u64) -> io::Result<Self> {
        let folder = opened(folder)?;
        let told = fstatvfs(&folder)?;
        let is_bounded = told.f_files > 0;
        Ok(Self {
            folder,
            least_bytes: least_bytes.min(free(&told) / 2),
            least_files: is_bounded.then(|| FREE_FILES.min(told.f_favail / 2)),
            most_files: used_files(&told).saturating_add(new_files),
        })
    }

    fn room(&self) -> io::Result<Room> {
        let told = fstatvfs(&self.folder)?;
        let end = self.least_bytes.saturating_add(MARGIN.min(self.least_bytes / 2));
        if free(&told) < end {
            let least = self.least_bytes >> 20;
            let why = format!("Was ended so that {least} MB of the disk are left");
            return Ok(Room::Over(why));
        }
        let is_short = self.least_files.is_some_and(|least| told.f_favail < least);
        if is_short || used_files(&told) > self.most_files {
            return Ok(Room::Over("Made too many files and was ended".to_owned()));
        }
        Ok(Room::Left(free(&told) - end))
    }
}

impl PrivateHome {
    fn new(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let folder = opened(path)?;
        let free_then = free(&fstatvfs(&folder)?);
        let bytes = size_of(path);
        // A home that is full already may be emptied by the command.
        Ok(Self {
            path: path.to_owned(),
            folder,
            most_bytes: most_bytes.max(bytes),
            bytes,
            free_then,
        })
    }

    fn room(&mut self) -> io::Result<Room> {
        let free_now = free(&fstatvfs(&self.folder)?);
        let taken = self.free_then.saturating_sub(free_now);
        if self.bytes.saturating_add(taken) > self.most_bytes {
            (self.bytes, self.free_then) = (size_of(&self.path), free_now);
            if self.bytes > self.most_bytes {
                return Ok(Room::Over(self.full()));
            }
            return Ok(Room::Left(self.most_bytes - self.bytes));
        }
        Ok(Room::Left(self.most_bytes - self.bytes - taken))
    }

    fn full(&self) -> String {
        let (path, most) = (self.path.display(), self.most_bytes >> 20);
        format!("Was ended because its HOME {path} holds more than {most} MB; delete files there")
    }
}

/// What a folder takes of its disk, links not followed.
fn size_of(folder: &Path) -> u64 {
    let (mut bytes, mut waiting) = (0_u64, vec![folder.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(found.blocks().saturating_mul(512));
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    bytes
}

fn opened(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(folder, flags, Mode::empty())?)
}

const fn free(told: &StatVfs) -> u64 {
    told.f_bavail.saturating_mul(told.f_frsize)
}

const fn used_files(told: &StatVfs) -> u64 {
    told.f_files.saturating_sub(told.f_ffree)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(room: Room) -> Option<String> {
        match room {
            Room::Left(_) => None,
            Room::Over(why) => Some(why),
        }
    }

    #[test]
    fn nearly_full_disk_leaves_half_of_its_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(folder.path(), u64::MAX, u64::MAX).expect("a disk");
        let free = free(&fstatvfs(&disk.folder).expect("told"));
        assert!(disk.least_bytes < free && disk.least_bytes > free / 4);
    }

    #[test]
    fn new_files_over_the_bound_end_the_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk { most_files: 0, ..Disk::new(folder.path(), 0, 0).expect("a disk") };
        let is_counted = fstatvfs(&disk.folder).expect("told").f_files > 0;
        let over = why(disk.room().expect("measured"));
        assert_eq!(over.is_some_and(|why| why.contains("too many files")), is_counted);
    }

    #[test]
    fn home_over_its_bound_ends_the_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut home = PrivateHome::new(folder.path(), 64 << 10).expect("a home");
        // The free space of a disk that others use is no measure in a test.
        home.free_then = u64::MAX;
        assert_eq!(why(home.room().expect("measured")), None);
        fs::write(folder.path().join("much"), vec![1; 128 << 10]).expect("written");
        home.free_then = u64::MAX;
        let why = why(home.room().expect("measured")).expect("over");
        assert!(why.contains("holds more than 0 MB; delete files there"), "{why}");
    }

    #[test]
    fn full_home_can_be_emptied() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("much"), vec![1; 128 << 10]).expect("written");
        let mut home = PrivateHome::new(folder.path(), 64 << 10).expect("a home");
        home.free_then = u64::MAX;
        assert_eq!(why(home.room().expect("measured")), None);
    }
}
