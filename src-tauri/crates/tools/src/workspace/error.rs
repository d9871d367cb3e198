//! Errors of workspace paths, in words for the caller, with a remedy for the path.

use std::io;

use rouse_core::tool::Fault;
use thiserror::Error;

use crate::output::ToolFailure;

/// Failure to open, read or write a path.
#[derive(Debug, Error)]
pub(crate) enum WorkspaceError {
    #[error(
        "The workspace folder cannot be opened ({}). Set another one in the settings.",
        reason(source)
    )]
    Root { source: io::Error },
    /// Outside every folder of the run, or with `..`.
    #[error(
        "{path:?} is outside the workspace and the folders granted to this job. Use a path relative to the workspace, without `..`."
    )]
    Outside { path: String },
    #[error("{path:?} is not a usable path.")]
    Unusable { path: String },
    #[error("{path} does not exist.")]
    Missing { path: String },
    #[error("{path} is not a folder.")]
    NotAFolder { path: String },
    #[error("{path} is a folder. Use list_dir to see what is in it.")]
    IsAFolder { path: String },
    /// A device, a pipe or a socket.
    #[error("{path} is not a regular file.")]
    NotAFile { path: String },
    #[error(
        "{path} is a hard link: the same file has other names, perhaps outside the workspace. Copy it to a new file first."
    )]
    HardLink { path: String },
    #[error("{path} is read-only. Only the person can change that.")]
    ReadOnly { path: String },
    #[error("{path} already exists.")]
    Exists { path: String },
    #[error("{path} leads through a link, and links are not followed.")]
    Link { path: String },
    /// A write through a link, which could be redirected after the approval.
    #[error(
        "{path} was not written: {link} is a link, and nothing is written through links, because a link can be redirected after an approval. {}",
        link_advice(real.as_deref())
    )]
    ThroughLink { path: String, link: String, real: Option<String> },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{path} cannot be opened ({}).", reason(source))]
    Open { path: String, source: io::Error },
    #[error("{path} cannot be read ({}).", reason(source))]
    Read { path: String, source: io::Error },
    #[error("{path} cannot be written ({}).", reason(source))]
    Write { path: String, source: io::Error },
}

/// Rejection of a granted folder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum FolderError {
    #[error("The granted folder {0} does not exist. Create it, or remove the grant.")]
    Missing(String),
    #[error(
        "The granted folder {folder} leads to {real} through a link, and a link can be redirected after a grant. Grant {real} instead."
    )]
    Link { folder: String, real: String },
    #[error("The folder {folder} cannot be granted: {why}. Grant a subfolder.")]
    Refused { folder: String, why: String },
}

impl ToolFailure for FolderError {
    fn fault(&self) -> Fault {
        match self {
            Self::Missing(_) => Fault::Execution,
            Self::Link { .. } | Self::Refused { .. } => Fault::NotAuthorised,
        }
    }
}

impl ToolFailure for WorkspaceError {
    fn fault(&self) -> Fault {
        match self {
            Self::Unusable { .. } => Fault::InvalidParameters,
            Self::Folder(error) => error.fault(),
            Self::Outside { .. }
            | Self::Link { .. }
            | Self::ThroughLink { .. }
            | Self::HardLink { .. }
            | Self::NotAFile { .. }
            | Self::ReadOnly { .. } => Fault::NotAuthorised,
            Self::Root { .. }
            | Self::Missing { .. }
            | Self::NotAFolder { .. }
            | Self::IsAFolder { .. }
            | Self::Exists { .. }
            | Self::Open { .. }
            | Self::Read { .. }
            | Self::Write { .. } => Fault::Execution,
        }
    }
}

fn link_advice(real: Option<&str>) -> String {
    match real {
        Some(real) => format!("Use the real path: {real}."),
        None => "The link's target is not in the workspace; use a path without links.".to_owned(),
    }
}

/// The system's reason, without the number.
fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    let end = words.find(" (os error").unwrap_or(words.len());
    words[..end].to_lowercase()
}
