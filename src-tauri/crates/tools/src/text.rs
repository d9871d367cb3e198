//! Text that is safe to show, to store and to put into a context.
//!
//! Removes what a terminal, a notification or a log would obey instead of showing. It keeps every visible character and
//! does not try to recognise malicious *words*: that is the gate's matter, and no filter of words holds.

/// `text` without control characters: C0, DEL and C1 go, tabs and line feeds stay, every other line end becomes one.
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

/// `text` as one line: control characters and line ends become spaces, runs of white space one, and the marks that
/// turn the reading direction around are gone. For titles and names, which stand next to words that are Rouse's own.
#[must_use]
pub fn plain_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .filter(|character| !turns_direction(*character))
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `text` cut to `most` characters, the last of them an ellipsis when something is missing.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

const fn turns_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_go_and_layout_stays() {
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
    fn a_line_is_one_line() {
        assert_eq!(plain_line("  two\nlines\r\n and\ttabs "), "two lines and tabs");
        assert_eq!(plain_line("\u{202e}evil\u{202c} \u{2066}x\u{2069}"), "evil x");
        assert_eq!(plain_line("\u{1b}\n"), "");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äö…");
        assert_eq!(shortened("ab cd", 4), "ab…");
    }
}
