//! What was written and synced, and the files as a power cut could have left them.
//!
//! A write that was not synced may be there, be gone, or be there in some of its sectors; those of one file need not
//! arrive in order, and neither do those of two. A sync of a file makes all of that file certain; SQLite syncs the folder,
//! too, when it syncs a new file for the first time, and that makes every name in it certain.

use std::collections::BTreeMap;
use std::path::Path;

/// A sector arrives as a whole.
const SECTOR: usize = 512;

/// What a call did. Files are named as they are in their folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the parts say it")]
pub enum Entry {
    /// Bytes were written.
    Write { file: String, at: usize, bytes: Vec<u8> },
    /// The file was cut or stretched.
    Truncate { file: String, size: usize },
    /// Everything about the file is certain.
    Sync { file: String },
    /// The file was deleted.
    Delete { file: String },
    /// Somebody was told that something is saved.
    Note(u64),
}

/// What happened in a folder, in order.
#[derive(Debug, Clone, Default)]
pub struct Record {
    before: BTreeMap<String, Vec<u8>>,
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
struct OnDisk {
    certain: Option<Vec<u8>>,
    unsynced: Vec<Entry>,
}

impl Record {
    pub(super) fn of_folder(folder: &Path) -> Self {
        let mut before = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("a folder to watch") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && !name.ends_with("-shm") {
                before.insert(name, std::fs::read(&path).expect("a file to watch"));
            }
        }
        Self { before, entries: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The entries, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The notes among the first `upto` entries.
    pub fn notes(&self, upto: usize) -> impl Iterator<Item = u64> {
        self.entries[..upto].iter().filter_map(|entry| match entry {
            Entry::Note(number) => Some(*number),
            _ => None,
        })
    }

    /// The files as they may be when the power goes after the first `upto` entries; `chance` decides what became of
    /// what was not synced.
    pub fn image(&self, upto: usize, mut chance: impl FnMut() -> u64) -> BTreeMap<String, Vec<u8>> {
        let files = self.on_disk(upto);
        // Half of all power cuts leave something simple: nothing or everything of what was not synced.
        let luck = match chance() % 8 {
            0 | 1 => Luck::Nothing,
            2 | 3 => Luck::Everything,
            _ => Luck::Some,
        };
        let images = files.into_iter().filter_map(|(name, on_disk)| {
            let bytes = on_disk.survives(luck, &mut chance)?;
            Some((name, bytes))
        });
        images.collect()
    }

    fn on_disk(&self, upto: usize) -> BTreeMap<String, OnDisk> {
        let known = |(name, bytes): (&String, &Vec<u8>)| {
            (name.clone(), OnDisk { certain: Some(bytes.clone()), unsynced: Vec::new() })
        };
        let mut files: BTreeMap<String, OnDisk> = self.before.iter().map(known).collect();
        for entry in &self.entries[..upto] {
            let name = match entry {
                Entry::Write { file, .. }
                | Entry::Truncate { file, .. }
                | Entry::Sync { file }
                | Entry::Delete { file } => file,
                Entry::Note(_) => continue,
            };
            let on_disk = files.entry(name.clone()).or_default();
            if matches!(entry, Entry::Sync { .. }) {
                let is_new = on_disk.is_new();
                on_disk.settle();
                if is_new {
                    files.values_mut().for_each(OnDisk::settle_names);
                }
            } else {
                on_disk.unsynced.push(entry.clone());
            }
        }
        files
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Luck {
    Nothing,
    Everything,
    Some,
}

impl OnDisk {
    /// Whether nobody has made its name certain yet.
    fn is_new(&self) -> bool {
        self.certain.is_none() || self.last_delete().is_some()
    }

    fn last_delete(&self) -> Option<usize> {
        self.unsynced.iter().rposition(|entry| matches!(entry, Entry::Delete { .. }))
    }

    /// The folder was synced: what was deleted in it is gone.
    fn settle_names(&mut self) {
        if let Some(at) = self.last_delete() {
            self.unsynced.drain(..=at);
            self.certain = None;
        }
    }

    fn settle(&mut self) {
        for entry in std::mem::take(&mut self.unsynced) {
            apply(&mut self.certain, &entry, || true);
        }
        // A file that was synced exists.
        self.certain.get_or_insert_default();
    }

    fn survives(mut self, luck: Luck, chance: &mut impl FnMut() -> u64) -> Option<Vec<u8>> {
        for entry in std::mem::take(&mut self.unsynced) {
            let (arrives, is_torn) = match luck {
                Luck::Nothing => (false, false),
                Luck::Everything => (true, false),
                Luck::Some => (!chance().is_multiple_of(3), chance().is_multiple_of(3)),
            };
            if arrives {
                apply(&mut self.certain, &entry, || !is_torn || chance().is_multiple_of(2));
            } else if matches!(entry, Entry::Delete { .. }) {
                // The name still leads to the old file; what was written to a new one of that name is out of sight.
                break;
            }
        }
        self.certain
    }
}

/// Applies what was done to a file; `arrives` is asked for each sector of a write.
fn apply(file: &mut Option<Vec<u8>>, entry: &Entry, mut arrives: impl FnMut() -> bool) {
    match entry {
        Entry::Delete { .. } => *file = None,
        Entry::Truncate { size, .. } => file.get_or_insert_default().resize(*size, 0),
        Entry::Write { at, bytes, .. } => {
            let file = file.get_or_insert_default();
            let mut from = 0;
            while from < bytes.len() {
                let in_sector = SECTOR - (at + from) % SECTOR;
                let to = bytes.len().min(from + in_sector);
                if arrives() {
                    let end = at + to;
                    if file.len() < end {
                        file.resize(end, 0);
                    }
                    file[at + from..end].copy_from_slice(&bytes[from..to]);
                }
                from = to;
            }
        }
        Entry::Sync { .. } | Entry::Note(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(at: usize, byte: u8, length: usize) -> Entry {
        Entry::Write { file: "f".into(), at, bytes: vec![byte; length] }
    }

    fn sync() -> Entry {
        Entry::Sync { file: "f".into() }
    }

    fn images(entries: &[Entry]) -> Vec<Option<Vec<u8>>> {
        let record = Record { before: BTreeMap::new(), entries: entries.to_vec() };
        let mut state = 1_u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        (0..200).map(|_| record.image(entries.len(), &mut chance).remove("f")).collect()
    }

    #[test]
    fn what_was_synced_is_always_there() {
        let images = images(&[write(0, 1, 600), sync(), write(600, 2, 10)]);
        assert!(images.iter().flatten().all(|bytes| bytes[..600] == [1; 600]));
        assert_eq!(images.iter().flatten().count(), 200);
        assert!(images.iter().flatten().any(|bytes| bytes.len() == 600), "the rest may be gone");
        assert!(images.iter().flatten().any(|bytes| bytes.len() == 610), "or be there");
    }

    #[test]
    fn what_was_not_synced_may_be_torn_between_sectors_only() {
        let images = images(&[write(0, 1, 1_024), sync(), write(0, 2, 1_024)]);
        let halves = |bytes: &Vec<u8>| (bytes[0], bytes[511], bytes[512], bytes[1_023]);
        let seen: std::collections::BTreeSet<_> = images.iter().flatten().map(halves).collect();
        let all = [(1, 1, 1, 1), (1, 1, 2, 2), (2, 2, 1, 1), (2, 2, 2, 2)];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn a_deleted_file_may_come_back_until_it_is_certain() {
        let gone = Entry::Delete { file: "f".into() };
        let images = images(&[write(0, 1, 4), sync(), gone]);
        assert!(images.iter().any(Option::is_none) && images.iter().any(Option::is_some));
    }

    #[test]
    fn the_first_sync_of_a_new_file_makes_every_name_certain() {
        let gone = Entry::Delete { file: "f".into() };
        let other = |entry: Entry| match entry {
            Entry::Write { at, bytes, .. } => Entry::Write { file: "g".into(), at, bytes },
            _ => Entry::Sync { file: "g".into() },
        };
        let entries = [write(0, 1, 4), sync(), gone, other(write(0, 2, 4)), other(sync())];
        assert!(images(&entries).iter().all(Option::is_none));
    }

    #[test]
    fn a_file_that_comes_back_holds_nothing_of_its_successor() {
        let gone = Entry::Delete { file: "f".into() };
        let images = images(&[write(0, 1, 600), sync(), gone, write(0, 2, 600)]);
        let is_one_file = |bytes: &Vec<u8>| !(bytes.contains(&1) && bytes.contains(&2));
        assert!(images.iter().flatten().all(is_one_file));
    }

    #[test]
    fn notes_are_those_before_the_cut() {
        let entries = vec![Entry::Note(1), sync(), Entry::Note(2)];
        let record = Record { before: BTreeMap::new(), entries };
        assert_eq!(record.notes(2).collect::<Vec<_>>(), [1]);
        assert_eq!(record.notes(3).collect::<Vec<_>>(), [1, 2]);
    }
}
