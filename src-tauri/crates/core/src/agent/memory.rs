//! The port to the memory index: full-text search over the Markdown files of agents.
//!
//! Owns the types of the index. The files are the memory; the index holds their last read state and is updated before each
//! search. Never reads a file and never parses a query: every query is plain words.
//! Pitfall: trusting the index over a file.

use crate::UnixMs;
use crate::future::BoxFuture;

/// A file in the index, without the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// The path below the memory folder, with slashes.
    pub path: String,
    /// The file's metadata at the time of reading, to detect changes without reading; none when useless because the
    /// file had just been written.
    pub stamp: Option<String>,
    /// The SHA-256 of the content, in hexadecimal digits.
    pub digest: String,
    /// Why the text is not indexed, as a sentence.
    pub problem: Option<String>,
    /// The instant of the last modification.
    pub modified_at: UnixMs,
}

/// A file with the text; empty when there is a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedText {
    /// The metadata.
    pub file: IndexedFile,
    /// The text.
    pub text: String,
}

/// The changes that update the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// New files and files with new content.
    pub changed: Vec<IndexedText>,
    /// Files with new metadata only.
    pub touched: Vec<IndexedFile>,
    /// Paths of deleted files.
    pub gone: Vec<String>,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryHit {
    /// The path below the memory folder.
    pub path: String,
    /// The found words with their context.
    pub snippet: String,
    /// When the file was last modified.
    pub modified_at: UnixMs,
}

/// A failure of the index, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IndexFailure(pub String);

/// The result of an index operation.
pub type IndexFuture<'a, T> = BoxFuture<'a, Result<T, IndexFailure>>;

/// The memory index.
pub trait MemoryIndex: Send + Sync {
    /// All indexed files.
    fn held(&self) -> IndexFuture<'_, Vec<IndexedFile>>;
    /// Applies changes.
    fn change(&self, changes: IndexChanges) -> IndexFuture<'_, ()>;
    /// Files that match words of `query`, best first, at most `most`.
    fn search<'a>(&'a self, query: &'a str, most: u32) -> IndexFuture<'a, Vec<MemoryHit>>;
}
