//! Folders that a run may use: the workspace and the job's granted folders.
//!
//! Owns the check of a grant against the disk, and the choice of the folder for a path. Never accepts a grant that would expose the
//! home folder, a system folder or Rouse's own data. Pitfall: a link on the way to a granted folder could be redirected after the
//! grant, so the granted path must be the real path.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::job::{FolderAccess, FolderGrant};
use rouse_core::tool::ToolContext;

use super::error::{FolderError, WorkspaceError};
use super::path::{RelativePath, expand_home, home_folder};
use super::root::Workspace;

/// A granted folder, by real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedFolder {
    pub(crate) path: PathBuf,
    pub(crate) access: FolderAccess,
}

/// Folders that no grant may contain.
const SYSTEM_FOLDERS: &[&str] =
    &["/usr", "/etc", "/var", "/tmp", "/Users", "/home", "/System", "/Library"];
/// Folders that no grant may lie in: devices, processes, sockets of other programs.
const RUNTIME_FOLDERS: &[&str] = &["/dev", "/proc", "/sys", "/run", "/private/var/run"];

/// The folders of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolders {
    workspace: PathBuf,
    grants: Vec<FolderGrant>,
    /// Rouse's own data.
    hidden: Arc<[PathBuf]>,
}

/// A path, resolved against the containing folder.
pub(crate) struct ResolvedPath {
    pub(crate) folder: PathBuf,
    /// `folder`, opened.
    pub(crate) workspace: Workspace,
    /// Relative to `folder`.
    pub(crate) path: RelativePath,
    /// For people and models: absolute in a granted folder, relative in the workspace.
    pub(crate) name: String,
}

impl RunFolders {
    /// Collects the folders of a run. `hidden` is Rouse's own data.
    pub(crate) fn new(context: &ToolContext, hidden: &Arc<[PathBuf]>) -> Self {
        Self {
            workspace: context.workspace.clone(),
            grants: context.folders.clone(),
            hidden: Arc::clone(hidden),
        }
    }

    /// Collects the folders of a program that no run starts.
    pub(crate) fn with_grants(
        workspace: &Path,
        grants: Vec<FolderGrant>,
        hidden: &Arc<[PathBuf]>,
    ) -> Self {
        Self { workspace: workspace.to_owned(), grants, hidden: Arc::clone(hidden) }
    }

    /// Returns the granted folders outside the workspace, by real path, parents first.
    ///
    /// # Errors
    /// The first unusable grant.
    pub(crate) fn granted_folders(&self) -> Result<Vec<GrantedFolder>, FolderError> {
        let all = self.grants.iter().map(|grant| self.verify_grant(grant));
        let mut folders = all.collect::<Result<Vec<_>, _>>()?;
        folders.retain(|folder| !folder.path.starts_with(self.real_workspace()));
        folders.sort_by_key(|folder| folder.path.components().count());
        Ok(folders)
    }

    /// Opens the folder that contains `path`. A path in no granted folder belongs to the workspace.
    ///
    /// # Errors
    /// The folder cannot be opened, or the path leads outside.
    pub(crate) fn resolve(
        &self,
        path: &str,
        access: FolderAccess,
    ) -> Result<ResolvedPath, WorkspaceError> {
        let at_home = expand_home(path);
        let wanted = at_home.as_deref().unwrap_or_else(|| Path::new(path));
        let is_enough = |grant: &&FolderGrant| {
            grant.access == FolderAccess::Write || access == FolderAccess::Read
        };
        let holds = |grant: &&FolderGrant| wanted.starts_with(expand_granted_path(&grant.path));
        let in_workspace = !wanted.has_root() || wanted.starts_with(&self.workspace);
        let grants = self.grants.iter().filter(|_| !in_workspace);
        let grant = grants.filter(holds).filter(is_enough).max_by_key(|grant| grant.path.len());
        let folder = match grant {
            Some(grant) => self.verify_grant(grant)?.path,
            None => self.workspace.clone(),
        };
        let workspace = Workspace::open(&folder)?;
        let path = workspace.parse_path(path)?;
        let below = path.to_string();
        let name = match grant {
            Some(_) if below == "." => folder.display().to_string(),
            Some(_) => format!("{}/{below}", folder.display()),
            None => below,
        };
        Ok(ResolvedPath { folder, workspace, path, name })
    }

    /// The real path of a folder, which lies in the folder that contains `path` even through links.
    ///
    /// # Errors
    /// The folder does not exist, or leads outside: the reason without a full stop.
    pub(crate) fn real_folder(&self, path: &str, access: FolderAccess) -> Result<PathBuf, String> {
        let text = |error: WorkspaceError| error.to_string().trim_end_matches('.').to_owned();
        let found = self.resolve(path, access).map_err(text)?;
        let root = found.folder.canonicalize().map_err(|error| error.to_string())?;
        let real = found.folder.join(found.path.as_path()).canonicalize();
        let real = real.map_err(|error| error.to_string())?;
        if real.is_dir() && real.starts_with(&root) {
            Ok(real)
        } else {
            Err("it is not a folder, or a link leads out of it".to_owned())
        }
    }

    fn real_workspace(&self) -> PathBuf {
        self.workspace.canonicalize().unwrap_or_else(|_| self.workspace.clone())
    }

    fn verify_grant(&self, grant: &FolderGrant) -> Result<GrantedFolder, FolderError> {
        let folder = grant.path.clone();
        let path = expand_granted_path(&folder);
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| FolderError::Missing(folder.clone()))?;
        let shown = strip_verbatim_prefix(&real);
        if shown != path {
            return Err(FolderError::Link { folder, real: shown.display().to_string() });
        }
        match self.rejection_reason(&real, grant.access) {
            Some(why) => Err(FolderError::Refused { folder, why }),
            None => Ok(GrantedFolder { path: real, access: grant.access }),
        }
    }

    fn rejection_reason(&self, folder: &Path, access: FolderAccess) -> Option<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if home_folder().is_some_and(|home| real(&home).starts_with(folder)) {
            return Some("it contains your whole home folder".to_owned());
        }
        let overlaps = |own: PathBuf| own.starts_with(folder) || folder.starts_with(&own);
        if self.hidden.iter().any(|own| overlaps(real(own))) {
            return Some("it overlaps Rouse's own data".to_owned());
        }
        if access == FolderAccess::Write && self.real_workspace().starts_with(folder) {
            return Some("it contains the workspace".to_owned());
        }
        let contains = SYSTEM_FOLDERS.iter().find(|part| Path::new(part).starts_with(folder));
        let lies_in = || RUNTIME_FOLDERS.iter().find(|part| folder.starts_with(part));
        let part = contains.or_else(lies_in)?;
        Some(format!("it overlaps the system folder {part}"))
    }
}

/// Expands `~` in a granted path to the real home folder.
#[must_use]
pub fn expand_granted_path(path: &str) -> PathBuf {
    let real_home = || home_folder().map(|home| home.canonicalize().unwrap_or(home));
    match path.strip_prefix('~') {
        Some(rest) => real_home().unwrap_or_default().join(rest.trim_start_matches(['/', '\\'])),
        None => PathBuf::from(path),
    }
}

/// Removes the verbatim prefix `\\?\` that Windows gives to canonical paths.
fn strip_verbatim_prefix(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    text.strip_prefix(r"\\?\").map_or_else(|| path.to_owned(), PathBuf::from)
}
