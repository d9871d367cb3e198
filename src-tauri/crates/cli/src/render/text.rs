//! Text for a terminal: untrusted text, and counts.

use rouse_core::text::{escape_invisible, first_line};

/// Escapes characters that move the cursor, recolour, reverse or hide text: `⟨U+202E⟩`. Keeps escapes as they are.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            ' '..='~' | '\n' | '\t' | '⟨' => escaped.push(character),
            other => escaped.push_str(&escape_invisible(other.encode_utf8(&mut buffer))),
        }
    }
    escaped
}

/// The escaped first line, cut to `max` characters. `…` marks omitted text.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    first_line(text, max, escape)
}

/// A count with its noun: `1 job`, `2 jobs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_neutralizes_control_characters() {
        assert_eq!(escape("a\u{1b}[31mb\r\nc"), "a⟨U+001B⟩[31mb\nc");
        assert_eq!(escape("\u{202e}cod\u{200b}"), "⟨U+202E⟩cod⟨U+200B⟩");
        assert_eq!(escape(&escape("a\u{202e}")), "a⟨U+202E⟩");
    }

    #[test]
    fn one_has_the_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "tool")), ["0 tools", "1 tool", "2 tools"]);
    }

    #[test]
    fn shorten_marks_omitted_text() {
        assert_eq!(shorten("Grüße\u{2066}\tx", 40), "Grüße⟨U+2066⟩ x");
        assert_eq!(shorten("one\ntwo", 10), "one…");
        assert_eq!(shorten("one\ntwo", 3), "on…");
        assert_eq!(shorten("one\n", 3), "one");
        assert_eq!(shorten("abcdef", 4), "abc…");
    }
}
