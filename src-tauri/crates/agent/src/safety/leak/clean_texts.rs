//! Long texts without a stored secret, by their digests.
//!
//! Owns the results of the newest scans of one set of stored values. The content of a large `write_file` call passes the
//! scan for the transcript, the journal, the approval card and the write; the second scan of the same text has nothing to
//! find. Holds digests and no text. Pitfall: keeping a result beyond a change of the stored values; the results therefore
//! belong to the automaton (`Known`) that was used for the scan.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

/// The shortest text in bytes whose result is kept: a digest of a short one takes as long as its scan.
const SHORTEST_KEPT: usize = 16 << 10;
/// The results that are kept.
const MOST_KEPT: usize = 16;

type TextDigest = [u8; 32];

/// The newest long texts in which nothing was found.
#[derive(Default)]
pub(super) struct CleanTexts(Mutex<VecDeque<TextDigest>>);

impl CleanTexts {
    /// The digest of `text`, if its result is kept at all.
    pub(super) fn digest_of(text: &str) -> Option<TextDigest> {
        (text.len() >= SHORTEST_KEPT).then(|| Sha256::digest(text).into())
    }

    /// Whether a text of this digest was scanned and is clean.
    pub(super) fn contains(&self, digest: &TextDigest) -> bool {
        self.lock().contains(digest)
    }

    /// Keeps the result of a scan that found nothing.
    pub(super) fn add(&self, digest: TextDigest) {
        let mut newest = self.lock();
        newest.push_back(digest);
        if newest.len() > MOST_KEPT {
            newest.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<TextDigest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safety::leak::{Known, find_stored, find_whole};

    const SECRET: &str = "sunflower-42-Tango";

    fn long_text(number: usize) -> String {
        format!("Note {number}: the agent read the notes again. ").repeat(SHORTEST_KEPT / 32)
    }

    fn bytes_read(text: &str, known: &Known) -> usize {
        find_whole(text, known, &mut Vec::new())
    }

    #[test]
    fn long_clean_text_is_scanned_once() {
        let known = Known::new([("mail", SECRET)].into_iter());
        let text = long_text(1);
        assert!(bytes_read(&text, &known) >= text.len());
        assert_eq!(bytes_read(&text, &known), 0);
        for number in 2..=MOST_KEPT + 1 {
            assert!(bytes_read(&long_text(number), &known) > 0);
        }
        assert!(bytes_read(&text, &known) > 0, "the oldest result is kept no longer");
    }

    #[test]
    fn new_secret_is_found_in_a_text_scanned_before() {
        let text = format!("{} {SECRET}", long_text(1));
        let before = Known::new([("other", "another-value-99")].into_iter());
        assert!(find_stored(&text, &before).is_empty());
        let after = Known::new([("mail", SECRET)].into_iter());
        for _ in 0..2 {
            assert_eq!(find_stored(&text, &after).len(), 1);
        }
    }
}
