//! The memory's folder: limits, paths and failures.

use std::path::Path;

use rouse_core::tool::Fault;

use super::super::read_file::ReadError;
use crate::output::ToolFailure;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// The memory's folder in the workspace.
pub(super) const FOLDER: &str = "memory";
/// Largest file, written or searched.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;
/// Limit of files created by the tool.
pub(super) const MAX_FILES: usize = 10_000;
/// Limit of a path's components.
pub(super) const MAX_DEPTH: usize = 8;

/// Failure of a memory tool, in words for the caller.
#[derive(Debug, thiserror::Error)]
pub(super) enum MemoryError {
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
pub(super) fn open(workspace: &Path) -> Result<Option<Workspace>, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.parse_path(FOLDER)?;
    match workspace.open_subfolder(&folder) {
        Err(WorkspaceError::Missing { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Like `open`; creates a missing folder.
pub(super) fn open_or_create(workspace: &Path) -> Result<Workspace, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.parse_path(FOLDER)?;
    workspace.create_folder(&folder)?;
    workspace.open_subfolder(&folder)
}

/// Parses the path of a memory file, with or without the folder's name.
pub(super) fn parse_file_path(memory: &Workspace, text: &str) -> Result<RelativePath, MemoryError> {
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
pub(super) fn display_path(path: &RelativePath) -> String {
    format!("{FOLDER}/{path}")
}
