//! A digest of a proof's run: equal digests mean equal runs of a seed.
//!
//! Owns the disk calls in order, with file, offset and length. Never the bytes, because SQLite salts the log at random.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use rouse_testkit::faulty_disk::Entry;

/// A digest that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct Digest(DefaultHasher);

impl Digest {
    pub(super) fn add(&mut self, part: &impl Hash) {
        part.hash(&mut self.0);
    }

    pub(super) fn add_record(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry {
                Entry::Write { file, at, bytes } => self.add(&(0, file, *at, bytes.len())),
                Entry::Truncate { file, size } => self.add(&(1, file, *size)),
                Entry::Sync { file } => self.add(&(2, file)),
                Entry::Delete { file } => self.add(&(3, file)),
                Entry::Note(number) => self.add(&(4, *number)),
            }
        }
    }

    pub(super) fn value(&self) -> u64 {
        self.0.finish()
    }
}
