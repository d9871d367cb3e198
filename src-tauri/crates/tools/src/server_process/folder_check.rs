//! The folders of a server definition, checked before a page shows them.
//!
//! Owns the check of the working folder. The rules of grants are those of `workspace::folders`, as at a start. A granted
//! folder that does not exist passes: a person may create the folder before the start. Never creates a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::extension::ServerStartError;
use rouse_core::job::FolderGrant;

use crate::workspace::{RunFolders, expand_granted_path};

/// Refuses granted folders that no start of a confined server accepts. `hidden` is Rouse's own data.
///
/// # Errors
/// The first refused folder: cause and remedy as sentences.
pub fn check_granted_folders(
    grants: &[FolderGrant],
    private_folder: &Path,
    hidden: &[PathBuf],
) -> Result<(), ServerStartError> {
    // silent-ok: a folder that cannot be looked at may exist; its grant is checked.
    let exists =
        |grant: &&FolderGrant| expand_granted_path(&grant.path).try_exists().unwrap_or(true);
    let grants = grants.iter().filter(exists).cloned().collect();
    let hidden: Arc<[PathBuf]> = hidden.into();
    let folders = RunFolders::with_grants(private_folder, grants, &hidden);
    folders.granted_folders().map(drop).map_err(|error| ServerStartError(error.to_string()))
}

/// The working folder of a definition.
///
/// # Errors
/// The folder does not exist: cause and remedy as sentences.
pub fn working_folder(folder: &str) -> Result<PathBuf, ServerStartError> {
    let folder = expand_granted_path(folder);
    if folder.is_dir() {
        return Ok(folder);
    }
    let folder = folder.display();
    Err(ServerStartError(format!(
        "The working folder {folder} does not exist. Create it, or change the server's working folder."
    )))
}
