//! The AppContainer of a workspace: one for each folder, which has rights on that folder and on nothing else.
//!
//! It belongs to the workspace and not to the run: giving rights means walking through all that is in the folder, and a
//! command that leaves files behind is to find them again. What is made in the folder later has the rights from the
//! folder itself. It refuses a folder that would bring the home, Rouse's data or a whole disk along, and one of the
//! network. It passes over links, and files that have a second name: that name may lie elsewhere. One could get it wrong
//! by letting the system spread the rights downwards: it would follow both.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf, Prefix};

use sha2::{Digest as _, Sha256};

use super::missing;
use super::rights::{self, Sid};
use crate::sandbox::{Layer, Sandbox, SandboxError};

const READ_CONTROL: u32 = 0x0002_0000;
const WRITE_DAC: u32 = 0x0004_0000;
const FILE_READ_ATTRIBUTES: u32 = 0x0080;
const FILE_SHARE_READ: u32 = 0x0001;
const FILE_SHARE_WRITE: u32 = 0x0002;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_ATTRIBUTE_DIRECTORY: u32 = 0x0010;
const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x0400;

/// The AppContainer of this workspace, which has its rights when this answers.
pub(super) fn of(workspace: &Path) -> Result<Sid, SandboxError> {
    let sid = rights::app_container(&name(workspace)).map_err(|error| {
        missing(Layer::AppContainer, error.to_string(), "It needs Windows 10 or newer.")
    })?;
    open_to(workspace, &sid).map_err(|error| SandboxError::Workspace {
        path: workspace.to_owned(),
        why: format!("no rights could be given on it ({error})"),
    })?;
    Ok(sid)
}

/// The name of a workspace's AppContainer: it says nothing of the folder, and has at most 64 characters.
pub(super) fn name(workspace: &Path) -> String {
    let path = workspace.to_string_lossy().to_lowercase();
    let digest = Sha256::digest(path.as_bytes());
    let digits: String = digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    format!("rouse.{digits}")
}

/// What a command must not be given by way of its workspace.
pub(super) fn check(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let refused = |why: &str| {
        Err(SandboxError::Workspace { path: sandbox.workspace.clone(), why: why.to_owned() })
    };
    let holds = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with(&sandbox.workspace)
    };
    if plain(&sandbox.workspace).is_none() {
        return refused("it is not a folder of a disk of this computer");
    }
    if sandbox.workspace.parent().is_none() {
        return refused("it is a whole disk");
    }
    if std::env::var_os("USERPROFILE").is_some_and(|home| holds(Path::new(&home))) {
        return refused("it holds your whole home");
    }
    if sandbox.hidden.iter().any(|path| holds(path)) {
        return refused("it holds Rouse's own data");
    }
    Ok(())
}

/// The path as every program understands it, without `\\?\`; none when it does not begin with the letter of a disk.
pub(super) fn plain(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return None };
    match prefix.kind() {
        Prefix::VerbatimDisk(letter) | Prefix::Disk(letter) => {
            Some(PathBuf::from(format!("{}:", char::from(letter))).join(parts.as_path()))
        }
        _ => None,
    }
}

/// Gives the rights; the folder itself comes last, so that a walk that was broken off is made again.
pub(super) fn open_to(folder: &Path, sid: &Sid) -> io::Result<()> {
    let root = opened(folder)?;
    if rights::is_granted(&root, sid)? {
        return Ok(());
    }
    open_below(folder, sid)?;
    rights::grant(&root, sid, true)
}

fn open_below(folder: &Path, sid: &Sid) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // What cannot be opened to commands stays closed to them.
        if let Err(error) = open_one(&path, sid) {
            tracing::debug!(%error, ?path, "no rights were given on a file");
        }
    }
    Ok(())
}

/// As long as a folder is walked through it is kept open, so that nobody can put a link in its place.
fn open_one(path: &Path, sid: &Sid) -> io::Result<()> {
    let file = opened(path)?;
    let attributes = file.metadata()?.file_attributes();
    if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        return Ok(());
    }
    let is_folder = attributes & FILE_ATTRIBUTE_DIRECTORY != 0;
    if !is_folder && winapi_util::file::information(&file)?.number_of_links() > 1 {
        return Ok(());
    }
    rights::grant(&file, sid, is_folder)?;
    if is_folder { open_below(path, sid) } else { Ok(()) }
}

/// The file itself, also where it is a link; while it is open it keeps its name.
fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}
