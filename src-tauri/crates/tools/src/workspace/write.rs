//! Writes in the workspace: whole files and folders.
//!
//! A file is written under a temporary name, synced and renamed within the folder's handle: readers see the old content or the new.
//! Never writes through a link anywhere in the path, because an approval is for one path and a link can be redirected. Never replaces
//! a link, a hard link, a device, a pipe, a folder or a read-only file. A replaced file keeps its mode, but not its owner or extended
//! attributes.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::PathBuf;

use rouse_core::approval::ABSENT;
use sha2::{Digest as _, Sha256};

use super::entry::{EntryKind, TargetState};
use super::error::WorkspaceError;
use super::path::RelativePath;
use super::root::Workspace;
use super::system;

impl Workspace {
    /// Writes the file and creates the folders on the way; returns whether the file is new.
    pub(crate) fn replace_file(
        &self,
        path: &RelativePath,
        content: &[u8],
    ) -> Result<bool, WorkspaceError> {
        let target = self.create_target(path)?;
        let state = target.state().map_err(|source| self.open_error(path, source))?;
        self.check_replaceable(path, state)?;
        target
            .write(content)
            .map_err(|source| WorkspaceError::Write { path: path.to_string(), source })?;
        Ok(state.is_none())
    }

    /// Creates a folder and the parents; returns whether the folder is new.
    pub(crate) fn create_folder(&self, path: &RelativePath) -> Result<bool, WorkspaceError> {
        let failed = |source| self.open_error(path, source);
        let target = self.create_target(path)?;
        if target.create_folder().map_err(failed)? {
            return Ok(true);
        }
        match target.state().map_err(failed)?.map(|state| state.kind) {
            Some(EntryKind::Folder) => Ok(false),
            Some(EntryKind::Link) => Err(self.link_error(path, path)),
            _ => Err(WorkspaceError::NotAFolder { path: path.to_string() }),
        }
    }

    /// Looks at `path` under the rules of a write; `None` if missing.
    pub(crate) fn target_state(
        &self,
        path: &RelativePath,
    ) -> Result<Option<TargetState>, WorkspaceError> {
        match system::open_target(&self.root, path).and_then(|target| target.state()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            result => result.map_err(|source| self.write_error(path, source)),
        }
    }

    /// Hashes the file that a write to `path` would replace; `absent` if there is none.
    ///
    /// # Errors
    /// The path cannot be written.
    pub(crate) fn replaced_file_hash(&self, path: &RelativePath) -> Result<String, WorkspaceError> {
        let state = self.target_state(path)?;
        self.check_replaceable(path, state)?;
        match state.map(|_| self.open_file(path)) {
            Some(Ok((file, _))) => file_fingerprint(file, MAX_FINGERPRINT_BYTES)
                .map_err(|source| WorkspaceError::Read { path: path.to_string(), source }),
            None | Some(Err(WorkspaceError::Missing { .. })) => Ok(ABSENT.to_owned()),
            Some(Err(error)) => Err(error),
        }
    }

    fn create_target<'p>(
        &self,
        path: &'p RelativePath,
    ) -> Result<system::WriteTarget<'p>, WorkspaceError> {
        system::create_target(&self.root, path).map_err(|source| self.write_error(path, source))
    }

    fn check_replaceable(
        &self,
        path: &RelativePath,
        state: Option<TargetState>,
    ) -> Result<(), WorkspaceError> {
        let Some(TargetState { kind, has_hard_links, is_read_only }) = state else {
            return Ok(());
        };
        let shown = || path.to_string();
        match kind {
            EntryKind::Folder => Err(WorkspaceError::IsAFolder { path: shown() }),
            EntryKind::Link => Err(self.link_error(path, path)),
            EntryKind::Other => Err(WorkspaceError::NotAFile { path: shown() }),
            EntryKind::File if has_hard_links => Err(WorkspaceError::HardLink { path: shown() }),
            EntryKind::File if is_read_only => Err(WorkspaceError::ReadOnly { path: shown() }),
            EntryKind::File => Ok(()),
        }
    }

    /// Converts an error of a write. The component walk reports a link on the way as "not a folder".
    fn write_error(&self, path: &RelativePath, source: io::Error) -> WorkspaceError {
        let may_be_link = system::is_link_refusal(&source)
            || matches!(source.kind(), io::ErrorKind::NotADirectory);
        match may_be_link.then(|| self.find_first_link(path)).flatten() {
            Some(link) => self.link_error(path, &link),
            None => self.open_error(path, source),
        }
    }

    fn find_first_link(&self, path: &RelativePath) -> Option<RelativePath> {
        let mut part = PathBuf::new();
        path.as_path().iter().find_map(|name| {
            part.push(name);
            let part = RelativePath(part.clone());
            let kind = system::open_target(&self.root, &part).ok()?.state().ok()??.kind;
            (kind == EntryKind::Link).then_some(part)
        })
    }

    /// The error with the link and the real path to use instead, for the message only.
    fn link_error(&self, path: &RelativePath, link: &RelativePath) -> WorkspaceError {
        let real = || {
            let (root, rest) = (self.path.canonicalize().ok()?, path.as_path());
            let target = self.path.join(link.as_path()).canonicalize().ok()?;
            let rest = rest.strip_prefix(link.as_path()).ok()?;
            let below = target.strip_prefix(root).ok()?;
            Some(RelativePath(below.iter().chain(rest).collect()).to_string())
        };
        let (path, link, real) = (path.to_string(), link.to_string(), real());
        WorkspaceError::ThroughLink { path, link, real }
    }
}

/// Largest file with hashed content in a fingerprint.
pub(crate) const MAX_FINGERPRINT_BYTES: u64 = 256 << 20;

/// Fingerprint of a file's content: the SHA-256, or, above `max_bytes`, size and change time, because a sparse file can
/// take hours to read.
pub(crate) fn file_fingerprint(file: File, max_bytes: u64) -> io::Result<String> {
    let metadata = file.metadata()?;
    if metadata.len() <= max_bytes {
        // A file that grows meanwhile has another fingerprint in any case.
        return sha256_hex(file.take(max_bytes));
    }
    Ok(format!("{} bytes, unread, changed {}", metadata.len(), change_time(&metadata)?))
}

/// The inode's change time, which programs cannot set.
#[cfg(unix)]
fn change_time(metadata: &Metadata) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let (inode, seconds, nanos) = (metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
    Ok(format!("{seconds}.{nanos:09} (file {inode})"))
}

#[cfg(not(unix))]
fn change_time(metadata: &Metadata) -> io::Result<String> {
    let modified = metadata.modified()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(format!("{}.{:09}", since.as_secs(), since.subsec_nanos()))
}

/// SHA-256 of the rest of `reader`, in hexadecimal digits.
pub(crate) fn sha256_hex(mut reader: impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut reader, &mut hash)?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
