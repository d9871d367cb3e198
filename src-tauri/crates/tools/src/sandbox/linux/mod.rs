//! Linux: private namespaces with Landlock and seccomp, set up by the child itself before the command starts.
//!
//! No separate sandbox program: an installed one can be missing, outdated or set-user-id, cannot apply Landlock to its child, and costs
//! more than the command. No second start of this program either: the desktop app loads longer than most commands run. So the forked
//! child follows a plan that was written before the fork.
//!
//! - `plan` and `view` decide the sandbox, `child_setup` sets it up, `landlock_rules` and `seccomp_filters` are additional locks, `sys` holds
//!   the raw calls, `memory_usage` counts memory, `report` explains failures.
//!
//! No control group: most programs may not create one, so memory must be counted in any case.
//!
//! Never starts a command with a layer missing. Does not limit kernel memory of a command (socket buffers). Does not protect against a
//! kernel vulnerability.

mod child_setup;
mod landlock_rules;
mod memory_usage;
mod plan;
mod report;
mod seccomp_filters;
mod sys;
mod view;

#[cfg(test)]
mod tests;

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

use super::error::{MissingLayer, SandboxError, SandboxLayer};
use super::resource_monitor::start_monitor;
use super::spec::Sandbox;
use super::{Attachment, SandboxGuarantees};
use crate::process::ProcessGroup;
use child_setup::ChildEnds;
use memory_usage::NamespaceProcesses;
use plan::{PROXY_PORT, SandboxPlan};

/// The engine's ends of the pipes and sockets to a command.
pub(super) struct EngineEnds {
    report: OwnedFd,
    /// Closing this descriptor ends the command.
    life: OwnedFd,
    /// Receives descriptors from the child before the command starts.
    handover: OwnedFd,
    has_proxy: bool,
    folder: PathBuf,
    home: PathBuf,
}

/// A shell on `line` that enters the sandbox when spawned.
pub(super) fn shell_command(
    sandbox: &Sandbox,
    line: &str,
) -> Result<(Command, EngineEnds), SandboxError> {
    let plan = SandboxPlan::new(Some(sandbox))?;
    sandboxed_shell(plan, line, &sandbox.folder)
}

/// Runs a command that does nothing, to check every layer.
pub(super) fn probe() -> Result<SandboxGuarantees, SandboxError> {
    let (mut command, ends) = sandboxed_shell(SandboxPlan::new(None)?, ":", Path::new("/tmp"))?;
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| ends.explain(error))?;
    if !status.success() {
        let why = format!("a command that does nothing exited with {status}");
        let remedy = "Check the system's log, and report the problem.".to_owned();
        return Err(MissingLayer { layer: SandboxLayer::View, why, remedy }.into());
    }
    Ok(SandboxGuarantees {
        enforced: "private users, mounts, processes, network and IPC; Landlock; seccomp; limits on processes, memory, output and time",
        gaps: Some(
            "the size of files in the workspace and in granted folders (1 GB of the disk stays free), kernel memory of a command (socket buffers)",
        ),
    })
}

fn sandboxed_shell(
    plan: SandboxPlan,
    line: &str,
    folder: &Path,
) -> Result<(Command, EngineEnds), SandboxError> {
    let pipe = |flags| pipe_with(flags).map_err(|error| SandboxError::Start(error.into()));
    let (report_reader, report) = pipe(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let (life, life_writer) = pipe(PipeFlags::CLOEXEC)?;
    let (handover, child_handover) = socket_pair()?;
    let ends = EngineEnds {
        report: report_reader,
        life: life_writer,
        handover,
        has_proxy: plan.proxy_port.is_some(),
        folder: folder.to_owned(),
        home: plan.view.home.clone(),
    };
    let child_ends = ChildEnds { report, life, handover: child_handover };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    // SAFETY: `enter` makes system calls on the plan's memory only (see there) and takes no lock of the engine.
    unsafe { command.pre_exec(move || child_setup::enter(&plan, &child_ends)) };
    Ok((command, ends))
}

fn socket_pair() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| SandboxError::Start(error.into()))
}

impl EngineEnds {
    /// Variables with the command's own folders.
    pub(super) fn folder_variables(&self) -> [(&'static str, &Path); 1] {
        [("HOME", &self.home)]
    }

    /// Converts the error of a failed start.
    pub(super) fn explain(&self, error: io::Error) -> SandboxError {
        match report::read(&self.report) {
            Some(failure) => report::explain(failure, &self.folder),
            None => SandboxError::Start(error),
        }
    }

    /// Attaches the monitor and the proxy's socket to a started command.
    pub(super) fn attach(self, sandbox: &Sandbox, group: &ProcessGroup) -> io::Result<Attachment> {
        let processes = NamespaceProcesses::new(self.receive_descriptor()?)?;
        let listener = self.has_proxy.then(|| self.receive_descriptor().map(TcpListener::from));
        let proxy_listener = listener.transpose()?;
        proxy_listener.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        let monitor =
            processes.map(|processes| start_monitor(sandbox, processes, group.limit_breach()));
        let resource = Box::new((self.life, monitor.transpose()?));
        let orphan_probe = Box::new(move || report::has_orphans(&self.report));
        Ok(Attachment { proxy_listener, resource, orphan_probe })
    }

    fn receive_descriptor(&self) -> io::Result<OwnedFd> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut buffers = [io::IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(
            &self.handover,
            &mut buffers,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        descriptors.flatten().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The proxy's URL inside the sandbox.
    pub(super) fn proxy_url(&self) -> Option<String> {
        self.has_proxy.then(|| format!("http://127.0.0.1:{PROXY_PORT}"))
    }
}
