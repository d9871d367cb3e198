//! The memory index without secrets.
//!
//! Files may hold secrets; the index is part of the database, so texts are redacted before indexing. Pitfall:
//! redacting only search results would leave the secret in the database. A text indexed before its secret was stored
//! stays until the file changes; the gate redacts such results.

use rouse_agent::Safety;
use rouse_core::memory::{
    IndexChanges, IndexFuture, IndexedFile, IndexedText, MemoryHit, MemoryIndex,
};
use rouse_store::Store;

/// The store's index behind the safety layer.
pub(crate) struct RedactedIndex {
    pub(crate) store: Store,
    pub(crate) safety: Safety,
}

impl RedactedIndex {
    /// The redacted file; none if the file name holds a secret.
    fn redact(&self, file: IndexedText) -> Option<IndexedText> {
        if self.safety.redacted(&file.file.path).is_some() {
            return None;
        }
        let text = self.safety.redacted(&file.text).unwrap_or(file.text);
        Some(IndexedText { text, ..file })
    }
}

impl MemoryIndex for RedactedIndex {
    fn held(&self) -> IndexFuture<'_, Vec<IndexedFile>> {
        self.store.held()
    }

    fn change(&self, changes: IndexChanges) -> IndexFuture<'_, ()> {
        let changed = changes.changed.into_iter().filter_map(|file| self.redact(file)).collect();
        self.store.change(IndexChanges { changed, ..changes })
    }

    fn search<'a>(&'a self, query: &'a str, most: u32) -> IndexFuture<'a, Vec<MemoryHit>> {
        self.store.search(query, most)
    }
}
