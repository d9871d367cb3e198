//! macOS: a Seatbelt profile, put on by the system's own `sandbox-exec`.
//!
//! Everything is refused but what is named (`seatbelt`): reading the system, writing the workspace, the private home and a
//! temporary folder, the granted folders, no network and no other program's services. Where hosts are granted, the engine's proxy answers at a port
//! of this computer, and the profile lets the command reach that port alone; another program could use the proxy too, and
//! would come no farther than without it.
//!
//! macOS counts processes by user, so the limit of a command is what the user has running and so many more. Memory is
//! counted by looking (`processes`). What it does not hold: a process that leaves its parent and its group before it was
//! seen once is neither counted nor ended, and other processes can be seen, though not touched.

mod processes;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rouse_core::job::FolderAccess;
use rustix::process::{Resource, setrlimit};

use super::watch::{self, Watch};
use super::{Layer, Layers, Limits, Missing, Sandbox, SandboxError, at_most, seatbelt};
use crate::child::Child;
use crate::reach::GrantedFolder;
use processes::Processes;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The engine's ends of a confined command: its temporary folder, which goes with it, and where its proxy answers.
pub(super) struct Held {
    temporary: Temporary,
    home: Option<PathBuf>,
    proxy: Option<(TcpListener, u16)>,
}

/// Says whether the command that has ended left processes running.
pub(super) type LeftRunning = Box<dyn Fn() -> bool + Send + Sync>;

/// A folder that is removed when nobody holds it.
pub(super) struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the temporary folder of a command was not removed");
        }
    }
}

/// A shell that runs `line` confined once it is spawned.
pub(super) fn shell(sandbox: &Sandbox, line: &str) -> Result<(Command, Held), SandboxError> {
    check(sandbox)?;
    let proxy = (!sandbox.hosts.is_empty()).then(listener).transpose();
    let proxy = proxy.map_err(SandboxError::Start)?;
    let temporary = Temporary::new().map_err(SandboxError::Start)?;
    // A parameter has to name something: where nothing is hidden, a path at which nothing is.
    let hidden = sandbox.hidden.iter().find(|path| path.starts_with(&sandbox.workspace));
    let hidden = hidden.map_or(Path::new("/nonexistent"), PathBuf::as_path);
    let port = proxy.as_ref().map(|(_, port)| *port);
    let shown = Shown { sandbox: Some(sandbox), temporary: &temporary.0, hidden };
    let mut command = confined(&shown, port)?;
    limit(&mut command, &sandbox.limits).map_err(SandboxError::Start)?;
    command.arg("/bin/sh").arg("-c").arg(line).current_dir(&sandbox.folder);
    Ok((command, Held { temporary, proxy, home: sandbox.home.clone() }))
}

/// The folders that a profile names.
struct Shown<'s> {
    sandbox: Option<&'s Sandbox>,
    temporary: &'s Path,
    hidden: &'s Path,
}

impl Shown<'_> {
    /// The parameters of the profile: the fixed ones, and one for each granted folder.
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
        let granted = granted.map(|(at, folder)| (seatbelt::folder(at), folder.path.as_path()));
        fixed.map(|(name, path)| (name.to_owned(), path)).into_iter().chain(granted).collect()
    }

    /// The program outside of the system's folders; a parameter has to name something.
    fn program(&self) -> &Path {
        let program = self.sandbox.and_then(|sandbox| sandbox.shown.first());
        program.map_or(Path::new("/nonexistent"), PathBuf::as_path)
    }

    fn granted(&self) -> &[GrantedFolder] {
        self.sandbox.map_or(&[], |sandbox| &sandbox.granted)
    }
}

/// Starts a command that does nothing, to see whether the sandbox is there.
pub(super) fn available() -> Result<Layers, SandboxError> {
    let temporary = Temporary::new().map_err(SandboxError::Start)?;
    let hidden = Path::new("/nonexistent");
    let mut command = confined(&Shown { sandbox: None, temporary: &temporary.0, hidden }, None)?;
    limit(&mut command, &Limits::default()).map_err(SandboxError::Start)?;
    let output = command.arg("/usr/bin/true").env_clear().output().map_err(SandboxError::Start)?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(Layers {
        held: "the disk and the network, by a Seatbelt profile; limits on processes, output and time, and on memory by looking at it",
        not_held: Some(
            "what is written into the workspace and the folders that you grant (but 1 GB of its disk is left), processes that leave their parent and their group before they are seen",
        ),
    })
}

/// `-D` sets a parameter, `-p` takes the profile as text (sandbox-exec(1)).
fn confined(shown: &Shown<'_>, proxy_port: Option<u16>) -> Result<Command, SandboxError> {
    if !Path::new(PROGRAM).exists() {
        return Err(missing(format!("{PROGRAM} is not there")));
    }
    let mut command = Command::new(PROGRAM);
    for (name, path) in shown.parameters() {
        let mut parameter = std::ffi::OsString::from(format!("{name}="));
        parameter.push(path);
        command.arg("-D").arg(parameter);
    }
    let access: Vec<FolderAccess> = shown.granted().iter().map(|folder| folder.access).collect();
    command.arg("-p").arg(seatbelt::profile(&access, proxy_port));
    Ok(command)
}

/// Sets the limits of the kernel, in the child before it begins.
fn limit(command: &mut Command, limits: &Limits) -> io::Result<()> {
    let processes = processes::of_this_user()? + u64::from(limits.processes);
    let limits = [at_most(Resource::Core, 0), at_most(Resource::Nproc, processes)];
    let set =
        move || limits.iter().try_for_each(|(resource, most)| Ok(setrlimit(*resource, *most)?));
    // SAFETY: two system calls on numbers that were put together before; no lock, no memory from the allocator.
    unsafe { command.pre_exec(set) };
    Ok(())
}

/// Where the proxy will answer.
fn listener() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

fn check(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let refused = |why: &str| {
        Err(SandboxError::Workspace { path: sandbox.workspace.clone(), why: why.to_owned() })
    };
    let holds = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with(&sandbox.workspace)
    };
    if std::env::var_os("HOME").is_some_and(|home| holds(Path::new(&home))) {
        return refused("it holds your whole home");
    }
    if sandbox.hidden.iter().filter(|path| holds(path)).count() > 1 {
        return refused("it holds Rouse's own data");
    }
    Ok(())
}

fn missing(why: String) -> SandboxError {
    let mend = "Look for it with `ls -l /usr/bin/sandbox-exec`; it is a part of macOS.".to_owned();
    Missing { layer: Layer::All, why, mend }.into()
}

impl Temporary {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::sync::atomic::{AtomicU64, Ordering};
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("rouse-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Held {
    /// The folders that the command has for itself, by the variable that names them.
    pub(super) fn folders(&self) -> [(&'static str, &Path); 2] {
        let temporary = self.temporary.0.as_path();
        [("HOME", self.home.as_deref().unwrap_or(temporary)), ("TMPDIR", temporary)]
    }

    /// Why it did not start.
    pub(super) const fn explain(&self, error: io::Error) -> SandboxError {
        SandboxError::Start(error)
    }

    /// Where a program inside finds the proxy.
    pub(super) fn proxy_address(&self) -> Option<String> {
        self.proxy.as_ref().map(|(_, port)| format!("http://127.0.0.1:{port}"))
    }

    /// Watches over the command that has begun. Returns the socket at which the proxy is to answer, what has to be kept as
    /// long as the command may run, and the question about what it left running.
    pub(super) fn begun(
        self,
        sandbox: &Sandbox,
        child: &Child,
    ) -> io::Result<(Option<TcpListener>, (Temporary, Watch), LeftRunning)> {
        let group = child.group();
        let processes = Processes::of(group);
        // The guard of the group is the one process that is always there.
        let left_running =
            Box::new(move || processes::in_group(group).is_ok_and(|count| count > 1));
        let watch = watch::begin(sandbox, processes, child.bound())?;
        let listener = self.proxy.map(|(listener, _)| listener);
        Ok((listener, (self.temporary, watch), left_running))
    }
}
