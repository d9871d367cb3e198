//! `memory_write`, `memory_read` and `memory_search`: what agents keep in mind, as Markdown files in the workspace.
//!
//! The memory is the folder `memory` of the workspace and nothing else is: a person reads, changes and deletes it with
//! any editor, and what they do counts. It is opened as a workspace of its own, so that its tools, which never ask,
//! reach nothing outside of it, not even the rest of the workspace. It refuses other files than Markdown, hidden ones,
//! and more than a person would ever look through. What is in it may have been written by a run that had read anything,
//! so what is read and found is text from outside.
//!
//! One could get it wrong by following a link out of the folder, or by answering a search from an index that has not
//! been held against the files (`upkeep`).

mod read;
mod search;
mod upkeep;
mod walk;
mod write;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use rouse_core::memory::MemoryIndex;
use rouse_core::tool::{Fault, Tool};

use self::walk::MOST_DEPTH;
use crate::answer::Faulty;
use crate::read_file::ReadError;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// The folder, in the workspace.
const FOLDER: &str = "memory";
/// The largest file that is written and searched.
const MOST_BYTES: u64 = 1 << 20;
/// The most files that there can be by writing.
const MOST_FILES: usize = 10_000;

/// The tools over the memory, with the most that `memory_read` returns at once.
#[must_use]
pub fn memory_tools(index: Arc<dyn MemoryIndex>, read_most: u64) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(write::MemoryWrite::new()),
        Arc::new(read::MemoryRead::new(read_most)),
        Arc::new(search::MemorySearch::new(index)),
    ]
}

#[derive(Debug, thiserror::Error)]
enum MemoryError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("Give either a path or a title.")]
    NoName,
    #[error("The title {0:?} has no letter and no digit to make a file name of.")]
    NoWordInTitle(String),
    #[error("The memory holds Markdown files only. End the path {0:?} with .md.")]
    NotMarkdown(String),
    #[error("{0:?} is hidden and would never be found. Use names that do not begin with a dot.")]
    Hidden(String),
    #[error(
        "{path} would have {bytes} bytes; a file of the memory has at most {MOST_BYTES}. Begin another one, or write it anew with what still matters."
    )]
    TooLarge { path: RelativePath, bytes: usize },
    #[error("{0} is not UTF-8 text, so nothing can be added to it.")]
    NotText(RelativePath),
    #[error(
        "The memory holds {MOST_FILES} files already, which is as many as it takes. Add to one of them instead."
    )]
    Full,
    #[error(
        "{path} lies below more folders than are searched, so it would never be found. Use at most {} of them.",
        MOST_DEPTH - 1
    )]
    TooDeep { path: RelativePath },
    #[error(
        "The memory has changed since this was allowed, so it was not written. Call it again to have it judged anew."
    )]
    Changed,
    #[error("The query has no word to look for.")]
    NoWords,
    #[error(
        "The content holds {mark}, which is what you were told in the place of something secret, and not what stands in {path}. Writing it would lose that. Leave this file as it is, or change only its other lines; in a request, {{{{secret:NAME}}}} stands for a stored value."
    )]
    Redacted { path: RelativePath, mark: String },
}

impl Faulty for MemoryError {
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

/// The open folder; none when nothing was ever kept.
fn open(workspace: &Path) -> Result<Option<Workspace>, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.relative(FOLDER)?;
    match workspace.below(&folder) {
        Err(WorkspaceError::Missing { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

/// The same, made when it is not there.
fn open_or_make(workspace: &Path) -> Result<Workspace, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.relative(FOLDER)?;
    workspace.make_folder(&folder)?;
    workspace.below(&folder)
}

/// The file that a model means by `text`: below the folder, with the folder's own name before it or without.
fn file_at(memory: &Workspace, text: &str) -> Result<RelativePath, MemoryError> {
    let text = text.trim();
    let below = text.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix(['/', '\\']));
    let path = memory.relative(&with_extension(below.unwrap_or(text))?)?;
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    if path.as_path().iter().any(is_hidden) {
        return Err(MemoryError::Hidden(text.to_owned()));
    }
    Ok(path)
}

/// A name without an extension is that of a Markdown file.
fn with_extension(text: &str) -> Result<String, MemoryError> {
    match Path::new(text).extension() {
        Some(extension) if extension.eq_ignore_ascii_case("md") => Ok(text.to_owned()),
        None if Path::new(text).file_name().is_some() => Ok(format!("{text}.md")),
        _ => Err(MemoryError::NotMarkdown(text.to_owned())),
    }
}

/// How a file is called in answers: with the folder, as `read_file` wants it too.
fn shown(path: &RelativePath) -> String {
    format!("{FOLDER}/{path}")
}
