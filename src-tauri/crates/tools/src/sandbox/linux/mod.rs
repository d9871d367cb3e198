//! Linux: namespaces of its own, with Landlock and seccomp on top, made by the child itself before the command begins.
//!
//! Why not another program: one that is installed apart can be missing, old or set-user-id, cannot put Landlock on what
//! it starts, and costs more than the command. Why not this program once more: the desktop app takes longer to load than
//! most commands run, and every program that hosts the engine would need a second entry. So the child that is forked for
//! the command makes its room itself, out of a plan that was written before the fork.
//!
//! - `view` decides what is seen, `rules` and `syscalls` are the locks on top, `enter` walks the way in, `sys` holds the
//!   bare calls, `memory` counts what its processes hold, `report` turns a failure into words.
//!
//! Why no control group: which of them a program may make is decided by how it was started, and most are given none; so
//! every way past the counting of memory has to be closed or counted in any case.
//!
//! It refuses to start a command with a layer missing. What it does not hold: what the kernel keeps for a command elsewhere
//! than in its memory (the buffers of its sockets), and a fault in the kernel itself.

mod enter;
mod memory;
mod report;
mod rules;
mod sys;
mod syscalls;
mod view;

#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit};
use seccompiler::BpfProgram;

use super::watch::{self, Watch};
use super::{Layer, Layers, Limits, Missing, Sandbox, SandboxError, at_most};
use crate::child::Child;
use enter::Ends;
use memory::Processes;
use view::View;

/// Where the proxy answers inside; nothing else is in that network.
const PROXY_PORT: u16 = 3_128;

/// All that the child needs to know.
struct Plan {
    identity: Identity,
    view: View,
    limits: Vec<(Resource, Rlimit)>,
    /// The most process numbers of the namespace, where the limit of processes does not bind.
    process_numbers: Option<Vec<u8>>,
    proxy_port: Option<u16>,
    folder: CString,
    filters: &'static [BpfProgram],
}

/// The lines of the user namespace.
struct Identity {
    user: Vec<u8>,
    group: Vec<u8>,
}

/// The engine's ends of a confined command.
pub(super) struct Held {
    report: OwnedFd,
    /// Closing it ends the command.
    life: OwnedFd,
    /// What the child hands over before the command begins.
    handover: OwnedFd,
    has_proxy: bool,
    folder: PathBuf,
    home: PathBuf,
}

/// What has to be kept as long as a command may run: closing the one ends it, the other watches over it.
type Life = (OwnedFd, Option<Watch>);

/// Says whether the command that has ended left processes running.
pub(super) type LeftRunning = Box<dyn Fn() -> bool + Send + Sync>;

/// A shell that runs `line` confined once it is spawned.
pub(super) fn shell(sandbox: &Sandbox, line: &str) -> Result<(Command, Held), SandboxError> {
    let plan = Plan::new(Some(sandbox))?;
    prepared(plan, line, &sandbox.folder)
}

/// Starts a command that does nothing, to see whether every layer is there.
pub(super) fn available() -> Result<Layers, SandboxError> {
    let (mut command, held) = prepared(Plan::new(None)?, ":", Path::new("/tmp"))?;
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| held.explain(error))?;
    if !status.success() {
        let why = format!("a command that does nothing ended with {status}");
        let mend = "Look into the system's log, and report it.".to_owned();
        return Err(Missing { layer: Layer::View, why, mend }.into());
    }
    Ok(Layers {
        held: "users, mounts, processes, network and messages of its own; Landlock; seccomp; limits on processes, memory, output and time",
        not_held: Some(
            "what is written into the workspace and the folders that you grant (but 1 GB of the disk is left), the kernel's own memory for a command (the buffers of its sockets)",
        ),
    })
}

fn prepared(plan: Plan, line: &str, folder: &Path) -> Result<(Command, Held), SandboxError> {
    let pipe = |flags| pipe_with(flags).map_err(|error| SandboxError::Start(error.into()));
    let (told, report) = pipe(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let (life, alive) = pipe(PipeFlags::CLOEXEC)?;
    let (handover, for_child) = socket_pair()?;
    let held = Held {
        report: told,
        life: alive,
        handover,
        has_proxy: plan.proxy_port.is_some(),
        folder: folder.to_owned(),
        home: plan.view.home.clone(),
    };
    let ends = Ends { report, life, handover: for_child };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    // SAFETY: `enter` keeps to system calls on what the plan holds (see there); it takes no lock of the engine.
    unsafe { command.pre_exec(move || enter::enter(&plan, &ends)) };
    Ok((command, held))
}

fn socket_pair() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| SandboxError::Start(error.into()))
}

impl Plan {
    fn new(sandbox: Option<&Sandbox>) -> Result<Self, SandboxError> {
        let none = Limits::default();
        let limits = sandbox.map_or(&none, |sandbox| &sandbox.limits);
        let filters = syscalls::filters().map_err(|why| Missing {
            layer: Layer::Seccomp,
            why,
            mend: "Filters exist for x86_64 and aarch64.".to_owned(),
        })?;
        let sealed = sandbox.map_or(&[][..], |sandbox| &sandbox.sealed);
        let shown = sandbox.map_or(&[][..], |sandbox| &sandbox.shown);
        Ok(Self {
            identity: Identity::own(),
            view: View::new(sandbox, limits)?.with_programs(shown)?.with_copies(sealed)?,
            limits: resource_limits(limits),
            process_numbers: process_numbers(limits)?,
            proxy_port: sandbox
                .is_some_and(|sandbox| !sandbox.hosts.is_empty())
                .then_some(PROXY_PORT),
            folder: view::text(sandbox.map_or(Path::new("/tmp"), |sandbox| &sandbox.folder))?,
            filters,
        })
    }
}

impl Identity {
    fn own() -> Self {
        let (user, group) =
            (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self { user: format!("{user} {user} 1").into(), group: format!("{group} {group} 1").into() }
    }
}

impl Held {
    /// The folders that the command has for itself, by the variable that names them.
    pub(super) fn folders(&self) -> [(&'static str, &Path); 1] {
        [("HOME", &self.home)]
    }

    /// Why it did not start.
    pub(super) fn explain(&self, error: io::Error) -> SandboxError {
        match report::read(&self.report) {
            Some(told) => report::explain(told, &self.folder),
            None => SandboxError::Start(error),
        }
    }

    /// Watches over the command that has begun. Returns the socket inside at which the proxy is to answer, what has to be
    /// kept as long as the command may run, and the question about what it left running.
    pub(super) fn begun(
        self,
        sandbox: &Sandbox,
        child: &Child,
    ) -> io::Result<(Option<TcpListener>, Life, LeftRunning)> {
        let processes = Processes::new(self.handed_over()?)?;
        let listener = self.has_proxy.then(|| self.handed_over().map(TcpListener::from));
        let listener = listener.transpose()?;
        listener.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        let watch = processes.map(|processes| watch::begin(sandbox, processes, child.bound()));
        let left_running = Box::new(move || report::has_left_running(&self.report));
        Ok((listener, (self.life, watch.transpose()?), left_running))
    }

    fn handed_over(&self) -> io::Result<OwnedFd> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut word = [0];
        let mut words = [io::IoSliceMut::new(&mut word)];
        rustix::net::recvmsg(&self.handover, &mut words, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let given = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(given) => Some(given),
            _ => None,
        });
        given.flatten().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Where a program inside finds the proxy.
    pub(super) fn proxy_address(&self) -> Option<String> {
        self.has_proxy.then(|| format!("http://127.0.0.1:{PROXY_PORT}"))
    }
}

/// The most memory that a process can keep from being taken back; it is counted for each.
const LOCKED: u64 = 64 << 10;

fn resource_limits(limits: &Limits) -> Vec<(Resource, Rlimit)> {
    vec![
        // With one byte a program that the kernel tells of crashes by a pipe is not started either (core(5)).
        at_most(Resource::Core, 1),
        at_most(Resource::Data, limits.memory_bytes),
        at_most(Resource::Nproc, limits.processes.into()),
        // What a desktop grants its programs for sound: pages of files that cannot be taken back, and the processor.
        at_most(Resource::Memlock, LOCKED),
        at_most(Resource::Rtprio, 0),
        at_most(Resource::Nice, 0),
    ]
}

/// The kernel exempts root from the limit of processes; there the numbers of the namespace are bounded instead, which an
/// older kernel would do for the whole computer.
fn process_numbers(limits: &Limits) -> Result<Option<Vec<u8>>, SandboxError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (6, 14) {
        let (why, mend) = (format!("this is Linux {release}"), report::AS_ROOT.to_owned());
        return Err(Missing { layer: Layer::Limits, why, mend }.into());
    }
    Ok(Some(limits.processes.max(SMALLEST_NUMBERS).to_string().into()))
}

/// The kernel takes no smaller one.
const SMALLEST_NUMBERS: u32 = 301;
