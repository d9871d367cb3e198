//! The sandbox: runs a command with access to the workspace, a private home, granted folders and the system's programs.
//!
//! Owns these guarantees: a command writes only to the workspace, its home, `/tmp` and folders granted for writing; a
//! write elsewhere fails and never goes to a discarded copy. The person's home, Rouse's data and keys are invisible.
//! The network reaches granted hosts only, through a proxy with the rules of `http_guard`. Processes, memory, output,
//! time, files and disk space are limited. All processes end with the command. **Fails closed**: if a layer is missing,
//! nothing runs, and the error names the layer and the remedy. Never takes settings from a call's arguments: the run's
//! context decides.
//!
//! - Linux: all of the above (`linux`). Memory is limited exactly per process, and in sum by `resource_monitor`.
//! - macOS (preview): a Seatbelt profile (`macos`). Memory is limited by `resource_monitor`; a process that detaches before it was seen
//!   escapes.
//! - Windows (preview): an AppContainer in a job object (`windows`), after a self-test. No granted hosts or folders, no file copies.
//!
//! Pitfall: a fallback to a weaker sandbox, or to none.

#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
mod system;

#[cfg(unix)]
mod disk_limits;
mod error;
mod proxy;
#[cfg(unix)]
mod resource_monitor;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod spec;

use std::ffi::OsString;
#[cfg(windows)]
use std::io;
#[cfg(not(windows))]
use std::process::Stdio;

#[cfg(not(windows))]
use tokio::process::Command;

use crate::http_guard::Fetcher;
use crate::process::{ChildProcess, ProcessGroup, ProcessPipes};
pub use error::{MissingLayer, SandboxError, SandboxLayer};
#[cfg(target_os = "linux")]
pub(crate) use spec::COPY_REPLACED_SIGNAL;
pub(crate) use spec::{Limits, Sandbox, SealedFile};
#[cfg(windows)]
pub(crate) use system::SandboxedCommand;
#[cfg(windows)]
use system::start;

/// Whether the sandbox of this system is a preview: compiled, but never run on the real system.
pub const IS_SANDBOX_PREVIEW: bool = cfg!(not(target_os = "linux"));

/// The guarantees of the sandbox on this computer, as phrases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxGuarantees {
    /// The enforced limits.
    pub enforced: &'static str,
    /// Known gaps.
    pub gaps: Option<&'static str>,
}

/// Checks the sandbox of this computer by running a command that does nothing.
///
/// # Errors
/// The missing layer and the remedy.
pub fn probe_sandbox() -> Result<SandboxGuarantees, SandboxError> {
    system::probe()
}

/// A started command before the attachment of the engine's ends.
struct UnattachedCommand {
    group: ProcessGroup,
    pipes: ProcessPipes,
    ends: system::EngineEnds,
}

/// Parts of a started command that the engine keeps.
struct Attachment {
    /// The socket on which the proxy listens.
    proxy_listener: Option<std::net::TcpListener>,
    /// Kept until the command has exited.
    resource: Box<dyn Send + Sync>,
    /// Whether the exited command left processes running.
    orphan_probe: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Sandbox {
    /// Runs the slow preparations on a blocking thread.
    ///
    /// # Errors
    /// A missing layer.
    #[cfg(windows)]
    pub(crate) async fn prepare(self) -> Result<Self, SandboxError> {
        let prepare = move || system::prepare(&self).map(|()| self);
        let prepared = tokio::task::spawn_blocking(prepare).await;
        prepared.unwrap_or_else(|error| Err(SandboxError::Start(io::Error::other(error))))
    }

    /// Starts the system's shell on `line` with exactly these variables. `fetcher` checks the addresses of granted hosts.
    ///
    /// # Errors
    /// A missing layer; nothing has run then.
    pub(crate) fn spawn(
        &self,
        line: &str,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        marker: &str,
        fetcher: Fetcher,
    ) -> Result<ChildProcess, SandboxError> {
        let command = start(self, line, variables, marker)?;
        let (group, pipes) = self.attach(command, fetcher)?;
        Ok(ChildProcess::capture(group, pipes))
    }

    /// Like `spawn`, with an input, for a caller that uses the pipes.
    ///
    /// # Errors
    /// A missing layer; nothing has run then.
    #[cfg(not(windows))]
    pub(crate) fn spawn_piped(
        &self,
        line: &str,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        marker: &str,
        fetcher: Fetcher,
    ) -> Result<(ProcessGroup, ProcessPipes), SandboxError> {
        let command = start_with_input(self, line, variables, marker, Stdio::piped())?;
        self.attach(command, fetcher)
    }

    /// Attaches the engine's ends and the proxy to a started command.
    fn attach(
        &self,
        command: UnattachedCommand,
        fetcher: Fetcher,
    ) -> Result<(ProcessGroup, ProcessPipes), SandboxError> {
        let UnattachedCommand { group, pipes, ends } = command;
        let Attachment { proxy_listener, resource, orphan_probe } =
            ends.attach(self, &group).map_err(SandboxError::Start)?;
        let proxy =
            proxy_listener.map(|listener| proxy::start_proxy(listener, &self.hosts, fetcher));
        let proxy = proxy.transpose().map_err(SandboxError::Start)?;
        Ok((group.with_resource((resource, proxy)).with_orphan_probe(orphan_probe), pipes))
    }
}

#[cfg(not(windows))]
fn start(
    sandbox: &Sandbox,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    marker: &str,
) -> Result<UnattachedCommand, SandboxError> {
    start_with_input(sandbox, line, variables, marker, Stdio::null())
}

#[cfg(not(windows))]
fn start_with_input(
    sandbox: &Sandbox,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    marker: &str,
    input: Stdio,
) -> Result<UnattachedCommand, SandboxError> {
    let (command, ends) = system::shell_command(sandbox, line)?;
    let mut command = Command::from(command);
    command.env_clear().envs(variables).envs(ends.folder_variables());
    if let Some(url) = ends.proxy_url() {
        command.envs(proxy::VARIABLES.iter().map(|name| (name, &url)));
    }
    let (group, pipes) =
        ProcessGroup::spawn(command, marker, input).map_err(|error| ends.explain(error))?;
    Ok(UnattachedCommand { group, pipes, ends })
}
