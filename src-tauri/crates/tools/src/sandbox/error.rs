//! Errors of the sandbox, with their remedies.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A layer of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SandboxLayer {
    /// User, mount and other namespaces.
    #[error("namespaces")]
    Namespaces,
    /// A process namespace.
    #[error("a private process namespace")]
    Processes,
    /// A private file system.
    #[error("a private file system")]
    View,
    /// A network namespace.
    #[error("a private network")]
    Network,
    /// Dropped privileges.
    #[error("dropping privileges")]
    Rights,
    /// Landlock.
    #[error("Landlock")]
    Landlock,
    /// Seccomp.
    #[error("seccomp")]
    Seccomp,
    /// Resource limits.
    #[error("resource limits")]
    Limits,
    /// An AppContainer without capabilities.
    #[error("an AppContainer")]
    AppContainer,
    /// A passed self-test.
    #[error("a passed self-test")]
    Proof,
    /// The system's sandbox as a whole.
    #[error("a sandbox")]
    All,
}

/// A missing layer; nothing has run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "This computer cannot run a command in a sandbox. Missing: {layer} ({why}). {remedy} Nothing was run."
)]
pub struct MissingLayer {
    /// The layer.
    pub layer: SandboxLayer,
    /// The system's reason.
    pub why: String,
    /// The remedy for the person.
    pub remedy: String,
}

/// A sandboxed command that was not started.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// A layer is missing.
    #[error(transparent)]
    Missing(#[from] MissingLayer),
    /// The workspace contains more than a project.
    #[error("A command cannot run in a sandbox in {}: {why}. Choose a separate folder as the workspace. Nothing was run.", path.display())]
    Workspace {
        /// The workspace.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The working directory is elsewhere.
    #[error("A sandboxed command can start only in the workspace or in a folder granted to the job; {} is in neither. Nothing was run.", path.display())]
    Folder {
        /// The requested folder.
        path: PathBuf,
    },
    /// A path with a zero byte.
    #[error("The path {} cannot be used. Nothing was run.", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A granted folder cannot be used.
    #[error("{0} Nothing was run.")]
    Granted(String),
    /// The system could not start the command.
    #[error("The command could not be started: {0}.")]
    Start(#[source] io::Error),
}
