//! Text that is safe to show, to store and to add to a context.
//!
//! Removes characters that a terminal, a notification or a log would interpret. Keeps every visible character. Never judges words:
//! prompt injection is the gate's matter.

/// Removes control characters (C0, DEL, C1) except tabs; normalises line ends to `\n`.
#[must_use]
pub fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => plain.push('\n'),
            '\n' | '\t' => plain.push(character),
            _ if character.is_control() => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// Turns `text` into a single line: white space collapses, control characters and bidirectional marks go. For titles
/// and names.
#[must_use]
pub fn plain_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .filter(|character| !is_bidi_control(*character))
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts `text` to `max_chars`, with an ellipsis as the last character if anything is missing.
pub(crate) fn truncate(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

const fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_drops_control_characters_and_keeps_layout() {
        let cases = [
            ("plain", "plain"),
            ("a\tb\nc", "a\tb\nc"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("bell\u{7} null\0 del\u{7f}", "bell null del"),
            ("c1\u{9b}31m\u{85}", "c131m"),
            ("Grüße 日本 👋\u{200d}", "Grüße 日本 👋\u{200d}"),
        ];
        for (given, expected) in cases {
            assert_eq!(plain_text(given), expected, "{given:?}");
        }
        for code in (0..0x20).chain(0x7f..0xa0).filter(|code| ![9, 10, 13].contains(code)) {
            let control = char::from_u32(code).expect("a scalar value");
            assert_eq!(plain_text(&control.to_string()), "", "U+{code:04X}");
        }
    }

    #[test]
    fn plain_line_is_one_line() {
        assert_eq!(plain_line("  two\nlines\r\n and\ttabs "), "two lines and tabs");
        assert_eq!(plain_line("\u{202e}evil\u{202c} \u{2066}x\u{2069}"), "evil x");
        assert_eq!(plain_line("\u{1b}\n"), "");
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate("äöü", 3), "äöü");
        assert_eq!(truncate("äöüß", 3), "äö…");
        assert_eq!(truncate("ab cd", 4), "ab…");
    }
}
