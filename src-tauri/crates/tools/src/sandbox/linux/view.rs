//! What a confined command sees of the disk: decided before the fork, built by the child.
//!
//! The root is an empty, read-only folder in memory. Into it come the system's programs and libraries, read only; a short
//! list of what is in `/etc`; the granted folders; the workspace and the private home, writable; and a `/tmp` and a `/dev`
//! in memory. What is not named is not there: no home of the person, no `/var`, no `/run` with its sockets, no keys in
//! `/etc`. Refuses a workspace that would bring the person's home or a part of the system along. Pitfalls: a list of what
//! to hide instead of what to show; a writable folder in memory at a path where people keep files, whose content vanishes.

use std::collections::HashSet;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rouse_core::job::FolderAccess;

use super::sys::Show;
use crate::reach::GrantedFolder;
use crate::sandbox::{Limits, Sandbox, SandboxError, Sealed};

/// Where the engine's root is seen from inside while the view is built.
const OLD: &str = "/old";

/// Programs and libraries, where they exist.
const PROGRAMS: &[&str] = &[
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

/// What programs need to know of the system. Certificates but no keys; users but no passwords.
const SETTINGS: &[&str] = &[
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

/// One thing that the child does to build it.
#[derive(Debug)]
pub(super) enum Step {
    /// Makes a folder where there is none.
    Folder(CString),
    /// Makes an empty file where there is none, for a file to be shown in.
    File(CString),
    /// Makes a link.
    Link { to: CString, at: CString },
    /// Shows a part of the engine's disk.
    Bind { from: CString, at: CString, show: Show },
    /// A folder in memory.
    Memory { at: CString, options: CString },
    /// Makes a folder with these rights.
    Room { at: CString, mode: u32 },
    /// Takes a folder in memory away; what is shown of it elsewhere stays.
    Gone(CString),
    /// An empty folder, over one that is not to be seen. The home may be shown in it until it is locked.
    Nothing(CString),
    /// Makes such a folder read-only.
    Lock(CString),
    /// A file in memory that is shown in the place of one of the workspace.
    Copy(Copied),
}

/// A copy of a file.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) content: Vec<u8>,
    pub(super) mode: u32,
    /// Where it is kept: no rule lets the command in there.
    pub(super) kept: CString,
    /// Where it is shown.
    pub(super) at: CString,
    pub(super) show: Show,
}

/// Where all that can be written in memory is while the view is built.
const TEMPORARY: &str = "/temporary";
/// Each file takes so much of a folder in memory, even an empty one.
const SMALLEST_FILE: u64 = 4_096;

/// Where copies are kept.
const COPIES: &str = "/run/copies";

/// What may be done beneath a path (a second lock beside the mounts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// See the names.
    List,
    /// Read files and list folders.
    Read,
    /// Read a file, and run it.
    Run,
    /// Read folders, and run what is in them.
    RunBeneath,
    /// Read and write one file.
    Device,
    /// Everything but device files.
    Write,
}

/// The whole view.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) steps: Vec<Step>,
    pub(super) rules: Vec<(CString, Access)>,
    /// Where the home is, inside.
    pub(super) home: PathBuf,
    made: HashSet<PathBuf>,
}

impl View {
    /// The view of a command in `sandbox`; without one, of a command that needs no folder.
    pub(super) fn new(sandbox: Option<&Sandbox>, limits: &Limits) -> Result<Self, SandboxError> {
        if let Some(sandbox) = sandbox {
            check(&sandbox.workspace, &sandbox.hidden)?;
        }
        let mut view = Self { home: PathBuf::from("/tmp"), ..Self::default() };
        view.allow("/", Access::List)?;
        view.programs()?;
        view.settings()?;
        view.memory(limits)?;
        view.devices()?;
        view.folder(Path::new("/proc"))?;
        view.allow("/proc", Access::Read)?;
        for at in ["/run", "/var"] {
            view.folder(Path::new(at))?;
        }
        view.in_memory(Path::new("/tmp"), 0o1777)?;
        view.steps.push(Step::Link { to: text("/tmp")?, at: text("/var/tmp")? });
        view.steps.push(Step::Gone(text(TEMPORARY)?));
        if let Some(sandbox) = sandbox {
            view.folders(sandbox)?;
        }
        Ok(view)
    }

    /// Shows the folders of the person's disk: what is granted, the workspace and the private home.
    fn folders(&mut self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        for GrantedFolder { path, access } in &sandbox.granted {
            match access {
                FolderAccess::Read => self.bind(path, Show::ReadOnly, Access::RunBeneath)?,
                FolderAccess::Write => self.bind(path, Show::Writable, Access::Write)?,
            }
        }
        self.bind(&sandbox.workspace, Show::Writable, Access::Write)?;
        let hidden = hidden_in(&sandbox.workspace, &sandbox.hidden)?;
        self.steps.extend(hidden.iter().cloned().map(Step::Nothing));
        if let Some(home) = &sandbox.home {
            self.home.clone_from(home);
            self.bind(home, Show::Writable, Access::Write)?;
        }
        self.steps.extend(hidden.into_iter().map(Step::Lock));
        Ok(())
    }

    /// The same with programs that lie outside of the system's folders.
    pub(super) fn with_programs(mut self, shown: &[PathBuf]) -> Result<Self, SandboxError> {
        let is_there = |path: &&PathBuf| PROGRAMS.iter().any(|folder| path.starts_with(folder));
        for path in shown.iter().filter(|path| !is_there(path)) {
            self.show(path, Access::Run)?;
        }
        Ok(self)
    }

    /// The same with copies in the place of files. They are mounted over the files and kept where the command cannot
    /// reach them; that another process on this computer takes a file away from beneath is found out at the end.
    pub(super) fn with_copies(mut self, sealed: &[Sealed]) -> Result<Self, SandboxError> {
        if sealed.is_empty() {
            return Ok(self);
        }
        let bytes: usize = sealed.iter().map(|file| file.content.len() + 4_096).sum();
        self.folder(Path::new(COPIES))?;
        let options = text(&format!("mode=0755,size={}", bytes + (1 << 20)))?;
        self.steps.push(Step::Memory { at: text(COPIES)?, options });
        for (number, file) in sealed.iter().enumerate() {
            self.steps.push(Step::Copy(Copied {
                content: file.content.clone(),
                mode: file.mode,
                kept: text(&format!("{COPIES}/{number}"))?,
                at: text(&file.path)?,
                show: if file.may_change { Show::Writable } else { Show::ReadOnly },
            }));
        }
        Ok(self)
    }

    /// The copies.
    pub(super) fn copies(&self) -> impl Iterator<Item = &Copied> {
        self.steps.iter().filter_map(|step| match step {
            Step::Copy(copied) => Some(copied),
            _ => None,
        })
    }

    fn programs(&mut self) -> Result<(), SandboxError> {
        for path in PROGRAMS {
            self.show(Path::new(path), Access::RunBeneath)?;
        }
        Ok(())
    }

    fn settings(&mut self) -> Result<(), SandboxError> {
        for name in SETTINGS {
            self.show(&Path::new("/etc").join(name), Access::RunBeneath)?;
        }
        Ok(())
    }

    fn devices(&mut self) -> Result<(), SandboxError> {
        self.folder(Path::new("/dev"))?;
        for name in DEVICES {
            self.bind(&Path::new("/dev").join(name), Show::Device, Access::Device)?;
        }
        for (name, to) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
            let to = text(&format!("/proc/self/fd{to}"))?;
            self.steps.push(Step::Link { to, at: text(&format!("/dev/{name}"))? });
        }
        self.in_memory(Path::new("/dev/shm"), 0o1777)
    }

    /// Shows what is at `path`, to read and to run: a link as a link.
    fn show(&mut self, path: &Path, access: Access) -> Result<(), SandboxError> {
        let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
        if !found.is_symlink() {
            return self.bind(
                path,
                Show::ReadOnly,
                if found.is_dir() { access } else { Access::Run },
            );
        }
        let Ok(to) = std::fs::read_link(path) else { return Ok(()) };
        self.folder_above(path)?;
        self.steps.push(Step::Link { to: text(&to)?, at: text(path)? });
        Ok(())
    }

    fn bind(&mut self, path: &Path, show: Show, access: Access) -> Result<(), SandboxError> {
        let from: OsString = [OsStr::new(OLD), path.as_os_str()].into_iter().collect();
        let from = text(&from)?;
        let at = text(path)?;
        if path.is_dir() {
            self.folder(path)?;
        } else {
            self.folder_above(path)?;
            self.steps.push(Step::File(at.clone()));
        }
        self.steps.push(Step::Bind { from, at, show });
        self.allow(path, access)
    }

    /// All that can be written in memory has one size together, in bytes and in files.
    fn memory(&mut self, limits: &Limits) -> Result<(), SandboxError> {
        let (bytes, files) = (limits.temporary_bytes, limits.temporary_bytes / SMALLEST_FILE);
        self.folder(Path::new(TEMPORARY))?;
        let options = text(&format!("mode=0755,size={bytes},nr_inodes={files}"))?;
        self.steps.push(Step::Memory { at: text(TEMPORARY)?, options });
        Ok(())
    }

    /// Shows a folder of its own in memory at `at`.
    fn in_memory(&mut self, at: &Path, mode: u32) -> Result<(), SandboxError> {
        self.folder(at)?;
        let from = text(&format!("{TEMPORARY}/{}", self.steps.len()))?;
        self.steps.push(Step::Room { at: from.clone(), mode });
        self.steps.push(Step::Bind { from, at: text(at)?, show: Show::Writable });
        self.allow(at, Access::Write)
    }

    fn folder_above(&mut self, path: &Path) -> Result<(), SandboxError> {
        path.parent().map_or(Ok(()), |above| self.folder(above))
    }

    fn folder(&mut self, path: &Path) -> Result<(), SandboxError> {
        let missing: Vec<&Path> = path.ancestors().filter(|path| path.parent().is_some()).collect();
        for path in missing.into_iter().rev() {
            if self.made.insert(path.to_owned()) {
                self.steps.push(Step::Folder(text(path)?));
            }
        }
        Ok(())
    }

    fn allow(&mut self, path: impl AsRef<Path>, access: Access) -> Result<(), SandboxError> {
        self.rules.push((text(path.as_ref())?, access));
        Ok(())
    }
}

/// What the workspace must not show although it lies in the workspace.
fn hidden_in(workspace: &Path, hidden: &[PathBuf]) -> Result<Vec<CString>, SandboxError> {
    let real = hidden.iter().filter_map(|path| path.canonicalize().ok());
    real.filter(|path| path.starts_with(workspace)).map(|path| text(&path)).collect()
}

/// Whether a command may be shut in there: the workspace is shown as a whole, so it must be nobody else's.
fn check(workspace: &Path, hidden: &[PathBuf]) -> Result<(), SandboxError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let refused = |why: String| Err(SandboxError::Workspace { path: workspace.to_owned(), why });
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if home.is_some_and(|home| real(&home).starts_with(workspace)) {
        return refused("it holds your whole home".to_owned());
    }
    if hidden.iter().any(|path| real(path) == workspace) {
        return refused("it holds Rouse's own data".to_owned());
    }
    let system = PROGRAMS.iter().chain(&["/etc", "/dev", "/proc", "/sys", "/run", "/var", "/tmp"]);
    if let Some(part) = system.map(Path::new).find(|part| part.starts_with(workspace)) {
        return refused(format!("it holds the system's folder {}", part.display()));
    }
    let inside = ["/dev", "/proc", "/sys", "/etc"].map(Path::new);
    match inside.iter().find(|part| workspace.starts_with(part)) {
        Some(part) => refused(format!("it lies in the system's folder {}", part.display())),
        None => Ok(()),
    }
}

/// A path as the system takes it.
pub(super) fn text(path: &(impl AsRef<OsStr> + ?Sized)) -> Result<CString, SandboxError> {
    let path = path.as_ref();
    CString::new(path.as_bytes()).map_err(|_| SandboxError::Path { path: path.to_owned().into() })
}
