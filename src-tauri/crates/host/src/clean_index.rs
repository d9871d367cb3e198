//! The index of the memory as the tools are given it: without secrets.
//!
//! The files are the person's, and may hold what they like; the index stands in the database, where no secret belongs.
//! One could get it wrong by cleaning what is found: then it would stand there all the same. What was indexed before a
//! secret was stored stays as it is until its file changes; whoever searches gets it redacted by the gate.

use rouse_agent::Safety;
use rouse_core::memory::{FileText, Hit, IndexChanges, Indexed, IndexedFile, MemoryIndex};
use rouse_store::Store;

/// The store's index behind the safety layer.
pub(crate) struct CleanIndex {
    pub(crate) store: Store,
    pub(crate) safety: Safety,
}

impl CleanIndex {
    /// The file as it may be kept; none when its very name holds a secret.
    fn clean(&self, file: FileText) -> Option<FileText> {
        if self.safety.redacted(&file.file.path).is_some() {
            return None;
        }
        let text = self.safety.redacted(&file.text).unwrap_or(file.text);
        Some(FileText { text, ..file })
    }
}

impl MemoryIndex for CleanIndex {
    fn held(&self) -> Indexed<'_, Vec<IndexedFile>> {
        self.store.held()
    }

    fn change(&self, changes: IndexChanges) -> Indexed<'_, ()> {
        let changed = changes.changed.into_iter().filter_map(|file| self.clean(file)).collect();
        self.store.change(IndexChanges { changed, ..changes })
    }

    fn search<'a>(&'a self, query: &'a str, most: u32) -> Indexed<'a, Vec<Hit>> {
        self.store.search(query, most)
    }
}
