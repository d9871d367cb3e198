//! Words of a shell line.
//!
//! Owns the quoting: each word that is more than plain characters stands in single quotes. Never shortens. Invisible
//! characters stay; whoever prints the line escapes them.

/// The word as one word of a shell.
#[must_use]
pub fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+~".contains(c);
    // A shell replaces a leading `~`.
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_stand_without_quotes() {
        for (word, quoted) in [
            ("@scope/server@1.2.3", "@scope/server@1.2.3"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("~/x", "'~/x'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(quote_word(word), quoted);
        }
    }
}
