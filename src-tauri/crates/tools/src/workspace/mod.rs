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
//! It refuses everything that is neither a regular file nor a folder: reading a device or a pipe can hang or do things.
//! It cannot see that a file inside is hard-linked to one outside; making such a link needs the person's own rights.
//! One could get this wrong by resolving the path first and opening it by name afterwards.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use rouse_core::tool::ToolOutput;
use serde_json::Value;
use thiserror::Error;

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

/// Why a path could not be opened. The words are for the caller, who may mend the path.
#[derive(Debug, Error)]
pub(crate) enum WorkspaceError {
    /// Opening the workspace itself failed.
    #[error(
        "The workspace folder cannot be opened ({}). The person can set another one in the settings.",
        reason(source)
    )]
    Root { source: io::Error },
    /// The path names something outside, or uses `..`.
    #[error(
        "{path:?} is outside the workspace. Use a path relative to the workspace, without `..`."
    )]
    Outside { path: String },
    /// The path cannot be a path.
    #[error("{path:?} is not a usable path.")]
    Unusable { path: String },
    /// Nothing is there.
    #[error("There is nothing at {path}.")]
    Missing { path: String },
    /// A folder was asked for.
    #[error("{path} is not a folder.")]
    NotAFolder { path: String },
    /// A file was asked for.
    #[error("{path} is a folder. Use list_dir to see what is in it.")]
    IsAFolder { path: String },
    /// A device, a pipe or a socket.
    #[error("{path} is not a regular file.")]
    NotAFile { path: String },
    /// A link on the way is not followed.
    #[error("{path} leads through a link that is not followed.")]
    Link { path: String },
    /// Opening failed otherwise.
    #[error("{path} cannot be opened ({}).", reason(source))]
    Open { path: String, source: io::Error },
    /// Reading failed.
    #[error("{path} cannot be read ({}).", reason(source))]
    Read { path: String, source: io::Error },
}

impl Workspace {
    /// Opens the folder `path`. It is the person's own setting, so links on the way to it are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let root = system::open_root(path).map_err(|source| WorkspaceError::Root { source })?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// Takes a written path apart. An absolute one is taken as relative when it begins with the workspace's own path;
    /// that is only a way of reading it: what counts is that it is then opened beneath the handle.
    pub(crate) fn relative(&self, text: &str) -> Result<RelativePath, WorkspaceError> {
        let path = Path::new(text);
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

    /// Opens a regular file for reading, and tells its size.
    pub(crate) fn open_file(&self, path: &RelativePath) -> Result<(File, u64), WorkspaceError> {
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
}

/// With slashes on every system, and `.` for the workspace itself.
impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|name| name.to_string_lossy()).collect();
        let joined = crate::text::plain_line(&names.join("/"));
        f.write_str(if joined.is_empty() { "." } else { &joined })
    }
}

/// What `work` on files comes to, done where waiting for a disk holds up nobody else.
pub(crate) async fn answered<E: fmt::Display + Send + 'static>(
    work: impl FnOnce() -> Result<Value, E> + Send + 'static,
) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => ToolOutput::ok(value),
        Ok(Err(error)) => ToolOutput::error(error.to_string()),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => ToolOutput::error("Rouse is closing."),
    }
}

/// The system's reason in its usual words, without its number.
fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    let end = words.find(" (os error").unwrap_or(words.len());
    words[..end].to_lowercase()
}
