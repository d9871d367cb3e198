//! The paths of an archive's entries.
//!
//! Owns the rules that keep every entry inside its folder, on every system: no absolute path, no `..`, no name that a
//! system reads as another one. Two names that differ only in case are refused, because some systems make them one file.

use std::collections::BTreeMap;

use rouse_core::text::escape_line;

use super::error::ArchiveError;

/// The maximum characters of a path.
const MAX_PATH: usize = 400;
/// Names of devices on Windows.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The paths of the entries so far.
#[derive(Default)]
pub(super) struct EntryPaths {
    /// The written path and its kind, by the path in small letters.
    known: BTreeMap<String, KnownPath>,
}

struct KnownPath {
    written: String,
    is_folder: bool,
}

impl EntryPaths {
    /// Checks a path and adds it with its folders. `path` has no `/` at its end.
    pub(super) fn add(&mut self, path: &str, is_folder: bool) -> Result<(), ArchiveError> {
        let refuse = |reason| {
            let path = escape_line(path);
            Err(ArchiveError::Entry { path, reason })
        };
        if path.chars().count() > MAX_PATH {
            return refuse("has a path that is too long");
        }
        if let Some(reason) = path.split('/').find_map(refused_name) {
            return refuse(reason);
        }
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends {
            if !self.insert(&path[..end], true) {
                return refuse("clashes with another entry");
            }
        }
        let is_new = is_folder || !self.known.contains_key(&path.to_lowercase());
        if !is_new || !self.insert(path, is_folder) {
            return refuse("clashes with another entry");
        }
        Ok(())
    }

    /// Adds a path. False if another spelling or another kind of the path is known.
    fn insert(&mut self, path: &str, is_folder: bool) -> bool {
        let new = || KnownPath { written: path.to_owned(), is_folder };
        let known = self.known.entry(path.to_lowercase()).or_insert_with(new);
        known.written == path && known.is_folder == is_folder
    }
}

/// Why a name of a path is refused; none for a plain name.
fn refused_name(name: &str) -> Option<&'static str> {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let is_port = ["com", "lpt"].iter().any(|port| {
        stem.strip_prefix(port).is_some_and(|number| number.chars().count() == 1 && number != "0")
    });
    if name.is_empty() {
        Some("is an absolute path or has an empty name")
    } else if name == "." || name == ".." {
        Some("leaves its folder")
    } else if name.contains(['\\', ':']) || name.chars().any(char::is_control) {
        Some("has a character that is no part of a name")
    } else if name.ends_with(['.', ' ']) || DEVICES.contains(&stem.as_str()) || is_port {
        Some("has a name that Windows reads as another name")
    } else {
        None
    }
}
