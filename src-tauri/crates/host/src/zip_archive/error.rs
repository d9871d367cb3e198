//! Why an archive is refused.

use std::io;

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// No zip archive, or of a form that Rouse does not read.
    #[error("The file is no zip archive that Rouse reads: {0}. Download the file again.")]
    Format(String),
    /// Over a bound.
    #[error("The archive {0}. Rouse unpacks no such archive.")]
    Bound(String),
    /// An entry with a dangerous path or kind.
    #[error("The archive holds {path}, which {reason}. Rouse unpacks no such archive.")]
    Entry {
        /// The path, escaped.
        path: String,
        /// The reason, as a predicate.
        reason: &'static str,
    },
    /// The content of an entry is not what the directory says.
    #[error("The file {0} of the archive is damaged. Download the archive again.")]
    Damaged(String),
    /// A file is missing.
    #[error("The archive has no file {0}. Look for another archive.")]
    Missing(String),
    /// A file is larger than Rouse reads.
    #[error("The file {0} of the archive is too large. Look for another archive.")]
    TooLarge(String),
    /// A file is no text.
    #[error("The file {0} of the archive is no text. Look for another archive.")]
    NotText(String),
    /// The system refused.
    #[error("The archive cannot be unpacked: {0}. Check the disk.")]
    Io(#[from] io::Error),
}
