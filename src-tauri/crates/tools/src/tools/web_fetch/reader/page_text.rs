//! The result of the page reader.

use serde::{Deserialize, Serialize};

/// The text of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageText {
    pub(crate) title: Option<String>,
    /// Markdown for HTML.
    pub(crate) text: String,
    /// A remark on the text, such as a truncation.
    pub(crate) note: Option<String>,
}

/// Failure to read a page, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReadFailure(pub(crate) String);
