//! The sandbox: a command that sees the workspace, a private home, the granted folders and the system's programs.
//!
//! Promises: a command can write the workspace, its home, `/tmp` and the folders granted for writing. A write anywhere
//! else fails; it never goes to a copy that is thrown away. The workspace, the home and granted folders stay, `/tmp` ends
//! with the command. The person's home, Rouse's data and keys are not there. There is no network but the granted hosts,
//! through a proxy that judges every address as `http` does. The environment is a list. Processes, memory, output, time,
//! files and disk are bounded. When the command ends, all that it started has ended. It **fails closed**: where a system cannot hold one of these, nothing is run, and the error says which layer
//! is missing and what to do. It refuses to be asked by a model: whether a call is confined stands in the context of the
//! run, never in its arguments.
//!
//! - Linux: all of the above (`linux`). Memory is bounded exactly for a process, and for all together by `watch`.
//! - macOS: the disk and the network, by a Seatbelt profile (`macos`), with granted hosts through the proxy. Memory is
//!   bounded by `watch`; a process that gets away before it was seen is not ended.
//! - Windows: an AppContainer in a job object (`windows`), once it has withstood a command that tries to get out. Hosts
//!   cannot be granted there, and a file that a command runs is no copy.
//!
//! One could get it wrong by falling back: to a weaker sandbox, or to none, because the right one did not start.

#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
mod system;

mod proxy;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(unix)]
mod storage;
#[cfg(unix)]
mod watch;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit};
use thiserror::Error;
#[cfg(not(windows))]
use tokio::process::Command;

use crate::child::Child;
use crate::http::Fetcher;
use crate::reach::GrantedFolder;
#[cfg(windows)]
pub(crate) use system::Confined;
#[cfg(windows)]
use system::begin;

/// One command's room.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    /// The workspace, by its real path; it may be written.
    pub(crate) workspace: PathBuf,
    /// The private home, by its real path; it may be written and stays. `/tmp` when there is none.
    pub(crate) home: Option<PathBuf>,
    /// The folders that the job grants, outer folders first.
    pub(crate) granted: Vec<GrantedFolder>,
    /// Where the command begins, in the workspace.
    pub(crate) folder: PathBuf,
    /// What is not to be seen even if the workspace holds it.
    pub(crate) hidden: Vec<PathBuf>,
    /// Programs outside of the system's folders that may be run, by their real paths.
    #[cfg_attr(windows, expect(dead_code, reason = "an AppContainer reads installed programs"))]
    pub(crate) shown: Vec<PathBuf>,
    /// Hosts that may be reached; none when empty.
    pub(crate) hosts: Vec<String>,
    /// Files of the workspace of which the command sees these copies.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no copies there"))]
    pub(crate) sealed: Vec<Sealed>,
    /// How much it may take.
    pub(crate) limits: Limits,
}

/// The copy of a file of the workspace that a confined command sees in its place, whatever becomes of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// What is in it.
    pub(crate) content: Vec<u8>,
    /// Its rights.
    pub(crate) mode: u32,
    /// Whether the command may change the copy, which is gone with it.
    pub(crate) may_change: bool,
}

/// The signal by which a command is ended whose copies did not stay in their place; nothing else uses it.
#[cfg(target_os = "linux")]
pub(crate) const REPLACED: i32 = libc::SIGSTKFLT;

/// How much a confined command may take, beside time and output, which bound every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most processes at once; on Linux threads count as well, on macOS those that the user has besides are added.
    pub(crate) processes: u32,
    /// Most memory of all together: exactly on Windows, elsewhere about (`watch`); one process on Linux exactly.
    pub(crate) memory_bytes: u64,
    /// Most that fits into its folders in memory together (`/tmp`, `/dev/shm`, home).
    #[cfg(target_os = "linux")]
    pub(crate) temporary_bytes: u64,
    /// What is to be left of the disks that it may write; half of what there is when that is less.
    #[cfg(unix)]
    pub(crate) disk_left_bytes: u64,
    /// The files and folders that it may add to a disk.
    #[cfg(unix)]
    pub(crate) new_files: u64,
    /// The most that its home may hold.
    #[cfg(unix)]
    pub(crate) home_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 512,
            memory_bytes: 4 << 30,
            #[cfg(target_os = "linux")]
            temporary_bytes: 512 << 20,
            #[cfg(unix)]
            disk_left_bytes: 1 << 30,
            #[cfg(unix)]
            new_files: 1_000_000,
            #[cfg(unix)]
            home_bytes: 1 << 30,
        }
    }
}

/// The limit of the kernel that leaves a command `wanted`, or what this process itself is left when that is less.
#[cfg(unix)]
fn at_most(resource: Resource, wanted: u64) -> (Resource, Rlimit) {
    let allowed = getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
    (resource, Rlimit { current: Some(allowed), maximum: Some(allowed) })
}

/// What the sandbox holds on this computer, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layers {
    /// The layers that are there.
    pub held: &'static str,
    /// What nobody should rely on.
    pub not_held: Option<&'static str>,
}

/// A layer that a confined command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Layer {
    /// Users, mounts and the rest of its own.
    #[error("namespaces")]
    Namespaces,
    /// Processes of its own.
    #[error("a view of its own processes only")]
    Processes,
    /// A disk of its own.
    #[error("a view of the workspace only")]
    View,
    /// A network of its own.
    #[error("a network of its own")]
    Network,
    /// No rights to gain.
    #[error("giving up rights")]
    Rights,
    /// Landlock.
    #[error("Landlock")]
    Landlock,
    /// Seccomp.
    #[error("seccomp")]
    Seccomp,
    /// Bounds.
    #[error("limits on what it takes")]
    Limits,
    /// A container without rights and without a network.
    #[error("an AppContainer")]
    AppContainer,
    /// That it was seen to hold.
    #[error("a proof that the sandbox holds")]
    Proof,
    /// The sandbox of the system as a whole.
    #[error("a sandbox")]
    All,
}

/// A layer is missing, so nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "This computer cannot confine a command. What is missing: {layer} ({why}). {mend} Nothing was run."
)]
pub struct Missing {
    /// Which.
    pub layer: Layer,
    /// What the system said.
    pub why: String,
    /// What a person can do.
    pub mend: String,
}

/// Why a confined command was not started.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// A layer is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The workspace cannot be shown alone.
    #[error("A confined command cannot work in {}: {why}. Choose a folder of its own as the workspace. Nothing was run.", path.display())]
    Workspace {
        /// The workspace.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The folder is elsewhere.
    #[error("A confined command can only begin in the workspace or in a folder that the job grants, and {} is in none of them. Nothing was run.", path.display())]
    Folder {
        /// The folder that was asked for.
        path: PathBuf,
    },
    /// A path that no system call takes.
    #[error("The path {} cannot be used. Nothing was run.", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A folder that the job grants cannot be used.
    #[error("{0} Nothing was run.")]
    Granted(String),
    /// The system refused, and not for the sandbox.
    #[error("The command could not be started: {0}.")]
    Start(#[source] io::Error),
}

/// What this computer can hold, found out by starting a confined command that does nothing.
///
/// # Errors
/// Which layer is missing, and what to do.
pub fn available() -> Result<Layers, SandboxError> {
    system::available()
}

impl Sandbox {
    /// A room in `workspace` for a command that begins in `cwd`, which lies there or in a granted folder.
    ///
    /// # Errors
    /// When a folder is not there, or `cwd` lies in none of them.
    pub(crate) fn new(
        workspace: &Path,
        granted: &[GrantedFolder],
        cwd: Option<&str>,
    ) -> Result<Self, SandboxError> {
        let found = |path: &Path| {
            path.canonicalize().map_err(|_| SandboxError::Folder { path: path.to_owned() })
        };
        let real = found(workspace)?;
        let wanted = cwd.map_or_else(|| real.clone(), |cwd| real.join(cwd));
        let folder = found(&wanted)?;
        let is_granted = granted.iter().any(|granted| folder.starts_with(&granted.path));
        if !(folder.starts_with(&real) || is_granted) || !folder.is_dir() {
            return Err(SandboxError::Folder { path: wanted });
        }
        Ok(Self {
            workspace: real,
            home: None,
            granted: Vec::new(),
            folder,
            hidden: Vec::new(),
            shown: Vec::new(),
            hosts: Vec::new(),
            sealed: Vec::new(),
            limits: Limits::default(),
        })
    }

    /// The same, once what takes its time is done, on a thread that may wait.
    ///
    /// # Errors
    /// When a layer is missing.
    #[cfg(windows)]
    pub(crate) async fn prepared(self) -> Result<Self, SandboxError> {
        let prepare = move || system::prepare(&self).map(|()| self);
        let done = tokio::task::spawn_blocking(prepare).await;
        done.unwrap_or_else(|error| Err(SandboxError::Start(io::Error::other(error))))
    }

    /// Starts the system's shell on `line`, with these variables and no others, under `mark`. `fetcher` judges
    /// where the granted hosts may be.
    ///
    /// # Errors
    /// When a layer is missing: then nothing was run.
    pub(crate) fn spawn(
        &self,
        line: &str,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        mark: &str,
        fetcher: Fetcher,
    ) -> Result<Child, SandboxError> {
        let (child, held) = begin(self, line, variables, mark)?;
        let (listener, life, left_running) =
            held.begun(self, &child).map_err(SandboxError::Start)?;
        let proxy = listener.map(|listener| proxy::answer(listener, &self.hosts, fetcher));
        let proxy = proxy.transpose().map_err(SandboxError::Start)?;
        Ok(child.keeping((life, proxy)).asking(left_running))
    }
}

#[cfg(not(windows))]
fn begin(
    sandbox: &Sandbox,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    mark: &str,
) -> Result<(Child, system::Held), SandboxError> {
    let (command, held) = system::shell(sandbox, line)?;
    let mut command = Command::from(command);
    command.env_clear().envs(variables).envs(held.folders());
    if let Some(address) = held.proxy_address() {
        command.envs(proxy::VARIABLES.iter().map(|name| (name, &address)));
    }
    let child = Child::spawn(command, mark).map_err(|error| held.explain(error))?;
    Ok((child, held))
}

/// An AppContainer has no rights on a folder that does not name it.
#[cfg(windows)]
fn no_folders() -> SandboxError {
    let why = "folders can be granted to a confined command only on Linux and macOS".to_owned();
    let mend =
        "Take the folders out of the job, or let a person allow it without a sandbox.".to_owned();
    Missing { layer: Layer::View, why, mend }.into()
}

/// There is no place in such a sandbox where a proxy could answer.
#[cfg(windows)]
fn no_hosts() -> SandboxError {
    let why = "hosts can be granted to a confined command only on Linux and macOS".to_owned();
    let mend =
        "Take the hosts out of the job, or let a person allow it without a sandbox.".to_owned();
    Missing { layer: Layer::Network, why, mend }.into()
}
