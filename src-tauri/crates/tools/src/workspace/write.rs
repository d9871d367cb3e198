//! Writing in the workspace: files that are replaced whole, and folders.
//!
//! A file is written beside its place, brought to the disk and then given the name, in the folder whose handle was
//! opened: whoever reads it sees the old content or the new one, and a name that has become a link meanwhile is replaced
//! itself and leads nowhere. It refuses to write through a link anywhere in the path, also one that stays inside: whoever
//! was asked was told the path, and the link can be another one by now. It refuses to write over a link, a second name of
//! a file elsewhere, a device, a pipe, a folder and what nobody may write. What is replaced keeps its mode, not its owner
//! or its extended attributes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use rouse_core::approval::ABSENT;
use sha2::{Digest as _, Sha256};

use super::system::Place;
use super::{EntryKind, RelativePath, Standing, Workspace, WorkspaceError, system};

impl Workspace {
    /// Puts a file with this content at `path`, in place of the one that is there, and makes the folders on the way.
    /// Whether there was none.
    pub(crate) fn replace(
        &self,
        path: &RelativePath,
        content: &[u8],
    ) -> Result<bool, WorkspaceError> {
        let place = self.place(path)?;
        let standing = place.look().map_err(|source| self.refusal(path, source))?;
        self.check_replaceable(path, standing)?;
        let failed = |source| WorkspaceError::Write { path: path.to_string(), source };
        place.write(content).map_err(failed)?;
        Ok(standing.is_none())
    }

    /// Makes a folder at `path` and those on the way. Whether it was not there.
    pub(crate) fn make_folder(&self, path: &RelativePath) -> Result<bool, WorkspaceError> {
        let failed = |source| self.refusal(path, source);
        let place = self.place(path)?;
        if place.make_folder().map_err(failed)? {
            return Ok(true);
        }
        match place.look().map_err(failed)?.map(|standing| standing.kind) {
            Some(EntryKind::Folder) => Ok(false),
            Some(EntryKind::Link) => Err(self.through_link(path, path)),
            _ => Err(WorkspaceError::NotAFolder { path: path.to_string() }),
        }
    }

    /// What is at `path` itself; none when nothing is. Looked at as it would be written.
    pub(crate) fn standing(&self, path: &RelativePath) -> Result<Option<Standing>, WorkspaceError> {
        match system::place(&self.root, path, false).and_then(|place| place.look()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            looked => looked.map_err(|source| self.unwritten(path, source)),
        }
    }

    /// The SHA-256 of what a write to `path` would replace; `absent` when nothing is there.
    ///
    /// # Errors
    /// Why it could not be written.
    pub(crate) fn replaced_digest(&self, path: &RelativePath) -> Result<String, WorkspaceError> {
        let standing = self.standing(path)?;
        self.check_replaceable(path, standing)?;
        match standing.map(|_| self.open_file(path)) {
            Some(Ok((file, _))) => fingerprint(file, MOST_READ)
                .map_err(|source| WorkspaceError::Read { path: path.to_string(), source }),
            None | Some(Err(WorkspaceError::Missing { .. })) => Ok(ABSENT.to_owned()),
            Some(Err(error)) => Err(error),
        }
    }

    fn place<'p>(&self, path: &'p RelativePath) -> Result<Place<'p>, WorkspaceError> {
        system::place(&self.root, path, true).map_err(|source| self.unwritten(path, source))
    }

    fn check_replaceable(
        &self,
        path: &RelativePath,
        standing: Option<Standing>,
    ) -> Result<(), WorkspaceError> {
        let shown = || path.to_string();
        let Some(Standing { kind, has_other_names, is_read_only }) = standing else {
            return Ok(());
        };
        match kind {
            EntryKind::Folder => Err(WorkspaceError::IsAFolder { path: shown() }),
            EntryKind::Link => Err(self.through_link(path, path)),
            EntryKind::Other => Err(WorkspaceError::NotAFile { path: shown() }),
            EntryKind::File if has_other_names => Err(WorkspaceError::HardLink { path: shown() }),
            EntryKind::File if is_read_only => Err(WorkspaceError::ReadOnly { path: shown() }),
            EntryKind::File => Ok(()),
        }
    }

    /// Why nothing could be put at `path`. A walk by hand takes a link on the way for something that is no folder.
    fn unwritten(&self, path: &RelativePath, source: io::Error) -> WorkspaceError {
        let can_be_a_link = system::is_link_refusal(&source)
            || matches!(source.kind(), io::ErrorKind::NotADirectory);
        match can_be_a_link.then(|| self.first_link(path)).flatten() {
            Some(link) => self.through_link(path, &link),
            None => self.refusal(path, source),
        }
    }

    /// The first part of `path` that is a link.
    fn first_link(&self, path: &RelativePath) -> Option<RelativePath> {
        let mut part = PathBuf::new();
        path.as_path().iter().find_map(|name| {
            part.push(name);
            let part = RelativePath(part.clone());
            let kind = system::place(&self.root, &part, false).ok()?.look().ok()??.kind;
            (kind == EntryKind::Link).then_some(part)
        })
    }

    /// The refusal that names the link, and the path to use instead. Nothing is opened by what is found here.
    fn through_link(&self, path: &RelativePath, link: &RelativePath) -> WorkspaceError {
        let real = || {
            let (root, rest) = (self.path.canonicalize().ok()?, path.as_path());
            let led = self.path.join(link.as_path()).canonicalize().ok()?;
            let rest = rest.strip_prefix(link.as_path()).ok()?;
            let below = led.strip_prefix(root).ok()?;
            Some(RelativePath(below.iter().chain(rest).collect()).to_string())
        };
        let (path, link, real) = (path.to_string(), link.to_string(), real());
        WorkspaceError::ThroughLink { path, link, real }
    }
}

/// The most of a file that is read to say what is in it.
pub(crate) const MOST_READ: u64 = 256 << 20;

/// What tells a file's content from any other: its SHA-256, or, of one that is larger than `most`, its size and when it
/// last changed (on Unix by a time that nobody can set). A file with a hole in it is as large as it likes, and takes
/// hours to read.
pub(crate) fn fingerprint(file: File, most: u64) -> io::Result<String> {
    let metadata = file.metadata()?;
    if metadata.len() <= most {
        // What grows meanwhile is another content in any case.
        return digest(file.take(most));
    }
    Ok(format!("{} bytes, unread, changed {}", metadata.len(), changed(&metadata)?))
}

#[cfg(unix)]
fn changed(metadata: &std::fs::Metadata) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let (file, at, rest) = (metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
    Ok(format!("{at}.{rest:09} (file {file})"))
}

#[cfg(not(unix))]
fn changed(metadata: &std::fs::Metadata) -> io::Result<String> {
    let at =
        metadata.modified()?.duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(format!("{}.{:09}", at.as_secs(), at.subsec_nanos()))
}

/// The SHA-256 of all that is left to read, in hexadecimal digits.
pub(crate) fn digest(mut file: impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash)?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
