//! The folder that file tools may see, reached only through handles.
//!
//! Owns the way from a path that somebody wrote to an open file or folder. A path is never compared as text to decide
//! whether it is inside: it is taken apart into plain components and opened beneath the workspace's own handle, so that
//! neither `..`, nor a link that points out, nor a folder swapped for a link between check and use leads outside.
//!
//! - Linux: `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`; links that stay inside work. Where the kernel or
//!   a filter does not know `openat2`, and on other Unixes: component by component, and no link is followed.
//! - Windows: component by component too; every folder on the way is held open without the right to delete or rename
//!   it, so that it cannot be exchanged under way, and no link or junction is followed.
//!
//! Writing is stricter (`write`): no link on the way is followed on any system, not even one that stays inside, because
//! a person has said yes to one place; folders are made one by one beneath their own handle, the last name is never
//! followed, and a file is replaced whole, so that nothing is ever written through a name.
//!
//! It refuses everything that is neither a regular file nor a folder: reading a device or a pipe can hang or do things.
//! It refuses files with a second name (hard links), because nothing tells whether the other name is outside.
//! One could get this wrong by resolving the path first and opening it by name afterwards.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
mod error;
mod write;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use rouse_core::UnixMs;
use rouse_core::visible::visible_path;

pub(crate) use error::WorkspaceError;
pub(crate) use write::{MOST_READ, digest, fingerprint};

/// An open workspace.
pub(crate) struct Workspace {
    root: system::Root,
    path: PathBuf,
}

/// A path of plain components, below a workspace. Empty means the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelativePath(PathBuf);

/// One entry of a folder, as it is: a link is a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: std::ffi::OsString,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    pub(crate) trace: Trace,
}

/// What the system tells of a file without reading it, and what is another when its content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// When the content was last written, or said to have been.
    pub(crate) modified_at: UnixMs,
    /// The latest sign of a change. Another change within the grain of the system's clock leaves no other sign.
    pub(crate) latest_at: UnixMs,
    /// Everything of it, to compare.
    pub(crate) stamp: String,
}

/// What stands at a path, itself: a link is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) kind: EntryKind,
    /// Whether it is one of several names of a file.
    has_other_names: bool,
    /// Whether nobody may write it.
    is_read_only: bool,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    /// A device, a pipe, a socket.
    Other,
}

impl Workspace {
    /// Opens the folder `path`. It is the person's own setting, so links on the way to it are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let root = system::open_root(path).map_err(|source| WorkspaceError::Root { source })?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// The folder at `path`, as a workspace of its own: nothing leads out of it into the rest of this one. A link in its
    /// place is not followed.
    pub(crate) fn below(&self, path: &RelativePath) -> Result<Self, WorkspaceError> {
        let root =
            system::open_below(&self.root, path).map_err(|source| self.refusal(path, source))?;
        Ok(Self { root, path: self.path.join(path.as_path()) })
    }

    /// Takes a written path apart. An absolute one is taken as relative when it begins with the workspace's own path;
    /// that is only a way of reading it: what counts is that it is then opened beneath the handle.
    pub(crate) fn relative(&self, text: &str) -> Result<RelativePath, WorkspaceError> {
        let at_home = from_home(text);
        let path = at_home.as_deref().unwrap_or_else(|| Path::new(text));
        let below = if path.has_root() { path.strip_prefix(&self.path).ok() } else { Some(path) };
        let below = below.ok_or_else(|| WorkspaceError::Outside { path: text.to_owned() })?;
        let mut plain = PathBuf::new();
        for component in below.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) if system::is_plain(name) => plain.push(name),
                Component::Normal(_) => {
                    return Err(WorkspaceError::Unusable { path: text.to_owned() });
                }
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(WorkspaceError::Outside { path: text.to_owned() });
                }
            }
        }
        Ok(RelativePath(plain))
    }

    /// A real path beneath this one, whose names need not be text; none when it does not lie there.
    pub(crate) fn beneath(&self, real: &Path) -> Option<RelativePath> {
        let inside = real.strip_prefix(&self.path).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(name) if system::is_plain(name));
        inside.components().all(is_plain).then(|| RelativePath(inside.to_owned()))
    }

    /// Opens a regular file that has no other name for reading, and tells its size.
    pub(crate) fn open_file(&self, path: &RelativePath) -> Result<(File, u64), WorkspaceError> {
        let (file, size) = self.open_any_name(path)?;
        if system::has_other_names(&file).map_err(|source| self.refusal(path, source))? {
            return Err(WorkspaceError::HardLink { path: path.to_string() });
        }
        Ok((file, size))
    }

    /// The same for whoever shows nothing of what is in it.
    pub(crate) fn open_any_name(&self, path: &RelativePath) -> Result<(File, u64), WorkspaceError> {
        let failed = |source| self.refusal(path, source);
        let file = system::open_file(&self.root, path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(WorkspaceError::IsAFolder { path: path.to_string() });
        }
        if !metadata.is_file() {
            return Err(WorkspaceError::NotAFile { path: path.to_string() });
        }
        Ok((file, metadata.len()))
    }

    /// At most `most` entries of a folder, in no order, and whether there are more.
    pub(crate) fn entries(
        &self,
        path: &RelativePath,
        most: usize,
    ) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        system::entries(&self.root, path, most).map_err(|source| self.refusal(path, source))
    }

    fn refusal(&self, path: &RelativePath, source: io::Error) -> WorkspaceError {
        let path = path.to_string();
        match source.kind() {
            io::ErrorKind::NotFound => WorkspaceError::Missing { path },
            io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder { path },
            io::ErrorKind::IsADirectory => WorkspaceError::IsAFolder { path },
            io::ErrorKind::CrossesDevices => WorkspaceError::Outside { path },
            io::ErrorKind::InvalidFilename => WorkspaceError::Unusable { path },
            _ if system::is_link_refusal(&source) => WorkspaceError::Link { path },
            _ if system::is_special_file(&source) => WorkspaceError::NotAFile { path },
            _ => WorkspaceError::Open { path, source },
        }
    }
}

impl RelativePath {
    /// The entry `name` of this folder, which came from the folder's own listing.
    pub(crate) fn child(&self, name: &std::ffi::OsStr) -> Self {
        Self(self.0.join(name))
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }

    /// The folder that it lies in, and its name there; none for the workspace itself.
    pub(crate) fn split(&self) -> Option<(Self, &std::ffi::OsStr)> {
        Some((Self(self.0.parent()?.to_owned()), self.0.file_name()?))
    }
}

/// With slashes on every system, and `.` for the workspace itself. Everything in it is to be seen: a person is asked
/// about the path that is shown, and another one must not look like it.
impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|name| name.to_string_lossy()).collect();
        let joined = visible_path(&names.join("/"));
        f.write_str(if joined.is_empty() { "." } else { &joined })
    }
}

/// The person's home folder.
pub(crate) fn home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
}

/// What `~` and `~/…` mean; none for every other path.
pub(crate) fn from_home(text: &str) -> Option<PathBuf> {
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(home()?.join(rest.trim_start_matches('/')))
}
