//! The error of a chore, as a sentence for the terminal.
//!
//! Owns only the text; no code branches on kinds of errors. Pitfall: a message without advice.

use std::fmt;

/// A printable error.
#[derive(Debug)]
pub(crate) struct ChoreError(String);

impl ChoreError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for ChoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds the failed operation to an IO error.
pub(crate) trait ErrorContext<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, ChoreError>;
}

impl<T> ErrorContext<T> for std::io::Result<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T, ChoreError> {
        self.map_err(|error| ChoreError::new(format!("could not {}: {error}", what())))
    }
}
