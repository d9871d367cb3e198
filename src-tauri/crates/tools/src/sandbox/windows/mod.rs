//! Windows: an AppContainer without capabilities in a job object, used only after a passed self-test. Preview: never run on Windows.
//!
//! A program in an AppContainer opens only files that grant access to the AppContainer, and has no network, not even
//! loopback. So the home need not be hidden. The workspace grants access to its AppContainer; the system's programs
//! grant access to all AppContainers. The job limits processes and memory, isolates windows and the clipboard, and ends
//! with Rouse. Before the first command, and for `rouse doctor`, a command tries to escape (`self_test`); if it escapes
//! or the result is unclear, no command is run in the sandbox.
//!
//! - `app_container` grants access to a workspace, `command` starts and ends a command, `acl` and `process` hold the raw calls.
//!
//! The AppContainer belongs to the workspace, so the private home of a job is open to other jobs' commands. Refuses
//! granted folders, whose access would have to be changed singly, and granted hosts: loopback access to a proxy
//! requires an administrator's permanent exemption. Does not hide files of the system and of others that grant access
//! to every AppContainer.
//! Pitfall: a job object is no sandbox; it hides no file.

mod acl;
mod app_container;
mod command;
mod missing_layer;
mod process;
mod self_test;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;

use super::error::{SandboxError, SandboxLayer};
use super::spec::Sandbox;
use super::{Attachment, SandboxGuarantees, UnattachedCommand};
use crate::process::{PROCESS_MARKER, Process, ProcessGroup, ProcessPipes};
pub(crate) use command::SandboxedCommand;
use command::{CommandPlace, StartedCommand};
use missing_layer::missing;

/// The engine's part of a command: none, because the command's process owns everything.
pub(super) struct EngineEnds;

/// Runs the slow preparations: the self-test, once per process, and the access to a new workspace.
pub(super) fn prepare(sandbox: &Sandbox) -> Result<(), SandboxError> {
    check(sandbox)?;
    app_container::for_workspace(&sandbox.workspace).map(drop)
}

/// Starts the system's shell on `line` in the sandbox.
pub(super) fn start(
    sandbox: &Sandbox,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    marker: &str,
) -> Result<UnattachedCommand, SandboxError> {
    check(sandbox)?;
    let sid = app_container::for_workspace(&sandbox.workspace)?;
    let home = sandbox.home.as_deref();
    let place = CommandPlace { sid: &sid, folder: &sandbox.folder, home, limits: &sandbox.limits };
    let marked = [(PROCESS_MARKER.into(), marker.into())];
    let started = command::start(&place, line, variables.into_iter().chain(marked));
    let StartedCommand { job, process, stdout, stderr, scratch } = started.map_err(explain)?;
    let process = Process::Sandboxed(SandboxedCommand::new(job, process, scratch));
    let [stdout, stderr] = [stdout, stderr].map(tokio::fs::File::from_std);
    let pipes = ProcessPipes { stdin: None, stdout: Box::new(stdout), stderr: Box::new(stderr) };
    Ok(UnattachedCommand { group: ProcessGroup::new(process, marker), pipes, ends: EngineEnds })
}

fn check(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let unsupported = |layer, subject: &str| {
        let why =
            format!("{subject} can be granted to a sandboxed command only on Linux and macOS");
        missing(layer, why, &format!("Remove the {subject} from the job."))
    };
    if !sandbox.hosts.is_empty() {
        return Err(unsupported(SandboxLayer::Network, "hosts"));
    }
    if !sandbox.granted.is_empty() {
        return Err(unsupported(SandboxLayer::View, "folders"));
    }
    app_container::check_workspace(sandbox)?;
    Ok(self_test::ensure_passed()?)
}

/// Runs the self-test that commands require.
pub(super) fn probe() -> Result<SandboxGuarantees, SandboxError> {
    self_test::ensure_passed()?;
    Ok(SandboxGuarantees {
        enforced: "an AppContainer with access to the workspace and without a network, which has passed its self-test; a job object with limits on processes, memory and windows; limits on output and time",
        gaps: Some(
            "the size of files in the workspace, reads of files that grant access to every AppContainer",
        ),
    })
}

/// Without an AppContainer there is no sandbox; any other failure is the command's own.
fn explain(error: io::Error) -> SandboxError {
    match error.kind() {
        io::ErrorKind::Unsupported => missing(SandboxLayer::AppContainer, error.to_string(), ""),
        _ => SandboxError::Start(error),
    }
}

impl EngineEnds {
    /// Attaches nothing: there is no proxy, and the job object ends orphans.
    #[expect(clippy::unused_self, reason = "the other systems need it")]
    pub(super) fn attach(self, _: &Sandbox, _: &ProcessGroup) -> io::Result<Attachment> {
        Ok(Attachment {
            proxy_listener: None,
            resource: Box::new(()),
            orphan_probe: Box::new(|| false),
        })
    }
}
