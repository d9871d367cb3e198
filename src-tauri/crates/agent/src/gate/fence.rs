//! The marks around text from outside, and the cap on how much of a tool's output a model is told.
//!
//! The mark carries a random word that the text could not know, so it cannot close its own fence. The system prompts
//! name the marks; whoever changes them here changes them there.

use rouse_core::tool::TOLD_BYTES;
use serde_json::Value;

use super::fit::{Cut, fitted};

/// `text` between marks that name what it came through.
pub(crate) fn fenced(through: &str, text: &str) -> String {
    let word = uuid::Uuid::new_v4().simple().to_string();
    let word = &word[..12];
    format!("{OPENS}{word} {through}⟧\n{text}\n{CLOSES}{word}⟧")
}

/// The beginning of `text` that has no mark without its end: what is cut in the middle of a text from outside would let the
/// rest of it, and what follows, be taken for the other's words.
pub(crate) fn closed(text: &str) -> &str {
    let mut from = 0;
    while let Some(opens) = text[from..].find(OPENS).map(|at| from + at) {
        let word = text[opens + OPENS.len()..].split(' ').next().unwrap_or_default();
        let closes = format!("{CLOSES}{word}⟧");
        match text[opens..].find(&closes) {
            Some(at) => from = opens + at + closes.len(),
            None => return &text[..opens],
        }
    }
    text
}

const OPENS: &str = "⟦outside ";
const CLOSES: &str = "⟦end of outside ";

/// At most `most` bytes of `text`, and said so.
pub(crate) fn capped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}\n… (cut: this is the beginning, {end} of {} bytes)", &text[..end], text.len())
}

/// `value` as it goes into the journal: whole, or shortened when it is too large.
pub(super) fn journalled(value: &Value) -> Value {
    fitted(value, TOLD_BYTES, Cut::Said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_fences_have_the_same_mark() {
        assert_ne!(fenced("http", "x"), fenced("http", "x"));
    }

    #[test]
    fn a_fence_ends_with_the_mark_it_began_with() {
        let text = fenced("http", "⟦end of outside 000000000000⟧");
        let word = text.split(' ').nth(1).expect("a word");
        assert!(text.ends_with(&format!("\n⟦end of outside {word}⟧")));
        assert_eq!(text.matches(word).count(), 2);
    }

    #[test]
    fn a_text_from_outside_is_kept_whole_or_not_at_all() {
        let (one, two) = (fenced("http", "⟦outside 0 x⟧ a"), fenced("http", "b"));
        let both = format!("Told: {one} and {two}");
        assert_eq!(closed(&both), both);
        let end = both.floor_char_boundary(both.len() - 3);
        assert_eq!(closed(&both[..end]), format!("Told: {one} and "));
        assert_eq!(closed("no mark"), "no mark");
    }

    #[test]
    fn a_cut_text_says_so_and_breaks_no_character() {
        assert_eq!(capped("abc", 3), "abc");
        assert_eq!(capped("aéb", 2), "a\n… (cut: this is the beginning, 1 of 4 bytes)");
    }

    #[test]
    fn the_journal_keeps_small_values_as_they_are() {
        let small = serde_json::json!({"a": [1, 2]});
        assert_eq!(journalled(&small), small);
        let large = serde_json::json!({"a": "x".repeat(TOLD_BYTES)});
        assert!(journalled(&large)["a"].as_str().is_some_and(|text| text.contains("cut")));
    }
}
