//! Limits on the disks that a sandboxed command can write: space, files, and the size of the private home.
//!
//! Owns the measuring. Free space and free files come from the file system at once. The home's size is measured only if the command can
//! have filled it since the last time: more space is gone from the disk than the home had left. Pitfall: a size measured on every look
//! would cost more than the command.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfs, fstatvfs, open};

use rouse_core::job::FolderAccess;

use super::spec::Sandbox;
use crate::workspace::GrantedFolder;

/// Distance to the limit at which a command is ended. Eight writers of shared memory on a loaded computer with two processors wrote
/// 304 MB more between that measurement and their end.
const MARGIN: u64 = 512 << 20;
/// Free files left for other programs; half of the free files if that is less.
const RESERVED_FILES: u64 = 100_000;

/// Distance to the nearest limit.
pub(super) enum Headroom {
    Bytes(u64),
    /// The beginning of a sentence about the exceeded limit.
    Exceeded(String),
}

/// The limits of a command.
pub(super) struct DiskLimits {
    disks: Vec<LimitedDisk>,
    home: Option<LimitedHome>,
}

/// A file system that the command can write.
struct LimitedDisk {
    folder: OwnedFd,
    /// Space to be left.
    reserved_bytes: u64,
    /// Files to be left; `None` if the file system has no limit.
    reserved_files: Option<u64>,
    /// Limit of files in use.
    max_used_files: u64,
}

/// The private home of a command.
struct LimitedHome {
    path: PathBuf,
    folder: OwnedFd,
    max_bytes: u64,
    /// Size at the last measurement.
    bytes: u64,
    /// Free space of the disk at the last measurement.
    free_bytes: u64,
}

impl DiskLimits {
    pub(super) fn new(sandbox: &Sandbox) -> io::Result<Self> {
        let limits = &sandbox.limits;
        let is_writable = |folder: &&GrantedFolder| folder.access == FolderAccess::Write;
        let granted = sandbox.granted.iter().filter(is_writable);
        let granted = granted.map(|folder| &folder.path);
        let folders = granted.chain([&sandbox.workspace]).chain(&sandbox.home);
        let (mut disks, mut known) = (Vec::new(), Vec::new());
        for folder in folders {
            let device = fs::metadata(folder)?.dev();
            if !known.contains(&device) {
                known.push(device);
                disks.push(LimitedDisk::new(folder, limits.reserved_disk_bytes, limits.new_files)?);
            }
        }
        let home = sandbox.home.as_deref();
        let home = home.map(|home| LimitedHome::new(home, limits.home_bytes)).transpose()?;
        Ok(Self { disks, home })
    }

    pub(super) fn headroom(&mut self) -> io::Result<Headroom> {
        let mut nearest = u64::MAX;
        for disk in &self.disks {
            match disk.headroom()? {
                Headroom::Bytes(bytes) => nearest = nearest.min(bytes),
                exceeded @ Headroom::Exceeded(_) => return Ok(exceeded),
            }
        }
        match self.home.as_mut().map(LimitedHome::headroom).transpose()? {
            Some(Headroom::Bytes(bytes)) => Ok(Headroom::Bytes(nearest.min(bytes))),
            Some(exceeded @ Headroom::Exceeded(_)) => Ok(exceeded),
            None => Ok(Headroom::Bytes(nearest)),
        }
    }

    /// A disk with this much reserved space.
    #[cfg(test)]
    pub(super) fn for_test(folder: &Path, reserved_bytes: u64) -> Self {
        let disk = LimitedDisk::new(folder, 0, u64::MAX).expect("a folder");
        Self { disks: vec![LimitedDisk { reserved_bytes, ..disk }], home: None }
    }
}

impl LimitedDisk {
    /// On a nearly full disk, half of the free space may be used.
    fn new(folder: &Path, reserved_bytes: u64, new_files: u64) -> io::Result<Self> {
        let folder = open_folder(folder)?;
        let stats = fstatvfs(&folder)?;
        let has_file_limit = stats.f_files > 0;
        Ok(Self {
            folder,
            reserved_bytes: reserved_bytes.min(free_bytes(&stats) / 2),
            reserved_files: has_file_limit.then(|| RESERVED_FILES.min(stats.f_favail / 2)),
            max_used_files: used_files(&stats).saturating_add(new_files),
        })
    }

    fn headroom(&self) -> io::Result<Headroom> {
        let stats = fstatvfs(&self.folder)?;
        let limit = self.reserved_bytes.saturating_add(MARGIN.min(self.reserved_bytes / 2));
        if free_bytes(&stats) < limit {
            let reserved = self.reserved_bytes >> 20;
            let reason = format!("Was ended so that {reserved} MB of the disk stay free");
            return Ok(Headroom::Exceeded(reason));
        }
        let is_short = self.reserved_files.is_some_and(|reserved| stats.f_favail < reserved);
        if is_short || used_files(&stats) > self.max_used_files {
            return Ok(Headroom::Exceeded("Created too many files and was ended".to_owned()));
        }
        Ok(Headroom::Bytes(free_bytes(&stats) - limit))
    }
}

impl LimitedHome {
    /// A home that is full already may be emptied by the command.
    fn new(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let folder = open_folder(path)?;
        let free_bytes = free_bytes(&fstatvfs(&folder)?);
        let bytes = disk_usage(path);
        let max_bytes = max_bytes.max(bytes);
        Ok(Self { path: path.to_owned(), folder, max_bytes, bytes, free_bytes })
    }

    fn headroom(&mut self) -> io::Result<Headroom> {
        let free_now = free_bytes(&fstatvfs(&self.folder)?);
        let used = self.free_bytes.saturating_sub(free_now);
        if self.bytes.saturating_add(used) <= self.max_bytes {
            return Ok(Headroom::Bytes(self.max_bytes - self.bytes - used));
        }
        (self.bytes, self.free_bytes) = (disk_usage(&self.path), free_now);
        if self.bytes > self.max_bytes {
            let (path, max) = (self.path.display(), self.max_bytes >> 20);
            return Ok(Headroom::Exceeded(format!(
                "Was ended because its HOME {path} holds more than {max} MB; delete files there"
            )));
        }
        Ok(Headroom::Bytes(self.max_bytes - self.bytes))
    }
}

/// Disk usage of a folder, links not followed.
fn disk_usage(folder: &Path) -> u64 {
    let (mut bytes, mut pending) = (0_u64, vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    bytes
}

fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(folder, flags, Mode::empty())?)
}

const fn free_bytes(stats: &StatVfs) -> u64 {
    stats.f_bavail.saturating_mul(stats.f_frsize)
}

const fn used_files(stats: &StatVfs) -> u64 {
    stats.f_files.saturating_sub(stats.f_ffree)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceeded(headroom: Headroom) -> Option<String> {
        match headroom {
            Headroom::Bytes(_) => None,
            Headroom::Exceeded(reason) => Some(reason),
        }
    }

    #[test]
    fn nearly_full_disk_leaves_half_of_its_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = LimitedDisk::new(folder.path(), u64::MAX, u64::MAX).expect("a disk");
        let free = free_bytes(&fstatvfs(&disk.folder).expect("stats"));
        assert!(disk.reserved_bytes < free && disk.reserved_bytes > free / 4);
    }

    #[test]
    fn too_many_new_files_exceed_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = LimitedDisk::new(folder.path(), 0, 0).expect("a disk");
        let disk = LimitedDisk { max_used_files: 0, ..disk };
        let is_counted = fstatvfs(&disk.folder).expect("stats").f_files > 0;
        let reason = exceeded(disk.headroom().expect("measured"));
        assert_eq!(reason.is_some_and(|reason| reason.contains("too many files")), is_counted);
    }

    #[test]
    fn oversized_home_exceeds_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut home = LimitedHome::new(folder.path(), 64 << 10).expect("a home");
        // Other programs change the disk's free space during the test.
        home.free_bytes = u64::MAX;
        assert_eq!(exceeded(home.headroom().expect("measured")), None);
        fs::write(folder.path().join("much"), vec![1; 128 << 10]).expect("written");
        home.free_bytes = u64::MAX;
        let reason = exceeded(home.headroom().expect("measured")).expect("exceeded");
        assert!(reason.contains("holds more than 0 MB; delete files there"), "{reason}");
    }

    #[test]
    fn full_home_can_be_emptied() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("much"), vec![1; 128 << 10]).expect("written");
        let mut home = LimitedHome::new(folder.path(), 64 << 10).expect("a home");
        home.free_bytes = u64::MAX;
        assert_eq!(exceeded(home.headroom().expect("measured")), None);
    }
}
