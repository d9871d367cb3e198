//! The tool for a coding agent, and the port to the folder of its task.

use std::path::PathBuf;

use crate::tool::ToolContext;

/// The tool that gives a task to a coding agent. Its arguments are `agent`, `task` and `cwd`.
pub const DELEGATE: &str = "delegate";

/// Finds the folder of a task.
pub trait TaskFolders: Send + Sync {
    /// The real path of an existing folder in the workspace of the run, or in a folder that the job may write to. A
    /// relative path begins in the workspace.
    ///
    /// # Errors
    /// Why the folder cannot be used, and what to do, as sentences.
    fn find(&self, path: &str, context: &ToolContext) -> Result<PathBuf, String>;
    /// A path with the person's home folder in the place of `~`.
    fn expand_home(&self, path: &str) -> PathBuf;
}
