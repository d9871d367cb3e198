//! The file system of a sandboxed command: planned before the fork, built by the child.
//!
//! The root is an empty read-only tmpfs with the system's programs and libraries (read-only), a short list of `/etc`, granted folders,
//! the workspace and the private home (writable), and `/tmp` and `/dev` in memory. Everything else is absent: the person's home, `/var`,
//! the sockets in `/run`, the keys in `/etc`. Refuses a workspace that contains the person's home or a part of the system.
//! Pitfall: a list of paths to hide instead of paths to show; a tmpfs at a path where people keep files, which vanish.

use std::collections::HashSet;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rouse_core::job::FolderAccess;

use super::sys::MountMode;
use crate::sandbox::error::SandboxError;
use crate::sandbox::spec::{Limits, Sandbox, SealedFile};
use crate::workspace::GrantedFolder;

/// The engine's root while the view is built.
const OLD_ROOT: &str = "/old";

/// Programs and libraries.
const PROGRAM_FOLDERS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// Entries of `/etc` that programs need: certificates without keys, users without passwords.
const ETC_ENTRIES: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "locale.alias",
    "locale.conf",
    "login.defs",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "profile",
    "protocols",
    "python3",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "static",
    "terminfo",
    "timezone",
    "vimrc",
    "xattr.conf",
];

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// A step of the child that builds the view.
#[derive(Debug)]
pub(super) enum MountStep {
    /// Creates a missing folder.
    Folder(CString),
    /// Creates a missing empty file as a mount point.
    File(CString),
    Link {
        to: CString,
        at: CString,
    },
    /// Bind-mounts a part of the engine's file system.
    Bind {
        from: CString,
        at: CString,
        mode: MountMode,
    },
    /// Mounts a tmpfs.
    Tmpfs {
        at: CString,
        options: CString,
    },
    /// Creates a folder with these permissions.
    FolderWithMode {
        at: CString,
        mode: u32,
    },
    /// Detaches a tmpfs; bind mounts elsewhere stay.
    Detach(CString),
    /// Covers a hidden folder with an empty tmpfs. Writable until `MakeReadOnly`, so that the home can be mounted
    /// inside.
    Cover(CString),
    MakeReadOnly(CString),
    /// Mounts a copy over a file of the workspace.
    Copy(CopyMount),
}

/// A copy in memory that is mounted over the file.
#[derive(Debug)]
pub(super) struct CopyMount {
    pub(super) content: Vec<u8>,
    pub(super) mode: u32,
    /// The copy's path, out of the command's reach.
    pub(super) stored_at: CString,
    /// The file's path.
    pub(super) mounted_at: CString,
    pub(super) mount_mode: MountMode,
}

/// The tmpfs behind all writable folders in memory, while the view is built.
const TEMPORARY: &str = "/temporary";
/// Memory of an empty file in a tmpfs.
const MIN_FILE_BYTES: u64 = 4_096;

/// The folder of the copies.
const COPIES: &str = "/run/copies";

/// Landlock rights beneath a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathAccess {
    /// List names.
    List,
    /// Read files and list folders.
    Read,
    /// Read and run a file.
    Run,
    /// Read folders and run the contained files.
    RunBeneath,
    /// Read and write a file.
    Device,
    /// Everything but device files.
    Write,
}

/// The planned file system.
#[derive(Debug, Default)]
pub(super) struct FilesystemView {
    pub(super) steps: Vec<MountStep>,
    pub(super) rules: Vec<(CString, PathAccess)>,
    /// The home inside the sandbox.
    pub(super) home: PathBuf,
    folders: HashSet<PathBuf>,
}

impl FilesystemView {
    /// Plans the view of `sandbox`; without a sandbox, the view of a command without folders.
    pub(super) fn new(sandbox: Option<&Sandbox>, limits: &Limits) -> Result<Self, SandboxError> {
        if let Some(sandbox) = sandbox {
            check_workspace(&sandbox.workspace, &sandbox.hidden)?;
        }
        let mut view = Self { home: PathBuf::from("/tmp"), ..Self::default() };
        view.allow("/", PathAccess::List)?;
        for path in PROGRAM_FOLDERS {
            view.show_read_only(Path::new(path), PathAccess::RunBeneath)?;
        }
        for name in ETC_ENTRIES {
            view.show_read_only(&Path::new("/etc").join(name), PathAccess::RunBeneath)?;
        }
        view.add_tmpfs(limits)?;
        view.add_devices()?;
        view.add_folder(Path::new("/proc"))?;
        view.allow("/proc", PathAccess::Read)?;
        for at in ["/run", "/var"] {
            view.add_folder(Path::new(at))?;
        }
        view.add_tmpfs_folder(Path::new("/tmp"), 0o1777)?;
        view.steps.push(MountStep::Link { to: c_path("/tmp")?, at: c_path("/var/tmp")? });
        view.steps.push(MountStep::Detach(c_path(TEMPORARY)?));
        if let Some(sandbox) = sandbox {
            view.add_sandbox_folders(sandbox)?;
        }
        Ok(view)
    }

    /// Adds granted folders, the workspace and the private home.
    fn add_sandbox_folders(&mut self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        for GrantedFolder { path, access } in &sandbox.granted {
            match access {
                FolderAccess::Read => {
                    self.bind(path, MountMode::ReadOnly, PathAccess::RunBeneath)?;
                }
                FolderAccess::Write => self.bind(path, MountMode::Writable, PathAccess::Write)?,
            }
        }
        self.bind(&sandbox.workspace, MountMode::Writable, PathAccess::Write)?;
        let hidden = hidden_folders(&sandbox.workspace, &sandbox.hidden)?;
        self.steps.extend(hidden.iter().cloned().map(MountStep::Cover));
        if let Some(home) = &sandbox.home {
            self.home.clone_from(home);
            self.bind(home, MountMode::Writable, PathAccess::Write)?;
        }
        self.steps.extend(hidden.into_iter().map(MountStep::MakeReadOnly));
        Ok(())
    }

    /// Adds programs outside the system's folders.
    pub(super) fn with_programs(mut self, programs: &[PathBuf]) -> Result<Self, SandboxError> {
        let is_shown =
            |path: &&PathBuf| PROGRAM_FOLDERS.iter().any(|folder| path.starts_with(folder));
        for path in programs.iter().filter(|path| !is_shown(path)) {
            self.show_read_only(path, PathAccess::Run)?;
        }
        Ok(self)
    }

    /// Mounts copies over the files. Another process of the computer can remove a file beneath the mount; that is
    /// detected at the command's end.
    pub(super) fn with_copies(mut self, files: &[SealedFile]) -> Result<Self, SandboxError> {
        if files.is_empty() {
            return Ok(self);
        }
        let bytes: usize = files.iter().map(|file| file.content.len() + 4_096).sum();
        self.add_folder(Path::new(COPIES))?;
        let options = c_path(&format!("mode=0755,size={}", bytes + (1 << 20)))?;
        self.steps.push(MountStep::Tmpfs { at: c_path(COPIES)?, options });
        for (number, file) in files.iter().enumerate() {
            self.steps.push(MountStep::Copy(CopyMount {
                content: file.content.clone(),
                mode: file.mode,
                stored_at: c_path(&format!("{COPIES}/{number}"))?,
                mounted_at: c_path(&file.path)?,
                mount_mode: if file.is_writable {
                    MountMode::Writable
                } else {
                    MountMode::ReadOnly
                },
            }));
        }
        Ok(self)
    }

    pub(super) fn copies(&self) -> impl Iterator<Item = &CopyMount> {
        self.steps.iter().filter_map(|step| match step {
            MountStep::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    fn add_devices(&mut self) -> Result<(), SandboxError> {
        self.add_folder(Path::new("/dev"))?;
        for name in DEVICES {
            self.bind(&Path::new("/dev").join(name), MountMode::Device, PathAccess::Device)?;
        }
        for (name, to) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
            let to = c_path(&format!("/proc/self/fd{to}"))?;
            self.steps.push(MountStep::Link { to, at: c_path(&format!("/dev/{name}"))? });
        }
        self.add_tmpfs_folder(Path::new("/dev/shm"), 0o1777)
    }

    /// Shows an existing path read-only; a link stays a link.
    fn show_read_only(&mut self, path: &Path, access: PathAccess) -> Result<(), SandboxError> {
        let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
        if !found.is_symlink() {
            let access = if found.is_dir() { access } else { PathAccess::Run };
            return self.bind(path, MountMode::ReadOnly, access);
        }
        let Ok(to) = std::fs::read_link(path) else { return Ok(()) };
        self.add_parent(path)?;
        self.steps.push(MountStep::Link { to: c_path(&to)?, at: c_path(path)? });
        Ok(())
    }

    fn bind(
        &mut self,
        path: &Path,
        mode: MountMode,
        access: PathAccess,
    ) -> Result<(), SandboxError> {
        let from: OsString = [OsStr::new(OLD_ROOT), path.as_os_str()].into_iter().collect();
        let from = c_path(&from)?;
        let at = c_path(path)?;
        if path.is_dir() {
            self.add_folder(path)?;
        } else {
            self.add_parent(path)?;
            self.steps.push(MountStep::File(at.clone()));
        }
        self.steps.push(MountStep::Bind { from, at, mode });
        self.allow(path, access)
    }

    /// Mounts the tmpfs behind all writable folders in memory, which share a limit of bytes and files.
    fn add_tmpfs(&mut self, limits: &Limits) -> Result<(), SandboxError> {
        let (bytes, files) = (limits.temporary_bytes, limits.temporary_bytes / MIN_FILE_BYTES);
        self.add_folder(Path::new(TEMPORARY))?;
        let options = c_path(&format!("mode=0755,size={bytes},nr_inodes={files}"))?;
        self.steps.push(MountStep::Tmpfs { at: c_path(TEMPORARY)?, options });
        Ok(())
    }

    /// Adds a writable folder in memory.
    fn add_tmpfs_folder(&mut self, at: &Path, mode: u32) -> Result<(), SandboxError> {
        self.add_folder(at)?;
        let from = c_path(&format!("{TEMPORARY}/{}", self.steps.len()))?;
        self.steps.push(MountStep::FolderWithMode { at: from.clone(), mode });
        self.steps.push(MountStep::Bind { from, at: c_path(at)?, mode: MountMode::Writable });
        self.allow(at, PathAccess::Write)
    }

    fn add_parent(&mut self, path: &Path) -> Result<(), SandboxError> {
        path.parent().map_or(Ok(()), |parent| self.add_folder(parent))
    }

    /// Adds a folder and the parents.
    fn add_folder(&mut self, path: &Path) -> Result<(), SandboxError> {
        let chain: Vec<&Path> = path.ancestors().filter(|path| path.parent().is_some()).collect();
        for path in chain.into_iter().rev() {
            if self.folders.insert(path.to_owned()) {
                self.steps.push(MountStep::Folder(c_path(path)?));
            }
        }
        Ok(())
    }

    fn allow(&mut self, path: impl AsRef<Path>, access: PathAccess) -> Result<(), SandboxError> {
        self.rules.push((c_path(path.as_ref())?, access));
        Ok(())
    }
}

/// The hidden folders that lie in the workspace.
fn hidden_folders(workspace: &Path, hidden: &[PathBuf]) -> Result<Vec<CString>, SandboxError> {
    let real = hidden.iter().filter_map(|path| path.canonicalize().ok());
    real.filter(|path| path.starts_with(workspace)).map(|path| c_path(&path)).collect()
}

/// Refuses a workspace that contains more than a project, because the command sees the whole workspace.
fn check_workspace(workspace: &Path, hidden: &[PathBuf]) -> Result<(), SandboxError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let refused = |why: String| Err(SandboxError::Workspace { path: workspace.to_owned(), why });
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if home.is_some_and(|home| real(&home).starts_with(workspace)) {
        return refused("it contains your whole home folder".to_owned());
    }
    if hidden.iter().any(|path| real(path) == workspace) {
        return refused("it contains Rouse's own data".to_owned());
    }
    let system =
        PROGRAM_FOLDERS.iter().chain(&["/etc", "/dev", "/proc", "/sys", "/run", "/var", "/tmp"]);
    if let Some(part) = system.map(Path::new).find(|part| part.starts_with(workspace)) {
        return refused(format!("it contains the system folder {}", part.display()));
    }
    let inside = ["/dev", "/proc", "/sys", "/etc"].map(Path::new);
    match inside.iter().find(|part| workspace.starts_with(part)) {
        Some(part) => refused(format!("it lies in the system folder {}", part.display())),
        None => Ok(()),
    }
}

/// Converts a path for system calls.
pub(super) fn c_path(path: &(impl AsRef<OsStr> + ?Sized)) -> Result<CString, SandboxError> {
    let path = path.as_ref();
    CString::new(path.as_bytes()).map_err(|_| SandboxError::Path { path: path.to_owned().into() })
}
