//! The sandbox of a call: folders, private home and hosts, and their description.
//!
//! Owns the paths of private homes. Never creates a home for a call that is only described.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::JobId;
use rouse_core::job::FolderAccess;
use rouse_core::tool::ToolContext;
use sha2::{Digest as _, Sha256};

use crate::sandbox::{Sandbox, SandboxError};
use crate::workspace::{GrantedFolder, RunFolders, expand_home};

/// The home of runs without a job: the main session, and trials of a tool.
const MAIN: &str = "main";

/// Builds the sandboxes of calls.
#[derive(Debug, Clone)]
pub(super) struct CallSandboxes {
    /// Rouse's own data.
    pub(super) hidden: Arc<[PathBuf]>,
    /// The folder of private homes; otherwise the home is `/tmp`.
    pub(super) homes: Option<PathBuf>,
}

impl CallSandboxes {
    /// Builds the sandbox of a call with this working directory.
    pub(super) fn build(
        &self,
        cwd: Option<&str>,
        context: &ToolContext,
    ) -> Result<Sandbox, SandboxError> {
        let folders = RunFolders::new(context, &self.hidden);
        let granted =
            folders.granted_folders().map_err(|error| SandboxError::Granted(error.to_string()))?;
        let at_home = cwd.and_then(expand_home).map(|cwd| cwd.display().to_string());
        let sandbox = Sandbox::new(&context.workspace, &granted, at_home.as_deref().or(cwd))?;
        let (home, hidden) = (self.home(context), self.hidden.to_vec());
        Ok(Sandbox { home, granted, hidden, hosts: context.sandbox.hosts().to_vec(), ..sandbox })
    }

    /// The private home of a run, existing or not.
    fn home(&self, context: &ToolContext) -> Option<PathBuf> {
        let homes = self.homes.as_ref()?;
        let homes = homes.canonicalize().unwrap_or_else(|_| homes.clone());
        Some(homes.join(home_name(context.job_id.as_ref())))
    }
}

/// The name of a job's home. Imported jobs may have any id, so an unusual id is hashed.
fn home_name(job: Option<&JobId>) -> String {
    let Some(job) = job else { return MAIN.to_owned() };
    let id = job.as_str();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&id.len()) && id.chars().all(is_plain) && id != MAIN {
        return id.to_owned();
    }
    let digest = Sha256::digest(id.as_bytes());
    let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("job_{digits}")
}

/// Lists the existing private homes.
///
/// # Errors
/// The folder cannot be read.
pub fn private_homes(homes: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(homes) {
        Ok(found) => found.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes the homes of jobs that are not among `jobs`; returns the count. Read `jobs` after `homes`, so that the home
/// of a new job stays. Logs failed removals.
#[must_use]
pub fn remove_homes_without_job(homes: &[PathBuf], jobs: &[JobId]) -> usize {
    let kept: Vec<String> = jobs.iter().map(Some).chain([None]).map(home_name).collect();
    let name = |home: &PathBuf| home.file_name()?.to_str().map(str::to_owned);
    let is_gone = |home: &&PathBuf| name(home).is_none_or(|name| !kept.contains(&name));
    homes.iter().filter(is_gone).filter(|home| remove_home(home)).count()
}

fn remove_home(home: &Path) -> bool {
    restore_owner_access(home);
    let removed = std::fs::remove_dir_all(home);
    if let Err(error) = &removed {
        let home = home.display();
        tracing::warn!(%home, %error, "failed to remove the home of a deleted job");
    }
    removed.is_ok()
}

/// Restores access to every folder, because a command may have removed access.
#[cfg(unix)]
fn restore_owner_access(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let mode = std::fs::Permissions::from_mode(0o700);
    if !is_folder || std::fs::set_permissions(folder, mode).is_err() {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        restore_owner_access(&entry.path());
    }
}

#[cfg(not(unix))]
fn restore_owner_access(_: &Path) {}

/// Describes the access of a command as sentences for an approval.
pub(super) fn describe_access(sandbox: &Sandbox) -> String {
    let home = match &sandbox.home {
        Some(home) => format!("HOME {} (private, kept between runs, at most 1 GB)", home.display()),
        None => "HOME (deleted when the command ends)".to_owned(),
    };
    let granted = |access| {
        let folders = sandbox.granted.iter().filter(move |folder| folder.access == access);
        folders.map(|folder| folder.path.display().to_string()).collect::<Vec<_>>()
    };
    let fixed =
        ["the workspace".to_owned(), home, "/tmp (deleted when the command ends)".to_owned()];
    let writable: Vec<_> = fixed.into_iter().chain(granted(FolderAccess::Write)).collect();
    let readable = match granted(FolderAccess::Read).as_slice() {
        [] => String::new(),
        folders => format!(" It can read {}.", folders.join(", ")),
    };
    format!("It can write {}.{readable} A write anywhere else fails.", writable.join(", "))
}

/// Describes the access in short, for the model that gets the result.
pub(super) fn summarize_access(sandbox: &Sandbox) -> String {
    let home = match &sandbox.home {
        Some(home) => format!("HOME={} is private and kept", home.display()),
        None => "HOME is deleted".to_owned(),
    };
    let network = match sandbox.hosts.as_slice() {
        [] => "no network".to_owned(),
        hosts => format!("network: {} only", hosts.join(", ")),
    };
    format!("{home}; /tmp is deleted; {network}")
}

/// The folders with files in an approval's fingerprint, because calls of a run can change those files.
pub(super) fn bound_roots(sandbox: &Sandbox) -> Vec<PathBuf> {
    let granted = sandbox.granted.iter().map(|GrantedFolder { path, .. }| path);
    [&sandbox.workspace].into_iter().chain(granted).chain(&sandbox.home).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::workspace::create_private_folder;

    #[test]
    fn unusual_job_id_is_hashed() {
        let name = |id: &str| home_name(Some(&JobId::new(id)));
        assert_eq!(name("0192-ab"), "0192-ab");
        assert_eq!(home_name(None), "main");
        for id in ["main", "../x", "", "A", "a/b", "job_1", &"x".repeat(65)] {
            let name = name(id);
            assert!(name.starts_with("job_") && name.len() == 36, "{id}: {name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn home_is_removed_with_its_job() {
        use std::os::unix::fs::PermissionsExt as _;
        let homes = tempfile::tempdir().expect("a folder");
        for name in ["main", "one", "two"] {
            create_private_folder(&homes.path().join(name)).expect("made");
        }
        let locked = homes.path().join("two/locked");
        std::fs::create_dir_all(locked.join("below")).expect("made");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("set");
        let found = private_homes(homes.path()).expect("listed");
        assert_eq!(remove_homes_without_job(&found, &[JobId::new("one")]), 1);
        let mut left: Vec<_> = std::fs::read_dir(homes.path())
            .expect("listed")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["main", "one"]);
    }
}
