//! The folders that the calls of a run may use: the workspace, and what the person granted to the job.
//!
//! Owns the check of a grant against the disk, and the choice of the folder that a path lies in. Grants no folder that
//! brings the home, a part of the system or Rouse's own data along. Pitfall: a link on the way to a granted folder could
//! be led elsewhere after the grant, so the granted path has to be the real one.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::job::{FolderAccess, FolderGrant};
use rouse_core::tool::{Fault, ToolContext};

use crate::answer::Faulty;
use crate::workspace::{RelativePath, Workspace, WorkspaceError, from_home, home};

/// A granted folder, by its real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedFolder {
    pub(crate) path: PathBuf,
    pub(crate) access: FolderAccess,
}

/// Why a granted folder cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FolderError {
    #[error(
        "The folder {0} is granted to this job and does not exist. Create it, or take it out of the job's folders."
    )]
    Missing(String),
    #[error(
        "The granted folder {folder} leads to {real} through a link, and a link can be changed after a grant. Grant {real} instead."
    )]
    Link { folder: String, real: String },
    #[error("The folder {folder} cannot be granted: {why}. Grant a folder inside of it.")]
    Refused { folder: String, why: String },
}

impl Faulty for FolderError {
    fn fault(&self) -> Fault {
        match self {
            Self::Missing(_) => Fault::Execution,
            Self::Link { .. } | Self::Refused { .. } => Fault::NotAuthorised,
        }
    }
}

/// Folders that no grant may contain.
const SYSTEM: &[&str] = &["/usr", "/etc", "/var", "/tmp", "/Users", "/home", "/System", "/Library"];
/// Folders that no grant may lie in: devices, processes, and the sockets of other programs.
const NO_DATA: &[&str] = &["/dev", "/proc", "/sys", "/run", "/private/var/run"];

/// What the calls of one run may use.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    workspace: PathBuf,
    grants: Vec<FolderGrant>,
    hidden: Arc<[PathBuf]>,
}

/// A path in one of the folders.
pub(crate) struct Reached {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The open folder.
    pub(crate) workspace: Workspace,
    /// The path below it.
    pub(crate) path: RelativePath,
    /// The path as a person and a model read it: absolute where it lies in a granted folder.
    pub(crate) name: String,
}

impl Reach {
    /// The reach of a run. `hidden` is Rouse's own data.
    pub(crate) fn of(context: &ToolContext, hidden: &Arc<[PathBuf]>) -> Self {
        Self {
            workspace: context.workspace.clone(),
            grants: context.folders.clone(),
            hidden: Arc::clone(hidden),
        }
    }

    /// All granted folders that lie outside the workspace, by their real paths, outer folders first.
    ///
    /// # Errors
    /// The first grant that cannot be used.
    pub(crate) fn granted(&self) -> Result<Vec<GrantedFolder>, FolderError> {
        let all = self.grants.iter().map(|grant| self.real(grant));
        let mut folders = all.collect::<Result<Vec<_>, _>>()?;
        folders.retain(|folder| !folder.path.starts_with(self.real_workspace()));
        folders.sort_by_key(|folder| folder.path.components().count());
        Ok(folders)
    }

    /// Opens the folder that `path` lies in, for reading or for writing. A path that lies in no granted folder is one of
    /// the workspace.
    ///
    /// # Errors
    /// When the folder cannot be opened, or the path leads out of it.
    pub(crate) fn open(&self, path: &str, access: FolderAccess) -> Result<Reached, WorkspaceError> {
        let at_home = from_home(path);
        let wanted = at_home.as_deref().unwrap_or_else(|| Path::new(path));
        let is_enough = |grant: &&FolderGrant| {
            grant.access == FolderAccess::Write || access == FolderAccess::Read
        };
        let holds = |grant: &&FolderGrant| wanted.starts_with(expanded(&grant.path));
        let in_workspace = !wanted.has_root() || wanted.starts_with(&self.workspace);
        let grants = self.grants.iter().filter(|_| !in_workspace);
        let grant = grants.filter(holds).filter(is_enough).max_by_key(|grant| grant.path.len());
        let folder = match grant {
            Some(grant) => self.real(grant)?.path,
            None => self.workspace.clone(),
        };
        let workspace = Workspace::open(&folder)?;
        let path = workspace.relative(path)?;
        let below = path.to_string();
        let name = match grant {
            Some(_) if below == "." => folder.display().to_string(),
            Some(_) => format!("{}/{below}", folder.display()),
            None => below,
        };
        Ok(Reached { folder, workspace, path, name })
    }

    fn real_workspace(&self) -> PathBuf {
        self.workspace.canonicalize().unwrap_or_else(|_| self.workspace.clone())
    }

    fn real(&self, grant: &FolderGrant) -> Result<GrantedFolder, FolderError> {
        let folder = grant.path.clone();
        let path = expanded(&folder);
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| FolderError::Missing(folder.clone()))?;
        if plain(&real) != path {
            return Err(FolderError::Link { folder, real: plain(&real).display().to_string() });
        }
        match self.refusal(&real, grant.access) {
            Some(why) => Err(FolderError::Refused { folder, why }),
            None => Ok(GrantedFolder { path: real, access: grant.access }),
        }
    }

    /// Why a folder cannot be granted; none when it can.
    fn refusal(&self, folder: &Path, access: FolderAccess) -> Option<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if home().is_some_and(|home| real(&home).starts_with(folder)) {
            return Some("it contains your whole home".to_owned());
        }
        let is_near = |own: PathBuf| own.starts_with(folder) || folder.starts_with(&own);
        if self.hidden.iter().any(|own| is_near(real(own))) {
            return Some("it contains Rouse's own data, or lies in it".to_owned());
        }
        if access == FolderAccess::Write && self.real_workspace().starts_with(folder) {
            return Some("it contains the workspace".to_owned());
        }
        let contains = SYSTEM.iter().find(|part| Path::new(part).starts_with(folder));
        let lies_in = || NO_DATA.iter().find(|part| folder.starts_with(part));
        let part = contains.or_else(lies_in)?;
        Some(format!("it contains {part} of the system, or lies in it"))
    }
}

impl From<FolderError> for WorkspaceError {
    fn from(error: FolderError) -> Self {
        Self::Folder(error)
    }
}

/// A granted path with the home in the place of `~`.
pub(crate) fn expanded(path: &str) -> PathBuf {
    let real_home = || home().map(|home| home.canonicalize().unwrap_or(home));
    match path.strip_prefix('~') {
        Some(rest) => real_home().unwrap_or_default().join(rest.trim_start_matches(['/', '\\'])),
        None => PathBuf::from(path),
    }
}

/// A real path as people write it: without the `\\?\` of Windows.
fn plain(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    text.strip_prefix(r"\\?\").map_or_else(|| path.to_owned(), PathBuf::from)
}
