//! Data keys in the keyring: for files whose content is larger than an entry.
//!
//! Owns the access only; the owner of a file makes its key. Never prompts for reading. Pitfall: an entry of the list of
//! secrets; accounts of data keys have names of their own.

use rouse_core::tool::BoxFuture;

/// The keyring's entries for data keys.
pub(crate) trait DataKeyEntries: Send + Sync {
    /// The entry; none if the keyring shows no such entry. Never prompts.
    ///
    /// # Errors
    /// Why the keyring does not answer, as the end of a sentence.
    fn read<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Option<String>, String>>;
    /// Stores an entry.
    ///
    /// # Errors
    /// Why the keyring does not answer, as the end of a sentence.
    fn write<'a>(&'a self, account: &'a str, value: String) -> BoxFuture<'a, Result<(), String>>;
}
