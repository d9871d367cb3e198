//! Which files the memory has, without reading them.
//!
//! Links are not followed and hidden files are not the memory's. What cannot be searched is told by name, because a note
//! that is silently left out is believed to be lost.

use std::collections::VecDeque;
use std::ffi::OsStr;

use super::{FOLDER, MOST_BYTES};
use crate::workspace::{EntryKind, RelativePath, Trace, Workspace, WorkspaceError};

/// The most entries that are looked at. Twice what the tools themselves would ever make.
const MOST_SEEN: usize = 20_000;
/// How deep folders are looked into: so many names has the path of a file at the most.
pub(super) const MOST_DEPTH: usize = 8;

/// A Markdown file that can be searched.
pub(super) struct Found {
    pub(super) path: RelativePath,
    /// The path as the index has it.
    pub(super) name: String,
    pub(super) trace: Trace,
    pub(super) size: u64,
}

/// A file or folder that cannot be searched, and why, as a sentence.
pub(super) struct LeftOut {
    pub(super) path: String,
    pub(super) why: String,
}

/// What there is.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) files: Vec<Found>,
    pub(super) left_out: Vec<LeftOut>,
    /// There is more than was looked at.
    pub(super) is_cut: bool,
    seen: usize,
}

/// Looks at everything in `memory`.
pub(super) fn walk(memory: &Workspace) -> Result<Walked, WorkspaceError> {
    let mut walked = Walked::default();
    let root = memory.relative(".")?;
    let mut waiting = VecDeque::from([(root.clone(), 1)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        match walked.look_into(memory, &folder) {
            Ok(folders) if depth < MOST_DEPTH => {
                waiting.extend(folders.into_iter().map(|folder| (folder, depth + 1)));
            }
            Ok(folders) => folders.iter().for_each(|folder| {
                walked.leave_out(
                    folder,
                    format!("Its files lie below {MOST_DEPTH} folders, deeper than is searched."),
                );
            }),
            // It has gone since it was listed.
            Err(WorkspaceError::Missing { .. }) if folder != root => {}
            Err(error) if folder == root => return Err(error),
            Err(error) => walked.leave_out(&folder, error.to_string()),
        }
    }
    walked.files.sort_by(|one, other| one.name.cmp(&other.name));
    walked.left_out.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(walked)
}

impl Walked {
    /// Takes the files of `folder`; answers the folders in it.
    fn look_into(
        &mut self,
        memory: &Workspace,
        folder: &RelativePath,
    ) -> Result<Vec<RelativePath>, WorkspaceError> {
        let left = MOST_SEEN.saturating_sub(self.seen);
        if left == 0 {
            self.is_cut = true;
            return Ok(Vec::new());
        }
        let (entries, has_more) = memory.entries(folder, left)?;
        self.seen += entries.len();
        self.is_cut |= has_more;
        let mut folders = Vec::new();
        for entry in entries {
            if entry.name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.child(&entry.name);
            match entry.kind {
                EntryKind::Folder => folders.push(path),
                EntryKind::File if is_markdown(&path) => self.take(path, entry.trace, entry.size),
                EntryKind::Link if is_markdown(&path) => {
                    self.leave_out(&path, "It is a link, which is not followed.".to_owned());
                }
                EntryKind::File | EntryKind::Link | EntryKind::Other => {}
            }
        }
        Ok(folders)
    }

    fn take(&mut self, path: RelativePath, trace: Trace, size: u64) {
        if size > MOST_BYTES {
            let why = format!("It has {size} bytes; at most {MOST_BYTES} are searched.");
            return self.leave_out(&path, why);
        }
        // The index keeps what is shown, and two names that are shown alike would be one.
        let name = path.to_string();
        let exact: Option<Vec<&str>> = path.as_path().iter().map(OsStr::to_str).collect();
        if exact.is_none_or(|exact| exact.join("/") != name) {
            return self
                .leave_out(&path, "Its name has characters that cannot be shown.".to_owned());
        }
        self.files.push(Found { path, name, trace, size });
    }

    fn leave_out(&mut self, path: &RelativePath, why: String) {
        self.left_out.push(LeftOut { path: format!("{FOLDER}/{path}"), why });
    }
}

fn is_markdown(path: &RelativePath) -> bool {
    path.as_path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
