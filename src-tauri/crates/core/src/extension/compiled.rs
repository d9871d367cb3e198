//! The port to the hashes of compiled components.
//!
//! A compiled component is machine code in a file. Loading the file is safe only if this process wrote the file, so
//! the host keeps the hash of each file elsewhere, in its database. Pitfall: an implementation that keeps the hashes
//! beside the files; a change of a file would then come with its hash.

use crate::future::BoxFuture;

/// Hashes of the files of compiled components.
pub trait CompiledHashes: Send + Sync {
    /// The SHA-256 of the file for `key`, in hexadecimal digits. None when there is none or the hash cannot be read:
    /// the component is compiled again.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<String>>;
    /// Records the hash of the file for `key`; replaces an older one.
    fn record<'a>(&'a self, key: &'a str, hash: &'a str) -> BoxFuture<'a, ()>;
}
