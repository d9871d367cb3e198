//! The list of a package's files with their hashes.
//!
//! Owns the text of `files.sha256` and the comparison of two lists. Paths are relative, with `/`; the text is sorted by
//! path. The hash of the text stands in `extensions.lock`. Pitfall: a link; its record is the hash of its target's path.

use std::collections::BTreeMap;

use crate::text::hex_digits;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

/// The digits of a hash.
const HASH_DIGITS: usize = 64;
/// The maximum number of changed files on a page.
const MAX_SHOWN: usize = 20;

/// The files of a package by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileList {
    hashes: BTreeMap<String, String>,
}

/// The accepted files of a package, in `extensions.lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FileManifest {
    /// The SHA-256 of the list of files.
    pub sha256: String,
    /// The number of files.
    pub files: u32,
    /// The bytes of all files.
    pub bytes: u64,
}

/// A file that is not as a person accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The path in the folder of the package.
    pub path: String,
    /// The kind of the change.
    pub change: FileChangeKind,
}

/// The files of an update that differ from the installed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PackageChanges {
    /// The first files by path, at most 20.
    pub files: Vec<FileChange>,
    /// The number of the other files.
    pub others: u32,
}

/// How a file differs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum FileChangeKind {
    /// Another content.
    Changed,
    /// No longer there.
    Missing,
    /// Not in the accepted list.
    Extra,
}

impl FileList {
    /// Adds a file with the digits of its hash.
    pub fn insert(&mut self, path: String, sha256: String) {
        self.hashes.insert(path, sha256);
    }

    /// The number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether the list has no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The text: one line for each file, `path sha256`, sorted by path.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.hashes.iter().map(|(path, hash)| format!("{path} {hash}\n"));
        lines.collect()
    }

    /// The list of a text; none for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let entry = |line: &str| {
            let (path, hash) = line.rsplit_once(' ')?;
            (hash.len() == HASH_DIGITS && !path.is_empty())
                .then(|| (path.to_owned(), hash.to_owned()))
        };
        let hashes = text.lines().map(entry).collect::<Option<BTreeMap<_, _>>>()?;
        Some(Self { hashes })
    }

    /// The SHA-256 of the text.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex_digits(&Sha256::digest(self.text().as_bytes()))
    }

    /// The differences of the `found` files from this accepted list, by path.
    #[must_use]
    pub fn changes(&self, found: &Self) -> Vec<FileChange> {
        let mut changes = BTreeMap::new();
        for (path, hash) in &self.hashes {
            match found.hashes.get(path) {
                Some(other) if other == hash => {}
                Some(_) => {
                    changes.insert(path, FileChangeKind::Changed);
                }
                None => {
                    changes.insert(path, FileChangeKind::Missing);
                }
            }
        }
        for path in found.hashes.keys().filter(|path| !self.hashes.contains_key(*path)) {
            changes.insert(path, FileChangeKind::Extra);
        }
        let change = |(path, change): (&String, _)| FileChange { path: path.clone(), change };
        changes.into_iter().map(change).collect()
    }
}

impl PackageChanges {
    /// The first of these changes, and the number of the others.
    #[must_use]
    pub fn new(mut changes: Vec<FileChange>) -> Self {
        let others = changes.len().saturating_sub(MAX_SHOWN);
        changes.truncate(MAX_SHOWN);
        Self { files: changes, others: u32::try_from(others).unwrap_or(u32::MAX) }
    }
}

impl FileChangeKind {
    /// The label of a file that an update changes.
    #[must_use]
    pub const fn update_label(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "removed",
            Self::Extra => "added",
        }
    }

    /// The label for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Extra => "not in the package",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(files: &[(&str, &str)]) -> FileList {
        let mut list = FileList::default();
        for (path, content) in files {
            list.insert((*path).to_owned(), hex_digits(&Sha256::digest(content.as_bytes())));
        }
        list
    }

    #[test]
    fn text_of_a_list_is_sorted_and_read_back() {
        let list = list(&[("b/two words.js", "2"), ("a.js", "1")]);
        let text = list.text();
        assert!(text.starts_with("a.js 6b86b273") && text.contains("\nb/two words.js d4735e3a"));
        assert_eq!(FileList::parse(&text), Some(list.clone()));
        assert_eq!(list.sha256(), hex_digits(&Sha256::digest(text.as_bytes())));
        for damaged in ["a.js", "a.js 00", &format!(" {}", "0".repeat(64))] {
            assert_eq!(FileList::parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn page_has_the_first_changes_and_a_count() {
        let change = |number: usize| FileChange {
            path: format!("{number}.js"),
            change: FileChangeKind::Extra,
        };
        let shown = |count| {
            let changes = PackageChanges::new((0..count).map(change).collect());
            (changes.files.len(), changes.others)
        };
        assert_eq!((shown(0), shown(20), shown(23)), ((0, 0), (20, 0), (20, 3)));
    }

    #[test]
    fn changed_missing_and_extra_files_are_found() {
        let accepted = list(&[("a.js", "1"), ("b.js", "2"), ("c.js", "3")]);
        let found = list(&[("a.js", "1"), ("b.js", "other"), ("d.js", "4")]);
        let changes = accepted.changes(&found);
        let changes: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.change)).collect();
        let expected = [
            ("b.js", FileChangeKind::Changed),
            ("c.js", FileChangeKind::Missing),
            ("d.js", FileChangeKind::Extra),
        ];
        assert_eq!(changes, expected);
        assert!(accepted.changes(&accepted).is_empty());
    }
}
