//! The port to long-lived child processes that speak in lines: MCP servers over stdio.
//!
//! Owns the command and the outcomes. An implementation owns process groups, the sandbox, pipes and the stderr ring.
//! Pitfall: a server that ignores the end of its input; `stop` must end the whole process group.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::name::ExtensionName;
use crate::future::BoxFuture;
use crate::job::FolderGrant;

/// The command of a server, with all secret handles filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// The extension; also names the private folder of the process.
    pub extension: ExtensionName,
    /// The program.
    pub program: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// Variables beside the basic ones.
    pub environment: BTreeMap<String, String>,
    /// The working directory; the private folder when none.
    pub folder: Option<PathBuf>,
    /// The real path of the folder in which a coding agent works: writable, and the working directory. None for a
    /// server with tools.
    pub task_folder: Option<PathBuf>,
    /// Folders beside the private one that a confined server may use.
    pub folders: Vec<FolderGrant>,
    /// Hosts that a confined server may reach.
    pub hosts: Vec<String>,
    /// Whether the process runs outside the sandbox, with the person's rights.
    pub is_unconfined: bool,
}

/// Starts server processes.
pub trait ServerProcesses: Send + Sync {
    /// Starts a process.
    fn start(
        &self,
        command: ServerCommand,
    ) -> BoxFuture<'_, Result<Box<dyn ServerProcess>, ServerStartError>>;
}

/// The maximum bytes of a line of a server's output.
pub const MAX_LINE_BYTES: usize = 4 << 20;

/// A line of a server's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerLine {
    /// A line, without its line break.
    Text(Vec<u8>),
    /// A line over [`MAX_LINE_BYTES`], which was dropped.
    TooLong,
}

/// A running server process. Dropping ends the whole process group.
pub trait ServerProcess: Send + Sync {
    /// Writes one line; `line` has no line break.
    ///
    /// # Errors
    /// The process has ended or closed its input.
    fn send(&self, line: Vec<u8>) -> BoxFuture<'_, Result<(), ProcessEnd>>;
    /// The next line.
    ///
    /// # Errors
    /// The process has ended or closed its output.
    fn receive(&self) -> BoxFuture<'_, Result<ServerLine, ProcessEnd>>;
    /// The last lines of the error output, at most 64 KB.
    fn stderr_tail(&self) -> String;
    /// Closes the input, waits 2 s, terminates the group, waits 2 s, kills the group.
    fn stop(&self) -> BoxFuture<'_, ()>;
}

/// The end of a process, as a sentence with the exit status ("The server exited with status 1.").
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProcessEnd(pub String);

/// Why a server process did not start: cause and remedy as sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServerStartError(pub String);
