//! The specification of a command's sandbox: folders, hosts and limits.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit};

use super::error::SandboxError;
use crate::workspace::GrantedFolder;

/// The sandbox of a command. Paths are real paths.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    /// Writable.
    pub(crate) workspace: PathBuf,
    /// The private home, which is kept; `/tmp` if there is none. Writable.
    pub(crate) home: Option<PathBuf>,
    /// Granted folders, parents first.
    pub(crate) granted: Vec<GrantedFolder>,
    /// Working directory.
    pub(crate) folder: PathBuf,
    /// Hidden even inside the workspace.
    pub(crate) hidden: Vec<PathBuf>,
    /// Programs outside the system's folders.
    #[cfg_attr(windows, expect(dead_code, reason = "an AppContainer reads installed programs"))]
    pub(crate) extra_programs: Vec<PathBuf>,
    /// Reachable hosts.
    pub(crate) hosts: Vec<String>,
    /// Files of the workspace that the command sees as copies.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "copies exist on Linux only"))]
    pub(crate) sealed_files: Vec<SealedFile>,
    pub(crate) limits: Limits,
}

/// A copy of a workspace file, mounted over the file for a single command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SealedFile {
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    /// Permission bits.
    pub(crate) mode: u32,
    /// Whether the command may change the copy, which is discarded.
    pub(crate) is_writable: bool,
}

/// Ends a command with unmounted copies. No other cause raises this signal.
#[cfg(target_os = "linux")]
pub(crate) const COPY_REPLACED_SIGNAL: i32 = libc::SIGSTKFLT;

/// Resource limits of a sandboxed command. Every command also has limits on time and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Processes; threads count on Linux. On macOS added to the user's current count.
    pub(crate) processes: u32,
    /// Memory in sum: exact on Windows, measured elsewhere; on Linux exact for each process.
    pub(crate) memory_bytes: u64,
    /// Folders in memory in sum (`/tmp`, `/dev/shm`, home).
    #[cfg(target_os = "linux")]
    pub(crate) temporary_bytes: u64,
    /// Free space to be left on a disk; half of the free space if that is less.
    #[cfg(unix)]
    pub(crate) reserved_disk_bytes: u64,
    /// New files and folders on a disk.
    #[cfg(unix)]
    pub(crate) new_files: u64,
    /// Size of the home.
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
            reserved_disk_bytes: 1 << 30,
            #[cfg(unix)]
            new_files: 1_000_000,
            #[cfg(unix)]
            home_bytes: 1 << 30,
        }
    }
}

impl Sandbox {
    /// A sandbox in `workspace` with the working directory `cwd`, which lies there or in a granted folder.
    ///
    /// # Errors
    /// A folder does not exist, or `cwd` lies elsewhere.
    pub(crate) fn new(
        workspace: &Path,
        granted: &[GrantedFolder],
        cwd: Option<&str>,
    ) -> Result<Self, SandboxError> {
        let real = |path: &Path| {
            path.canonicalize().map_err(|_| SandboxError::Folder { path: path.to_owned() })
        };
        let workspace = real(workspace)?;
        let wanted = cwd.map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
        let folder = real(&wanted)?;
        let is_granted = granted.iter().any(|granted| folder.starts_with(&granted.path));
        if !(folder.starts_with(&workspace) || is_granted) || !folder.is_dir() {
            return Err(SandboxError::Folder { path: wanted });
        }
        Ok(Self {
            workspace,
            home: None,
            granted: Vec::new(),
            folder,
            hidden: Vec::new(),
            extra_programs: Vec::new(),
            hosts: Vec::new(),
            sealed_files: Vec::new(),
            limits: Limits::default(),
        })
    }
}

/// A kernel limit of `wanted`, or of this process's own maximum if that is less.
#[cfg(unix)]
pub(super) fn capped_rlimit(resource: Resource, wanted: u64) -> (Resource, Rlimit) {
    let limit = getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted));
    (resource, Rlimit { current: Some(limit), maximum: Some(limit) })
}
