//! Update of the full-text index before each search.
//!
//! Compares the files' metadata with the metadata of the last read, reads only changed files, and indexes only changed
//! content. A file modified just before the read is read again, because a second change in the same moment leaves no
//! trace. A search reads a bounded amount, the newest files first, and reports the number of pending files.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use rouse_core::UnixMs;
use rouse_core::memory::{IndexChanges, IndexedFile, IndexedText, MemoryIndex};
use rouse_core::tool::{Fault, ToolOutput};

use super::folder::{MAX_FILE_BYTES, MemoryError, display_path, open};
use super::scan::{MemoryFile, MemoryScan, SkippedFile, scan_memory};
use crate::output;
use crate::text::plain_text;
use crate::workspace::{Workspace, WorkspaceError, sha256_hex};

/// Bytes read by a search.
const MAX_READ_BYTES: u64 = 32 << 20;
/// Limits of a batch of index changes.
const BATCH_FILES: usize = 200;
const BATCH_BYTES: u64 = 1 << 20;
/// Age after which a file's metadata will differ at the next change.
const SETTLED_MS: i64 = 2_000;
const NOT_TEXT: &str = "Not UTF-8 text.";

/// State of the index after an update.
pub(super) struct IndexStatus {
    pub(super) skipped: Vec<SkippedFile>,
    /// Files not read yet.
    pub(super) pending: usize,
    /// Whether the scan was cut off at the limit.
    pub(super) is_truncated: bool,
}

/// Updates the index from the files of `workspace`.
pub(super) async fn update_index(
    index: &dyn MemoryIndex,
    workspace: &Path,
    now: UnixMs,
) -> Result<IndexStatus, ToolOutput> {
    let root = workspace.to_owned();
    let scan = output::run_blocking(move || scan_workspace(&root)).await?;
    let indexed = index.held().await.map_err(index_error)?;
    let indexed: HashMap<String, IndexedFile> =
        indexed.into_iter().map(|file| (file.path.clone(), file)).collect();
    let MemoryScan { files, mut skipped, is_truncated, .. } = scan;
    let gone = removed_files(&indexed, &files);
    index.change(IndexChanges { gone, ..IndexChanges::default() }).await.map_err(index_error)?;
    let (to_read, pending) = select_changed(files, &indexed, &mut skipped);
    for batch in into_batches(to_read) {
        let root = workspace.to_owned();
        let known: Vec<_> = batch.iter().map(|file| indexed.get(&file.name).cloned()).collect();
        let read = output::run_blocking(move || read_batch(&root, batch, known, now)).await?;
        skipped.extend(read.skipped);
        index.change(read.changes).await.map_err(index_error)?;
    }
    Ok(IndexStatus { skipped, pending, is_truncated })
}

pub(super) fn index_error(failure: rouse_core::memory::IndexFailure) -> ToolOutput {
    output::failure(Fault::Execution, failure.to_string())
}

fn scan_workspace(workspace: &Path) -> Result<MemoryScan, MemoryError> {
    match open(workspace)? {
        Some(memory) => Ok(scan_memory(&memory)?),
        None => Ok(MemoryScan::default()),
    }
}

fn removed_files(indexed: &HashMap<String, IndexedFile>, files: &[MemoryFile]) -> Vec<String> {
    let existing: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    indexed.keys().filter(|path| !existing.contains(path.as_str())).cloned().collect()
}

/// Selects the changed files that fit into a search, the newest first; returns the number of the others.
fn select_changed(
    files: Vec<MemoryFile>,
    indexed: &HashMap<String, IndexedFile>,
    skipped: &mut Vec<SkippedFile>,
) -> (Vec<MemoryFile>, usize) {
    let mut changed = Vec::new();
    for file in files {
        match indexed.get(&file.name) {
            Some(known) if known.stamp.as_ref() == Some(&file.version.stamp) => {
                let path = display_path(&file.path);
                skipped.extend(known.problem.clone().map(|reason| SkippedFile { path, reason }));
            }
            _ => changed.push(file),
        }
    }
    changed.sort_by_key(|file| std::cmp::Reverse(file.version.modified_at));
    let mut bytes = 0;
    let fitting = changed.iter().take_while(|file| {
        bytes += file.size;
        bytes <= MAX_READ_BYTES
    });
    let count = fitting.count();
    let pending = changed.len() - count;
    changed.truncate(count);
    (changed, pending)
}

fn into_batches(files: Vec<MemoryFile>) -> Vec<Vec<MemoryFile>> {
    let mut batches: Vec<Vec<MemoryFile>> = Vec::new();
    let mut bytes = 0;
    for file in files {
        bytes += file.size;
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_FILES && bytes <= BATCH_BYTES => batch.push(file),
            _ => {
                bytes = file.size;
                batches.push(vec![file]);
            }
        }
    }
    batches
}

/// The result of reading a batch.
#[derive(Default)]
struct ReadBatch {
    changes: IndexChanges,
    skipped: Vec<SkippedFile>,
}

fn read_batch(
    workspace: &Path,
    batch: Vec<MemoryFile>,
    known: Vec<Option<IndexedFile>>,
    now: UnixMs,
) -> Result<ReadBatch, MemoryError> {
    let mut read = ReadBatch::default();
    let Some(memory) = open(workspace)? else { return Ok(read) };
    for (file, known) in batch.into_iter().zip(known) {
        let is_settled = now.since(file.version.latest_at) > SETTLED_MS;
        let stamp = is_settled.then(|| file.version.stamp.clone());
        let (digest, text, problem) = match read_text(&memory, &file) {
            Ok((digest, Some(text))) => (digest, text, None),
            Ok((digest, None)) => (digest, String::new(), Some(NOT_TEXT.to_owned())),
            // Removed since the scan; the next search will not find the file.
            Err(WorkspaceError::Missing { .. }) => continue,
            Err(error) => (String::new(), String::new(), Some(error.to_string())),
        };
        // Without a stamp the next search tries again.
        let stamp = stamp.filter(|_| !digest.is_empty());
        let path = display_path(&file.path);
        read.skipped.extend(problem.clone().map(|reason| SkippedFile { path, reason }));
        let modified_at = file.version.modified_at;
        let file = IndexedFile { path: file.name, stamp, digest, problem, modified_at };
        match known {
            Some(known) if known == file => {}
            Some(known) if known.digest == file.digest && known.problem == file.problem => {
                read.changes.touched.push(file);
            }
            _ => read.changes.changed.push(IndexedText { file, text }),
        }
    }
    Ok(read)
}

/// Reads a file: the SHA-256, and the text of a UTF-8 file.
fn read_text(
    memory: &Workspace,
    file: &MemoryFile,
) -> Result<(String, Option<String>), WorkspaceError> {
    let failed = |source| WorkspaceError::Read { path: file.name.clone(), source };
    let (opened, _) = memory.open_file(&file.path)?;
    let mut bytes = Vec::new();
    // Bounded by the limit instead of the size, because the file may grow.
    opened.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let digest = sha256_hex(bytes.as_slice()).map_err(failed)?;
    Ok((digest, String::from_utf8(bytes).ok().map(|text| plain_text(&text))))
}
