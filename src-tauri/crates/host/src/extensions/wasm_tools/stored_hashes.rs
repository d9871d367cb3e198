//! The hashes of compiled components, in the database.
//!
//! A hash that cannot be read or written costs a compilation, so an error is only logged.

use std::sync::Arc;

use rouse_core::Clock;
use rouse_core::extension::CompiledHashes;
use rouse_core::tool::BoxFuture;
use rouse_store::Store;

/// The hashes by key.
pub(super) struct StoredHashes {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
}

impl CompiledHashes for StoredHashes {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.store.compiled_hash(key).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the hash of a compiled tool was not read");
                None
            })
        })
    }

    fn record<'a>(&'a self, key: &'a str, hash: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let now = self.clock.now();
            if let Err(error) = self.store.record_compiled_hash(key, hash, now).await {
                tracing::warn!(%error, "the hash of a compiled tool was not written");
            }
        })
    }
}
