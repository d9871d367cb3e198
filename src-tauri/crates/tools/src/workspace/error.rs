//! Why a path of the workspace could not be used, in words for whoever can mend it.

use std::io;

use rouse_core::tool::Fault;
use thiserror::Error;

use crate::answer::Faulty;
use crate::reach::FolderError;

/// Why a path could not be opened. The words are for the caller, who may mend the path.
#[derive(Debug, Error)]
pub(crate) enum WorkspaceError {
    /// Opening the workspace itself failed.
    #[error(
        "The workspace folder cannot be opened ({}). The person can set another one in the settings.",
        reason(source)
    )]
    Root { source: io::Error },
    /// The path names something outside, or uses `..`.
    #[error(
        "{path:?} is outside the workspace and the folders granted to this job. Use a path relative to the workspace, without `..`."
    )]
    Outside { path: String },
    /// The path cannot be a path.
    #[error("{path:?} is not a usable path.")]
    Unusable { path: String },
    /// Nothing is there.
    #[error("There is nothing at {path}.")]
    Missing { path: String },
    /// A folder was asked for.
    #[error("{path} is not a folder.")]
    NotAFolder { path: String },
    /// A file was asked for.
    #[error("{path} is a folder. Use list_dir to see what is in it.")]
    IsAFolder { path: String },
    /// A device, a pipe or a socket.
    #[error("{path} is not a regular file.")]
    NotAFile { path: String },
    /// A file with more than one name.
    #[error(
        "{path} is one of several names of the same file (a hard link), and the others may be outside the workspace. Copy it to a file of its own first."
    )]
    HardLink { path: String },
    /// Nobody may write it.
    #[error("{path} is read-only. Only the person can change that.")]
    ReadOnly { path: String },
    /// Something is there already.
    #[error("{path} is there already.")]
    Exists { path: String },
    /// A link on the way is not followed.
    #[error("{path} leads through a link that is not followed.")]
    Link { path: String },
    /// Something was to be put where a link leads. A yes is for the place that a person has read of, and whoever can
    /// write a link can lead it to another one.
    #[error(
        "{path} is not written: {link} is a link, and nothing is written through a link, because it can be led elsewhere after a yes. {}",
        instead(real.as_deref())
    )]
    ThroughLink { path: String, link: String, real: Option<String> },
    /// A folder that the job grants cannot be used.
    #[error(transparent)]
    Folder(FolderError),
    /// Opening failed otherwise.
    #[error("{path} cannot be opened ({}).", reason(source))]
    Open { path: String, source: io::Error },
    /// Reading failed.
    #[error("{path} cannot be read ({}).", reason(source))]
    Read { path: String, source: io::Error },
    /// Writing failed.
    #[error("{path} cannot be written ({}).", reason(source))]
    Write { path: String, source: io::Error },
}

impl Faulty for WorkspaceError {
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

fn instead(real: Option<&str>) -> String {
    match real {
        Some(real) => format!("Use the real path: {real}."),
        None => "It leads to no place in the workspace; use a path without a link.".to_owned(),
    }
}

/// The system's reason in its usual words, without its number.
fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    let end = words.find(" (os error").unwrap_or(words.len());
    words[..end].to_lowercase()
}
