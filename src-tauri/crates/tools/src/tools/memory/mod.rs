//! `memory_write`, `memory_read` and `memory_search`: the agents' memory, as Markdown files in the workspace.
//!
//! Owns the folder `memory` of the workspace, which people may edit too. The folder is opened as a separate workspace,
//! so that these tools, which need no approval, reach nothing else. Refuses files other than Markdown, hidden files,
//! and unreasonable amounts. Reads and search results are untrusted input, because a tainted run may have written the
//! files.
//!
//! Pitfall: a link out of the folder; a search in an index that is not up to date (`index_update`).

mod folder;
mod index_update;
mod read;
mod scan;
mod search;
mod write;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rouse_core::memory::MemoryIndex;
use rouse_core::tool::Tool;

/// The tools for the memory. `max_read_bytes` limits a `memory_read`.
#[must_use]
pub fn memory_tools(index: Arc<dyn MemoryIndex>, max_read_bytes: u64) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(write::MemoryWrite::new()),
        Arc::new(read::MemoryRead::new(max_read_bytes)),
        Arc::new(search::MemorySearch::new(index)),
    ]
}
