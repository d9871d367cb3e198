//! Data keys in the keyring: for files whose content is larger than an entry.
//!
//! Owns the access only; the owner of a file makes its key. Never prompts for reading. Pitfall: an entry of the list of
//! secrets; accounts of data keys have names of their own.

use rouse_core::tool::BoxFuture;

use super::{Presence, SecretVault};

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

impl DataKeyEntries for SecretVault {
    fn read<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let Some(keyring) = &self.keyring else {
                return Err("the system's keyring is switched off (ROUSE_KEYRING=0)".to_owned());
            };
            let accounts = vec![account.to_owned()];
            let read = self.read_values(keyring, accounts, Presence::Away).await;
            let mut values = read.map_err(|error| error.to_string())?;
            let value = values.pop().expect("BUG: one entry has one value");
            value.map_err(|error| error.to_string())
        })
    }

    fn write<'a>(&'a self, account: &'a str, value: String) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.store_in_keyring(account.to_owned(), value))
    }
}
