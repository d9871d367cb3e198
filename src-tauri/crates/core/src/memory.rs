//! The port to the index of the memory: full-text search over the Markdown files that agents keep.
//!
//! The files are the memory; the index holds only what was last read of them, and is brought up to them before each
//! search by whoever can read them. It refuses to read a file itself, and to understand a query as anything but words:
//! whatever a model writes is looked for, and never an expression. One could get it wrong by believing the index where
//! a file says otherwise.

use crate::UnixMs;
use crate::tool::BoxFuture;

/// What the index holds of a file, beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Where it is, below the folder of the memory, with slashes.
    pub path: String,
    /// What the system told of it when it was read, to see without reading whether it has changed; none when that
    /// proves nothing, because it had only just been written.
    pub stamp: Option<String>,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub digest: String,
    /// Why its text is not searched, as a sentence.
    pub problem: Option<String>,
    /// When it was last changed.
    pub modified_at: UnixMs,
}

/// A file as it was read; the text is empty where there is a problem with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// What is held of it.
    pub file: IndexedFile,
    /// Its text.
    pub text: String,
}

/// What brings the index up to the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// Files that are new, or hold something else than before.
    pub changed: Vec<FileText>,
    /// Files of which only the stamp is another.
    pub touched: Vec<IndexedFile>,
    /// Paths where there is no file any more.
    pub gone: Vec<String>,
}

/// A file in which something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Where it is, below the folder of the memory.
    pub path: String,
    /// The words that were found and those around them.
    pub snippet: String,
    /// When the file was last changed.
    pub modified_at: UnixMs,
}

/// The index could not be used; as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IndexFailure(pub String);

/// What a call of the index comes to.
pub type Indexed<'a, T> = BoxFuture<'a, Result<T, IndexFailure>>;

/// The index.
pub trait MemoryIndex: Send + Sync {
    /// All files that it holds.
    fn held(&self) -> Indexed<'_, Vec<IndexedFile>>;
    /// Takes changes in.
    fn change(&self, changes: IndexChanges) -> Indexed<'_, ()>;
    /// The files in which words of `query` are found, the best first, at most `most`.
    fn search<'a>(&'a self, query: &'a str, most: u32) -> Indexed<'a, Vec<Hit>>;
}
