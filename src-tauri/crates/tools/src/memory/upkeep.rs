//! Bringing the index up to the files, before each search.
//!
//! What the system tells of a file is compared with what it told when the file was read; only what differs is read, and
//! only what reads differently is indexed anew. A file that had just been written when it was looked at is looked at
//! again: another change within the same moment would leave no trace. One search reads no more than is done in a moment,
//! the newest first; the next one goes on, and says how much is still to come.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use rouse_core::UnixMs;
use rouse_core::memory::{FileText, IndexChanges, IndexedFile, MemoryIndex};
use rouse_core::tool::{Fault, ToolOutput};

use super::walk::{Found, Walked, walk};
use super::{MOST_BYTES, MemoryError, open};
use crate::answer;
use crate::text::plain_text;
use crate::workspace::{Workspace, WorkspaceError, digest};

/// The most bytes that one search reads.
const MOST_READ: u64 = 32 << 20;
/// What is read before it is handed over.
const FILES_AT_ONCE: usize = 200;
const BYTES_AT_ONCE: u64 = 1 << 20;
/// A file that has not changed for so long has a trace that the next change will not leave again.
const SETTLED_MS: i64 = 2_000;
const NOT_TEXT: &str = "It is not UTF-8 text.";

/// What a search has to say beside its results.
pub(super) struct Kept {
    /// What is not searched, and why.
    pub(super) left_out: Vec<(String, String)>,
    /// How many files were not read yet.
    pub(super) behind: usize,
    /// There are more files than are looked at.
    pub(super) is_cut: bool,
}

/// Brings the index up to the files of `workspace`.
pub(super) async fn keep_up(
    index: &dyn MemoryIndex,
    workspace: &Path,
    now: UnixMs,
) -> Result<Kept, ToolOutput> {
    let root = workspace.to_owned();
    let walked = answer::blocking(move || files_of(&root)).await?;
    let held = index.held().await.map_err(failed)?;
    let held: HashMap<String, IndexedFile> =
        held.into_iter().map(|file| (file.path.clone(), file)).collect();
    let Walked { files, left_out, is_cut, .. } = walked;
    let mut problems = Vec::new();
    let gone = gone(&held, &files);
    index.change(IndexChanges { gone, ..IndexChanges::default() }).await.map_err(failed)?;
    let (to_read, behind) = differing(files, &held, &mut problems);
    for batch in batches(to_read) {
        let root = workspace.to_owned();
        let known: Vec<_> = batch.iter().map(|found| held.get(&found.name).cloned()).collect();
        let read = answer::blocking(move || read_all(&root, batch, known, now)).await?;
        problems.extend(read.problems);
        index.change(read.changes).await.map_err(failed)?;
    }
    let left_out = left_out.into_iter().map(|left_out| (left_out.path, left_out.why));
    Ok(Kept { left_out: left_out.chain(problems).collect(), behind, is_cut })
}

pub(super) fn failed(failure: rouse_core::memory::IndexFailure) -> ToolOutput {
    answer::failed(Fault::Execution, failure.to_string())
}

fn files_of(workspace: &Path) -> Result<Walked, MemoryError> {
    match open(workspace)? {
        Some(memory) => Ok(walk(&memory)?),
        None => Ok(Walked::default()),
    }
}

fn gone(held: &HashMap<String, IndexedFile>, files: &[Found]) -> Vec<String> {
    let there: std::collections::HashSet<&str> =
        files.iter().map(|found| found.name.as_str()).collect();
    held.keys().filter(|path| !there.contains(path.as_str())).cloned().collect()
}

/// The files that have to be read, the newest first, and how many more there are than can be.
fn differing(
    files: Vec<Found>,
    held: &HashMap<String, IndexedFile>,
    problems: &mut Vec<(String, String)>,
) -> (Vec<Found>, usize) {
    let mut differing = Vec::new();
    for found in files {
        match held.get(&found.name) {
            Some(file) if file.stamp.as_ref() == Some(&found.trace.stamp) => {
                problems.extend(file.problem.clone().map(|why| (super::shown(&found.path), why)));
            }
            _ => differing.push(found),
        }
    }
    differing.sort_by_key(|found| std::cmp::Reverse(found.trace.modified_at));
    let mut bytes = 0;
    let fitting = differing.iter().take_while(|found| {
        bytes += found.size;
        bytes <= MOST_READ
    });
    let count = fitting.count();
    let behind = differing.len() - count;
    differing.truncate(count);
    (differing, behind)
}

fn batches(files: Vec<Found>) -> Vec<Vec<Found>> {
    let mut batches: Vec<Vec<Found>> = Vec::new();
    let mut bytes = 0;
    for found in files {
        bytes += found.size;
        match batches.last_mut() {
            Some(batch) if batch.len() < FILES_AT_ONCE && bytes <= BYTES_AT_ONCE => {
                batch.push(found)
            }
            _ => {
                bytes = found.size;
                batches.push(vec![found]);
            }
        }
    }
    batches
}

/// What reading some files came to.
#[derive(Default)]
struct ReadFiles {
    changes: IndexChanges,
    problems: Vec<(String, String)>,
}

fn read_all(
    workspace: &Path,
    batch: Vec<Found>,
    known: Vec<Option<IndexedFile>>,
    now: UnixMs,
) -> Result<ReadFiles, MemoryError> {
    let mut read = ReadFiles::default();
    let Some(memory) = open(workspace)? else { return Ok(read) };
    for (found, known) in batch.into_iter().zip(known) {
        let is_settled = now.since(found.trace.latest_at) > SETTLED_MS;
        let stamp = is_settled.then(|| found.trace.stamp.clone());
        let (digest, text, problem) = match text_of(&memory, &found) {
            Ok((digest, Some(text))) => (digest, text, None),
            Ok((digest, None)) => (digest, String::new(), Some(NOT_TEXT.to_owned())),
            // It has gone since it was looked at; the next search will not find it.
            Err(WorkspaceError::Missing { .. }) => continue,
            Err(error) => (String::new(), String::new(), Some(error.to_string())),
        };
        // What could not be opened is tried again.
        let stamp = stamp.filter(|_| !digest.is_empty());
        read.problems.extend(problem.clone().map(|why| (super::shown(&found.path), why)));
        let modified_at = found.trace.modified_at;
        let file = IndexedFile { path: found.name, stamp, digest, problem, modified_at };
        match known {
            Some(known) if known == file => {}
            Some(known) if known.digest == file.digest && known.problem == file.problem => {
                read.changes.touched.push(file);
            }
            _ => read.changes.changed.push(FileText { file, text }),
        }
    }
    Ok(read)
}

/// The SHA-256 of a file, and its text when it has one.
fn text_of(memory: &Workspace, found: &Found) -> Result<(String, Option<String>), WorkspaceError> {
    let failed = |source| WorkspaceError::Read { path: found.name.clone(), source };
    let (file, _) = memory.open_file(&found.path)?;
    let mut bytes = Vec::new();
    // The limit, and not the size told before, because the file may be growing.
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let digest = digest(bytes.as_slice()).map_err(failed)?;
    Ok((digest, String::from_utf8(bytes).ok().map(|text| plain_text(&text))))
}
