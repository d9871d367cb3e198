//! How much of a tool's output a model is told, and how much of it the journal keeps.
//!
//! The marks around what is from outside are `rouse_core::marks`'; what is bounded here stands between them afterwards.

use rouse_core::tool::TOLD_BYTES;
use serde_json::Value;

use super::fit::{Cut, fitted};

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
