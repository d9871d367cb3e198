//! The writes and syncs of a folder, and its files after a power cut.
//!
//! An unsynced write survives wholly, in some sectors or not at all, in any order. A sync makes a whole file durable; the first sync of
//! a new file makes all names in the folder durable, because SQLite then syncs the folder.

use std::collections::BTreeMap;
use std::path::Path;

/// The unit of an atomic write, in bytes.
const SECTOR: usize = 512;

/// The effect of a call. Files are names in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names are clear")]
pub enum Entry {
    /// A write.
    Write { file: String, at: usize, bytes: Vec<u8> },
    /// A change of size.
    Truncate { file: String, size: usize },
    /// A sync.
    Sync { file: String },
    /// A deletion.
    Delete { file: String },
    /// An acknowledgement.
    Note(u64),
}

/// The calls for a folder, in order.
#[derive(Debug, Clone, Default)]
pub struct Record {
    before: BTreeMap<String, Vec<u8>>,
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
struct FileState {
    durable: Option<Vec<u8>>,
    unsynced: Vec<Entry>,
}

impl Record {
    pub(super) fn of_folder(folder: &Path) -> Self {
        let mut before = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && !name.ends_with("-shm") {
                before.insert(name, std::fs::read(&path).expect("the file exists"));
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

    /// The acknowledgements in the first `upto` entries.
    pub fn notes(&self, upto: usize) -> impl Iterator<Item = u64> {
        self.entries[..upto].iter().filter_map(|entry| match entry {
            Entry::Note(number) => Some(*number),
            _ => None,
        })
    }

    /// The files after a power cut behind the first `upto` entries. `chance` gives random numbers, which decide about unsynced
    /// entries.
    pub fn image(&self, upto: usize, mut chance: impl FnMut() -> u64) -> BTreeMap<String, Vec<u8>> {
        let files = self.file_states(upto);
        // In half of all images, none or all unsynced entries survive.
        let survival = match chance() % 8 {
            0 | 1 => Survival::None,
            2 | 3 => Survival::All,
            _ => Survival::Some,
        };
        let images = files.into_iter().filter_map(|(name, file)| {
            let bytes = file.survive(survival, &mut chance)?;
            Some((name, bytes))
        });
        images.collect()
    }

    fn file_states(&self, upto: usize) -> BTreeMap<String, FileState> {
        let initial = |(name, bytes): (&String, &Vec<u8>)| {
            (name.clone(), FileState { durable: Some(bytes.clone()), unsynced: Vec::new() })
        };
        let mut files: BTreeMap<String, FileState> = self.before.iter().map(initial).collect();
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
                on_disk.commit();
                if is_new {
                    files.values_mut().for_each(FileState::commit_names);
                }
            } else {
                on_disk.unsynced.push(entry.clone());
            }
        }
        files
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Survival {
    None,
    All,
    Some,
}

impl FileState {
    /// Whether its name is not durable yet.
    fn is_new(&self) -> bool {
        self.durable.is_none() || self.last_delete().is_some()
    }

    fn last_delete(&self) -> Option<usize> {
        self.unsynced.iter().rposition(|entry| matches!(entry, Entry::Delete { .. }))
    }

    /// Makes a deletion durable, after a sync of the folder.
    fn commit_names(&mut self) {
        if let Some(at) = self.last_delete() {
            self.unsynced.drain(..=at);
            self.durable = None;
        }
    }

    fn commit(&mut self) {
        for entry in std::mem::take(&mut self.unsynced) {
            apply(&mut self.durable, &entry, || true);
        }
        // A synced file exists.
        self.durable.get_or_insert_default();
    }

    fn survive(mut self, survival: Survival, chance: &mut impl FnMut() -> u64) -> Option<Vec<u8>> {
        for entry in std::mem::take(&mut self.unsynced) {
            let (is_applied, is_torn) = match survival {
                Survival::None => (false, false),
                Survival::All => (true, false),
                Survival::Some => (!chance().is_multiple_of(3), chance().is_multiple_of(3)),
            };
            if is_applied {
                apply(&mut self.durable, &entry, || !is_torn || chance().is_multiple_of(2));
            } else if matches!(entry, Entry::Delete { .. }) {
                // The name still refers to the old file; writes to a new file of that name are invisible.
                break;
            }
        }
        self.durable
    }
}

/// Applies an entry to a file. `is_written` decides about each sector.
fn apply(file: &mut Option<Vec<u8>>, entry: &Entry, mut is_written: impl FnMut() -> bool) {
    match entry {
        Entry::Delete { .. } => *file = None,
        Entry::Truncate { size, .. } => file.get_or_insert_default().resize(*size, 0),
        Entry::Write { at, bytes, .. } => {
            let file = file.get_or_insert_default();
            let mut from = 0;
            while from < bytes.len() {
                let in_sector = SECTOR - (at + from) % SECTOR;
                let to = bytes.len().min(from + in_sector);
                if is_written() {
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
    fn synced_write_is_in_every_image() {
        let images = images(&[write(0, 1, 600), sync(), write(600, 2, 10)]);
        assert!(images.iter().flatten().all(|bytes| bytes[..600] == [1; 600]));
        assert_eq!(images.iter().flatten().count(), 200);
        assert!(images.iter().flatten().any(|bytes| bytes.len() == 600), "the rest may be gone");
        assert!(images.iter().flatten().any(|bytes| bytes.len() == 610), "or be there");
    }

    #[test]
    fn unsynced_write_is_torn_at_sectors_only() {
        let images = images(&[write(0, 1, 1_024), sync(), write(0, 2, 1_024)]);
        let halves = |bytes: &Vec<u8>| (bytes[0], bytes[511], bytes[512], bytes[1_023]);
        let seen: std::collections::BTreeSet<_> = images.iter().flatten().map(halves).collect();
        let all = [(1, 1, 1, 1), (1, 1, 2, 2), (2, 2, 1, 1), (2, 2, 2, 2)];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn deleted_file_may_return_until_a_folder_sync() {
        let gone = Entry::Delete { file: "f".into() };
        let images = images(&[write(0, 1, 4), sync(), gone]);
        assert!(images.iter().any(Option::is_none) && images.iter().any(Option::is_some));
    }

    #[test]
    fn first_sync_of_a_new_file_makes_every_name_durable() {
        let gone = Entry::Delete { file: "f".into() };
        let other = |entry: Entry| match entry {
            Entry::Write { at, bytes, .. } => Entry::Write { file: "g".into(), at, bytes },
            _ => Entry::Sync { file: "g".into() },
        };
        let entries = [write(0, 1, 4), sync(), gone, other(write(0, 2, 4)), other(sync())];
        assert!(images(&entries).iter().all(Option::is_none));
    }

    #[test]
    fn restored_file_has_no_content_of_its_successor() {
        let gone = Entry::Delete { file: "f".into() };
        let images = images(&[write(0, 1, 600), sync(), gone, write(0, 2, 600)]);
        let is_one_file = |bytes: &Vec<u8>| !(bytes.contains(&1) && bytes.contains(&2));
        assert!(images.iter().flatten().all(is_one_file));
    }

    #[test]
    fn notes_stop_at_the_power_cut() {
        let entries = vec![Entry::Note(1), sync(), Entry::Note(2)];
        let record = Record { before: BTreeMap::new(), entries };
        assert_eq!(record.notes(2).collect::<Vec<_>>(), [1]);
        assert_eq!(record.notes(3).collect::<Vec<_>>(), [1, 2]);
    }
}
