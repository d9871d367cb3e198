//! An open workspace: paths, files and entries beneath the handle of the folder.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::entry::FolderEntry;
use super::error::WorkspaceError;
use super::path::{RelativePath, expand_home};
use super::system;

/// An open workspace.
pub(crate) struct Workspace {
    pub(super) root: system::RootHandle,
    pub(super) path: PathBuf,
}

impl Workspace {
    /// Opens the folder `path`. Links on the way are followed: the path is the person's own setting.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let root = system::open_root(path).map_err(|source| WorkspaceError::Root { source })?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// Opens a subfolder as a separate workspace, out of which no path leads. Refuses a link in its place.
    pub(crate) fn open_subfolder(&self, path: &RelativePath) -> Result<Self, WorkspaceError> {
        let root = system::open_subfolder(&self.root, path)
            .map_err(|source| self.open_error(path, source))?;
        Ok(Self { root, path: self.path.join(path.as_path()) })
    }

    /// Splits a written path into plain components. An absolute path is accepted if it begins with the workspace's path; the open
    /// beneath the handle is the actual check.
    pub(crate) fn parse_path(&self, text: &str) -> Result<RelativePath, WorkspaceError> {
        let at_home = expand_home(text);
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

    /// Makes a real path relative to the workspace; `None` if outside. The names need not be UTF-8.
    pub(crate) fn relative_path(&self, real: &Path) -> Option<RelativePath> {
        let inside = real.strip_prefix(&self.path).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(name) if system::is_plain(name));
        inside.components().all(is_plain).then(|| RelativePath(inside.to_owned()))
    }

    /// Opens a regular file without hard links for reading; returns the size too.
    pub(crate) fn open_file(&self, path: &RelativePath) -> Result<(File, u64), WorkspaceError> {
        let (file, size) = self.open_linked_file(path)?;
        if system::has_hard_links(&file).map_err(|source| self.open_error(path, source))? {
            return Err(WorkspaceError::HardLink { path: path.to_string() });
        }
        Ok((file, size))
    }

    /// Like `open_file`, hard links included. For callers that do not disclose the content.
    pub(crate) fn open_linked_file(
        &self,
        path: &RelativePath,
    ) -> Result<(File, u64), WorkspaceError> {
        let failed = |source| self.open_error(path, source);
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

    /// Lists at most `limit` entries of a folder in no order; returns whether there are more.
    pub(crate) fn list_entries(
        &self,
        path: &RelativePath,
        limit: usize,
    ) -> Result<(Vec<FolderEntry>, bool), WorkspaceError> {
        system::list_entries(&self.root, path, limit)
            .map_err(|source| self.open_error(path, source))
    }

    pub(super) fn open_error(&self, path: &RelativePath, source: io::Error) -> WorkspaceError {
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
