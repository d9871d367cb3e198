//! `memory_write`, `memory_read` and `memory_search`: the agents' memory, as Markdown files in the workspace.
//!
//! Owns the folder `memory` of the workspace, which people may edit too. The folder is opened as a separate workspace,
//! so that these tools, which need no approval, reach nothing else. Refuses files other than Markdown, hidden files,
//! and unreasonable amounts. Reads and search results are untrusted input, because a tainted run may have written the
//! files.
//!
//! Pitfall: a link out of the folder; a search in an index that is not up to date (`index_update`).

mod index_update;
mod read;
mod scan;
mod search;
mod write;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use rouse_core::memory::MemoryIndex;
use rouse_core::tool::{Fault, Tool};

use super::read_file::ReadError;
use crate::output::ToolFailure;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};
use scan::MAX_DEPTH;

/// The memory's folder in the workspace.
const FOLDER: &str = "memory";
/// Largest file, written or searched.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Limit of files created by the tool.
const MAX_FILES: usize = 10_000;

/// The tools for the memory. `max_read_bytes` limits a `memory_read`.
#[must_use]
pub fn memory_tools(index: Arc<dyn MemoryIndex>, max_read_bytes: u64) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(write::MemoryWrite::new()),
        Arc::new(read::MemoryRead::new(max_read_bytes)),
        Arc::new(search::MemorySearch::new(index)),
    ]
}

/// Failure of a memory tool, in words for the caller.
#[derive(Debug, thiserror::Error)]
enum MemoryError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("Give a path or a title, not both.")]
    NoName,
    #[error("The title {0:?} has no letter or digit for a file name.")]
    NoWordInTitle(String),
    #[error("The memory holds Markdown files only. End the path {0:?} with .md.")]
    NotMarkdown(String),
    #[error("{0:?} is hidden and would not be searched. Use names without a leading dot.")]
    Hidden(String),
    #[error(
        "{path} would have {bytes} bytes; the limit is {MAX_FILE_BYTES}. Begin another file, or replace this one with what still matters."
    )]
    TooLarge { path: RelativePath, bytes: usize },
    #[error("{0} is not UTF-8 text, so nothing can be appended.")]
    NotText(RelativePath),
    #[error("The memory has reached its limit of {MAX_FILES} files. Append to an existing file.")]
    Full,
    #[error(
        "{path} is too deep and would not be searched. Use at most {} folders.",
        MAX_DEPTH - 1
    )]
    TooDeep { path: RelativePath },
    #[error(
        "The memory has changed since the approval and was not written. Call the tool again for a new approval."
    )]
    Changed,
    #[error("The query contains no word.")]
    NoWords,
    #[error(
        "The content contains {mark}, a redaction mark that is not in {path}. Writing it would overwrite the secret. Leave this file unchanged, or change its other lines only; in a request, use {{{{secret:NAME}}}}."
    )]
    Redacted { path: RelativePath, mark: String },
}

impl ToolFailure for MemoryError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::Read(error) => error.fault(),
            Self::NoName
            | Self::NoWordInTitle(_)
            | Self::NotMarkdown(_)
            | Self::Hidden(_)
            | Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::NoWords
            | Self::Redacted { .. } => Fault::InvalidParameters,
            Self::Changed => Fault::NotAuthorised,
            Self::NotText(_) | Self::Full => Fault::Execution,
        }
    }
}

/// Opens the memory's folder; `None` if missing.
fn open(workspace: &Path) -> Result<Option<Workspace>, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.parse_path(FOLDER)?;
    match workspace.open_subfolder(&folder) {
        Err(WorkspaceError::Missing { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Like `open`; creates a missing folder.
fn open_or_create(workspace: &Path) -> Result<Workspace, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.parse_path(FOLDER)?;
    workspace.create_folder(&folder)?;
    workspace.open_subfolder(&folder)
}

/// Parses the path of a memory file, with or without the folder's name.
fn parse_file_path(memory: &Workspace, text: &str) -> Result<RelativePath, MemoryError> {
    let text = text.trim();
    let below = text.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix(['/', '\\']));
    let path = memory.parse_path(&with_extension(below.unwrap_or(text))?)?;
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    if path.as_path().iter().any(is_hidden) {
        return Err(MemoryError::Hidden(text.to_owned()));
    }
    Ok(path)
}

/// Adds `.md` to a name without an extension.
fn with_extension(text: &str) -> Result<String, MemoryError> {
    match Path::new(text).extension() {
        Some(extension) if extension.eq_ignore_ascii_case("md") => Ok(text.to_owned()),
        None if Path::new(text).file_name().is_some() => Ok(format!("{text}.md")),
        _ => Err(MemoryError::NotMarkdown(text.to_owned())),
    }
}

/// The path of a memory file for people and for `read_file`.
fn display_path(path: &RelativePath) -> String {
    format!("{FOLDER}/{path}")
}
