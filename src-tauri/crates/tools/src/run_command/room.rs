//! The sandbox of one call: its folders, its private home and its hosts, and the words that tell of them.
//!
//! Owns where the private home of a job is and how the reach of a command is described to a person and to a model. Creates
//! no home while a call is only looked at.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::JobId;
use rouse_core::job::FolderAccess;
use rouse_core::tool::ToolContext;
use sha2::{Digest as _, Sha256};

use super::Arguments;
use crate::reach::{GrantedFolder, Reach};
use crate::sandbox::{Sandbox, SandboxError};
use crate::workspace::from_home;

/// The home of runs that belong to no job: the main session, and a tool that a person tries.
const MAIN: &str = "main";

/// What the sandboxes of all calls have in common.
#[derive(Debug, Clone)]
pub(super) struct Rooms {
    /// Rouse's own data.
    pub(super) hidden: Arc<[PathBuf]>,
    /// The folder with the private homes; without one, a command's home is `/tmp`.
    pub(super) homes: Option<PathBuf>,
}

impl Rooms {
    /// The sandbox of this call. Its working directory lies in the workspace or in a granted folder.
    pub(super) fn of(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
    ) -> Result<Sandbox, SandboxError> {
        let reach = Reach::of(context, &self.hidden);
        let granted = reach.granted().map_err(|error| SandboxError::Granted(error.to_string()))?;
        let at_home = arguments.cwd.as_deref().and_then(from_home);
        let at_home = at_home.map(|cwd| cwd.display().to_string());
        let cwd = at_home.as_deref().or(arguments.cwd.as_deref());
        let sandbox = Sandbox::new(&context.workspace, &granted, cwd)?;
        let (home, hidden) = (self.home(context), self.hidden.to_vec());
        Ok(Sandbox { home, granted, hidden, hosts: context.sandbox.hosts().to_vec(), ..sandbox })
    }

    /// Where the private home of a run is, whether it exists yet or not.
    fn home(&self, context: &ToolContext) -> Option<PathBuf> {
        let homes = self.homes.as_ref()?;
        let homes = homes.canonicalize().unwrap_or_else(|_| homes.clone());
        Some(homes.join(home_name(context.job_id.as_ref())))
    }
}

/// Creates a private home that nobody else may look into.
pub(super) fn create_home(home: &Path) -> io::Result<()> {
    if home.is_dir() {
        return Ok(());
    }
    let mut folder = std::fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(home)
}

/// The name of a job's home. An imported job may have any id, so one that is no plain name is hashed.
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

/// The private homes that exist.
///
/// # Errors
/// When they cannot be listed.
pub fn private_homes(homes: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(homes) {
        Ok(found) => found.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes those of `homes` whose job is not among `jobs`; returns how many. `jobs` has to be read after `homes`, so that
/// the home of a job that is made meanwhile stays. A home that cannot be removed is logged.
#[must_use]
pub fn remove_homes_without_job(homes: &[PathBuf], jobs: &[JobId]) -> usize {
    let kept: Vec<String> = jobs.iter().map(Some).chain([None]).map(home_name).collect();
    let name = |home: &PathBuf| home.file_name()?.to_str().map(str::to_owned);
    let is_gone = |home: &&PathBuf| name(home).is_none_or(|name| !kept.contains(&name));
    homes.iter().filter(is_gone).filter(|home| remove_home(home)).count()
}

fn remove_home(home: &Path) -> bool {
    open_to_owner(home);
    let removed = std::fs::remove_dir_all(home);
    if let Err(error) = &removed {
        let home = home.display();
        tracing::warn!(%home, %error, "the home of a deleted job was not removed");
    }
    removed.is_ok()
}

/// Lets the owner into every folder: a command may have locked some.
#[cfg(unix)]
fn open_to_owner(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let mode = std::fs::Permissions::from_mode(0o700);
    if !is_folder || std::fs::set_permissions(folder, mode).is_err() {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        open_to_owner(&entry.path());
    }
}

#[cfg(not(unix))]
fn open_to_owner(_: &Path) {}

/// What a confined command can write, read and reach, as sentences for the person who is asked.
pub(super) fn described(sandbox: &Sandbox) -> String {
    let home = match &sandbox.home {
        Some(home) => format!("HOME {} (private, kept between runs, at most 1 GB)", home.display()),
        None => "HOME (deleted when the command ends)".to_owned(),
    };
    let of = |access| {
        let granted = sandbox.granted.iter().filter(move |folder| folder.access == access);
        granted.map(|folder| folder.path.display().to_string()).collect::<Vec<_>>()
    };
    let written =
        ["the workspace".to_owned(), home, "/tmp (deleted when the command ends)".to_owned()];
    let written: Vec<_> = written.into_iter().chain(of(FolderAccess::Write)).collect();
    let read = of(FolderAccess::Read);
    let read =
        if read.is_empty() { String::new() } else { format!(" It can read {}.", read.join(", ")) };
    format!("It can write {}.{read} A write anywhere else fails.", written.join(", "))
}

/// The same for the model that gets the result, as short as it can be.
pub(super) fn told(sandbox: &Sandbox) -> String {
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

/// The folders whose files the calls of a run can change, so that an approval is bound to their content.
pub(super) fn roots(sandbox: &Sandbox) -> Vec<PathBuf> {
    let granted = sandbox.granted.iter().map(|GrantedFolder { path, .. }| path);
    [&sandbox.workspace].into_iter().chain(granted).chain(&sandbox.home).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_id_that_is_no_plain_name_is_hashed() {
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
            create_home(&homes.path().join(name)).expect("made");
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
