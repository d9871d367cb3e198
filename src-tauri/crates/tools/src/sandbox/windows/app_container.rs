//! The AppContainer of a workspace. Preview: never run on Windows.
//!
//! A single AppContainer per workspace instead of per run, because granting access walks through the folder, and later
//! commands must find the files of earlier commands. New files inherit the access. Refuses a workspace that contains
//! the home folder, Rouse's data or a whole disk, and a workspace on the network. Skips links and hard links, whose
//! other name may lie elsewhere. Pitfall: inheritance applied by the system, which follows both.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf, Prefix};

use sha2::{Digest as _, Sha256};

use super::acl::{self, Sid};
use super::missing_layer::missing;
use crate::sandbox::error::{SandboxError, SandboxLayer};
use crate::sandbox::spec::Sandbox;

const READ_CONTROL: u32 = 0x0002_0000;
const WRITE_DAC: u32 = 0x0004_0000;
const FILE_READ_ATTRIBUTES: u32 = 0x0080;
const FILE_SHARE_READ: u32 = 0x0001;
const FILE_SHARE_WRITE: u32 = 0x0002;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_ATTRIBUTE_DIRECTORY: u32 = 0x0010;
const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x0400;

/// The AppContainer of this workspace, with access granted.
pub(super) fn for_workspace(workspace: &Path) -> Result<Sid, SandboxError> {
    let sid = acl::create_app_container(&container_name(workspace)).map_err(|error| {
        missing(SandboxLayer::AppContainer, error.to_string(), "It requires Windows 10 or newer.")
    })?;
    grant_access(workspace, &sid).map_err(|error| SandboxError::Workspace {
        path: workspace.to_owned(),
        why: format!("access to it could not be granted ({error})"),
    })?;
    Ok(sid)
}

/// The name of a workspace's AppContainer: a hash of at most 64 characters, which discloses nothing.
pub(super) fn container_name(workspace: &Path) -> String {
    let path = workspace.to_string_lossy().to_lowercase();
    let digest = Sha256::digest(path.as_bytes());
    let digits: String = digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    format!("rouse.{digits}")
}

/// Refuses a workspace that contains more than a project.
pub(super) fn check_workspace(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let refused = |why: &str| {
        Err(SandboxError::Workspace { path: sandbox.workspace.clone(), why: why.to_owned() })
    };
    let holds = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with(&sandbox.workspace)
    };
    if strip_verbatim_prefix(&sandbox.workspace).is_none() {
        return refused("it is not a folder on a disk of this computer");
    }
    if sandbox.workspace.parent().is_none() {
        return refused("it is a whole disk");
    }
    if std::env::var_os("USERPROFILE").is_some_and(|home| holds(Path::new(&home))) {
        return refused("it contains your whole home folder");
    }
    if sandbox.hidden.iter().any(|path| holds(path)) {
        return refused("it contains Rouse's own data");
    }
    Ok(())
}

/// Removes the prefix `\\?\`, which many programs do not understand; `None` for a path without a drive letter.
pub(super) fn strip_verbatim_prefix(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return None };
    match prefix.kind() {
        Prefix::VerbatimDisk(letter) | Prefix::Disk(letter) => {
            Some(PathBuf::from(format!("{}:", char::from(letter))).join(parts.as_path()))
        }
        _ => None,
    }
}

/// Grants access to a folder and the content; to the folder itself last, so that an interrupted walk is repeated.
pub(super) fn grant_access(folder: &Path, sid: &Sid) -> io::Result<()> {
    let root = open_itself(folder)?;
    if acl::has_access(&root, sid)? {
        return Ok(());
    }
    grant_below(folder, sid)?;
    acl::grant(&root, sid, true)
}

fn grant_below(folder: &Path, sid: &Sid) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // A file that cannot be opened stays closed to commands.
        if let Err(error) = grant_entry(&path, sid) {
            tracing::debug!(%error, ?path, "failed to grant access to a file");
        }
    }
    Ok(())
}

/// Keeps a folder open during the walk, so that no link can replace the folder.
fn grant_entry(path: &Path, sid: &Sid) -> io::Result<()> {
    let file = open_itself(path)?;
    let attributes = file.metadata()?.file_attributes();
    if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        return Ok(());
    }
    let is_folder = attributes & FILE_ATTRIBUTE_DIRECTORY != 0;
    if !is_folder && winapi_util::file::information(&file)?.number_of_links() > 1 {
        return Ok(());
    }
    acl::grant(&file, sid, is_folder)?;
    if is_folder { grant_below(path, sid) } else { Ok(()) }
}

/// Opens a path itself, link or not; an open path keeps its name.
fn open_itself(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}
