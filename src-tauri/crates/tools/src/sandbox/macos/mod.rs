//! macOS: a Seatbelt profile, applied by the system's `sandbox-exec`. Preview: never run on macOS.
//!
//! Denies everything but the paths in the profile (`seatbelt`). If hosts are granted, the engine's proxy listens on a local port, the
//! only one that the profile permits; another program could use the proxy too, and would gain nothing.
//!
//! macOS counts processes by user, so the limit is the user's current count plus the command's. Memory is measured (`processes`). Does
//! not hold: a process that leaves its parent and its group before it was seen is neither counted nor killed; other processes are
//! visible, though out of reach.

mod processes;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rouse_core::job::FolderAccess;
use rustix::process::{Resource, setrlimit};

use super::error::{MissingLayer, SandboxError, SandboxLayer};
use super::resource_monitor::start_monitor;
use super::spec::{Limits, Sandbox, capped_rlimit};
use super::{Attachment, SandboxGuarantees, seatbelt};
use crate::process::ProcessGroup;
use crate::workspace::GrantedFolder;
use processes::GroupProcesses;

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";
/// The value of a parameter that names nothing.
const NO_PATH: &str = "/nonexistent";

/// The engine's part of a command: the temporary folder and the proxy's socket.
pub(super) struct EngineEnds {
    temporary: TemporaryFolder,
    home: Option<PathBuf>,
    proxy: Option<(TcpListener, u16)>,
}

/// A folder that is removed when dropped.
struct TemporaryFolder(PathBuf);
impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "failed to remove a command's temporary folder");
        }
    }
}

/// A shell on `line` that runs in the sandbox when spawned.
pub(super) fn shell_command(
    sandbox: &Sandbox,
    line: &str,
) -> Result<(Command, EngineEnds), SandboxError> {
    check_workspace(sandbox)?;
    let proxy = (!sandbox.hosts.is_empty()).then(bind_proxy_port).transpose();
    let proxy = proxy.map_err(SandboxError::Start)?;
    let temporary = TemporaryFolder::new().map_err(SandboxError::Start)?;
    let hidden = sandbox.hidden.iter().find(|path| path.starts_with(&sandbox.workspace));
    let hidden = hidden.map_or(Path::new(NO_PATH), PathBuf::as_path);
    let port = proxy.as_ref().map(|(_, port)| *port);
    let folders = ProfileFolders { sandbox: Some(sandbox), temporary: &temporary.0, hidden };
    let mut command = sandbox_exec(&folders, port)?;
    set_limits(&mut command, &sandbox.limits).map_err(SandboxError::Start)?;
    command.arg("/bin/sh").arg("-c").arg(line).current_dir(&sandbox.folder);
    Ok((command, EngineEnds { temporary, proxy, home: sandbox.home.clone() }))
}

/// The folders in a profile.
struct ProfileFolders<'s> {
    sandbox: Option<&'s Sandbox>,
    temporary: &'s Path,
    hidden: &'s Path,
}

impl ProfileFolders<'_> {
    /// The profile's parameters: the fixed parameters, and one per granted folder.
    fn parameters(&self) -> Vec<(String, &Path)> {
        let workspace = self.sandbox.map_or(self.temporary, |sandbox| &sandbox.workspace);
        let home = self.sandbox.and_then(|sandbox| sandbox.home.as_deref());
        let fixed = [
            ("WORKSPACE", workspace),
            ("HOME", home.unwrap_or(self.temporary)),
            ("TEMPORARY", self.temporary),
            ("HIDDEN", self.hidden),
            ("PROGRAM", self.program()),
        ];
        let granted = self.granted().iter().enumerate();
        let granted = granted
            .map(|(index, folder)| (seatbelt::folder_parameter(index), folder.path.as_path()));
        fixed.map(|(name, path)| (name.to_owned(), path)).into_iter().chain(granted).collect()
    }

    /// The program outside the system's folders.
    fn program(&self) -> &Path {
        let program = self.sandbox.and_then(|sandbox| sandbox.extra_programs.first());
        program.map_or(Path::new(NO_PATH), PathBuf::as_path)
    }

    fn granted(&self) -> &[GrantedFolder] {
        self.sandbox.map_or(&[], |sandbox| &sandbox.granted)
    }
}

/// Runs a command that does nothing, to check the sandbox.
pub(super) fn probe() -> Result<SandboxGuarantees, SandboxError> {
    let temporary = TemporaryFolder::new().map_err(SandboxError::Start)?;
    let hidden = Path::new(NO_PATH);
    let folders = ProfileFolders { sandbox: None, temporary: &temporary.0, hidden };
    let mut command = sandbox_exec(&folders, None)?;
    set_limits(&mut command, &Limits::default()).map_err(SandboxError::Start)?;
    let output = command.arg("/usr/bin/true").env_clear().output().map_err(SandboxError::Start)?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(SandboxGuarantees {
        enforced: "files and network by a Seatbelt profile; limits on processes, output and time, and measured memory",
        gaps: Some(
            "the size of files in the workspace and in granted folders (1 GB of the disk stays free), processes that leave their parent and their group before they are seen",
        ),
    })
}

/// `-D` sets a parameter, `-p` takes the profile's text (sandbox-exec(1)).
fn sandbox_exec(
    folders: &ProfileFolders<'_>,
    proxy_port: Option<u16>,
) -> Result<Command, SandboxError> {
    if !Path::new(SANDBOX_EXEC).exists() {
        return Err(missing(format!("{SANDBOX_EXEC} does not exist")));
    }
    let mut command = Command::new(SANDBOX_EXEC);
    for (name, path) in folders.parameters() {
        let mut parameter = std::ffi::OsString::from(format!("{name}="));
        parameter.push(path);
        command.arg("-D").arg(parameter);
    }
    let access: Vec<FolderAccess> = folders.granted().iter().map(|folder| folder.access).collect();
    command.arg("-p").arg(seatbelt::profile(&access, proxy_port));
    Ok(command)
}

/// Sets the kernel's limits in the child, before exec.
fn set_limits(command: &mut Command, limits: &Limits) -> io::Result<()> {
    let processes = processes::count_of_user()? + u64::from(limits.processes);
    let limits = [capped_rlimit(Resource::Core, 0), capped_rlimit(Resource::Nproc, processes)];
    let set =
        move || limits.iter().try_for_each(|(resource, limit)| Ok(setrlimit(*resource, *limit)?));
    // SAFETY: two system calls on precomputed numbers; no lock, no allocation.
    unsafe { command.pre_exec(set) };
    Ok(())
}

fn bind_proxy_port() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

fn check_workspace(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let refused = |why: &str| {
        Err(SandboxError::Workspace { path: sandbox.workspace.clone(), why: why.to_owned() })
    };
    let holds = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with(&sandbox.workspace)
    };
    if std::env::var_os("HOME").is_some_and(|home| holds(Path::new(&home))) {
        return refused("it contains your whole home folder");
    }
    if sandbox.hidden.iter().filter(|path| holds(path)).count() > 1 {
        return refused("it contains Rouse's own data");
    }
    Ok(())
}

fn missing(why: String) -> SandboxError {
    let remedy = "Check `ls -l /usr/bin/sandbox-exec`; the program is a part of macOS.".to_owned();
    MissingLayer { layer: SandboxLayer::All, why, remedy }.into()
}

impl TemporaryFolder {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rouse-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl EngineEnds {
    /// Variables with the command's own folders.
    pub(super) fn folder_variables(&self) -> [(&'static str, &Path); 2] {
        let temporary = self.temporary.0.as_path();
        [("HOME", self.home.as_deref().unwrap_or(temporary)), ("TMPDIR", temporary)]
    }

    pub(super) const fn explain(&self, error: io::Error) -> SandboxError {
        SandboxError::Start(error)
    }

    /// The proxy's URL inside the sandbox.
    pub(super) fn proxy_url(&self) -> Option<String> {
        self.proxy.as_ref().map(|(_, port)| format!("http://127.0.0.1:{port}"))
    }

    /// Attaches the monitor to a started command.
    pub(super) fn attach(self, sandbox: &Sandbox, group: &ProcessGroup) -> io::Result<Attachment> {
        let breach = group.limit_breach();
        let group = group.id();
        let monitor = start_monitor(sandbox, GroupProcesses::new(group), breach)?;
        // The guard is always a member of the group.
        let orphan_probe =
            Box::new(move || processes::count_in_group(group).is_ok_and(|count| count > 1));
        let proxy_listener = self.proxy.map(|(listener, _)| listener);
        let resource = Box::new((self.temporary, monitor));
        Ok(Attachment { proxy_listener, resource, orphan_probe })
    }
}
