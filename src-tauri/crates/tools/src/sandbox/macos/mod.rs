//! macOS: a Seatbelt profile, put on by the system's own `sandbox-exec`.
//!
//! Everything is refused but what is named (`seatbelt`): reading the system, writing the workspace and a temporary folder
//! of its own, no network and no other program's services. Where hosts are granted, the engine's proxy answers at a port
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

use rustix::process::{Resource, setrlimit};

use super::watch::{self, Watch};
use super::{Layer, Layers, Limits, Missing, Sandbox, SandboxError, at_most, seatbelt};
use crate::child::Child;
use processes::Processes;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The engine's ends of a confined command: its temporary folder, which goes with it, and where its proxy answers.
pub(super) struct Held {
    temporary: Temporary,
    proxy: Option<(TcpListener, u16)>,
}

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
    let program = sandbox.shown.first().map_or(Path::new("/nonexistent"), PathBuf::as_path);
    let places = Places { workspace: &sandbox.workspace, temporary: &temporary.0, hidden, program };
    let mut command = confined(&places, port)?;
    limit(&mut command, &sandbox.limits).map_err(SandboxError::Start)?;
    command.arg("/bin/sh").arg("-c").arg(line).current_dir(&sandbox.folder);
    Ok((command, Held { temporary, proxy }))
}

/// Starts a command that does nothing, to see whether the sandbox is there.
pub(super) fn available() -> Result<Layers, SandboxError> {
    let temporary = Temporary::new().map_err(SandboxError::Start)?;
    let (nothing, temporary) = (Path::new("/nonexistent"), temporary.0.as_path());
    let places = Places { workspace: temporary, temporary, hidden: nothing, program: nothing };
    let mut command = confined(&places, None)?;
    limit(&mut command, &Limits::default()).map_err(SandboxError::Start)?;
    let output = command.arg("/usr/bin/true").env_clear().output().map_err(SandboxError::Start)?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(Layers {
        held: "the disk and the network, by a Seatbelt profile; limits on processes, output and time, and on memory by looking at it",
        not_held: Some(
            "what is written into the workspace (but 1 GB of its disk is left), processes that leave their parent and their group before they are seen",
        ),
    })
}

/// The paths of a profile.
struct Places<'a> {
    workspace: &'a Path,
    temporary: &'a Path,
    hidden: &'a Path,
    program: &'a Path,
}

/// `-D` sets a parameter, `-p` takes the profile as text (sandbox-exec(1)).
fn confined(places: &Places<'_>, proxy_port: Option<u16>) -> Result<Command, SandboxError> {
    if !Path::new(PROGRAM).exists() {
        return Err(missing(format!("{PROGRAM} is not there")));
    }
    let mut command = Command::new(PROGRAM);
    let Places { workspace, temporary, hidden, program } = *places;
    let parameters = [
        ("WORKSPACE", workspace),
        ("TEMPORARY", temporary),
        ("HIDDEN", hidden),
        ("PROGRAM", program),
    ];
    for (name, path) in parameters {
        let mut parameter = std::ffi::OsString::from(format!("{name}="));
        parameter.push(path);
        command.arg("-D").arg(parameter);
    }
    command.arg("-p").arg(seatbelt::profile(proxy_port));
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
        ["HOME", "TMPDIR"].map(|name| (name, self.temporary.0.as_path()))
    }

    /// Why it did not start.
    pub(super) const fn explain(&self, error: io::Error) -> SandboxError {
        SandboxError::Start(error)
    }

    /// Where a program inside finds the proxy.
    pub(super) fn proxy_address(&self) -> Option<String> {
        self.proxy.as_ref().map(|(_, port)| format!("http://127.0.0.1:{port}"))
    }

    /// Watches over the command that has begun. Answers the socket at which the proxy is to answer, and what has to be
    /// kept as long as the command may run.
    pub(super) fn begun(
        self,
        sandbox: &Sandbox,
        child: &Child,
    ) -> io::Result<(Option<TcpListener>, (Temporary, Watch))> {
        let processes = Processes::of(child.group());
        let watch = watch::begin(sandbox, processes, child.bound())?;
        Ok((self.proxy.map(|(listener, _)| listener), (self.temporary, watch)))
    }
}
