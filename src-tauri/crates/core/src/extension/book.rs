//! The port to the installed extensions.
//!
//! Implemented by the owner of `extensions.lock`. A room that runs servers reads accepted definitions here and reports
//! listings; it never changes what a person accepted.

use super::document::Extension;
use super::name::ExtensionName;
use super::pin::ToolListing;
use crate::future::BoxFuture;

/// Why a secret handle was not filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct UnfilledSecret {
    /// Cause and remedy as sentences.
    pub text: String,
    /// Whether a later attempt may succeed without a person: the value could not be read this time.
    pub is_transient: bool,
}

/// The installed extensions.
pub trait ExtensionBook: Send + Sync {
    /// The extension of this name.
    fn get(&self, name: &ExtensionName) -> Option<Extension>;
    /// All extensions, by name.
    fn all(&self) -> Vec<(ExtensionName, Extension)>;
    /// Records a listing of a server: the held tools and the reported version. Accepted tools stay.
    fn record_listing(&self, name: &ExtensionName, version: Option<String>, listing: &ToolListing);
    /// Fills the secret handles of a text that goes to this extension only.
    ///
    /// # Errors
    /// A secret is missing, not bound to this extension, or cannot be read.
    fn fill_secrets(&self, name: &ExtensionName, text: &str) -> Result<String, UnfilledSecret>;
    /// Compares the files of the extension's package with the accepted files. Called before each start. Without a
    /// package there is nothing to compare.
    ///
    /// # Errors
    /// A file differs or cannot be read: the difference as a sentence.
    fn check_files<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>>;
}
