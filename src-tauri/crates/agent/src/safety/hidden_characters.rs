//! Characters that a model reads and a person does not see.
//!
//! Terminal controls, changes of the reading direction and zero-width letters that spell a second text are shown by code
//! point (`core::text::escape_invisible`). Joiners after a letter, variation selectors and wide spaces stay, because
//! languages and emoji need them. Pitfall: escaping every unusual space; ordinary web pages would be unreadable.

use std::borrow::Cow;

use rouse_core::text::escape_invisible;

/// Hidden characters that a text may have by accident.
const MAX_ACCIDENTAL: usize = 3;

/// A text with visible hidden characters.
pub(super) struct VisibleText<'t> {
    pub(super) text: Cow<'t, str>,
    /// Whether there are too many hidden characters for an accident.
    pub(super) has_hidden_text: bool,
}

/// Shows hidden characters by code point. CR LF becomes LF, and a byte order mark at the start is removed.
pub(super) fn make_visible(text: &str) -> VisibleText<'_> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return VisibleText { text: Cow::Borrowed(text), has_hidden_text: false };
    }
    let mut visible_text = String::with_capacity(text.len());
    let mut hidden = 0;
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    let mut at_start = true;
    while let Some(letter) = letters.next() {
        let is_line_end = letter == '\r' && letters.peek() == Some(&'\n');
        let is_byte_order_mark = at_start && letter == '\u{feff}';
        if !is_line_end && !is_byte_order_mark {
            if is_plain(letter, before) {
                visible_text.push(letter);
            } else {
                hidden += usize::from(is_hidden(letter));
                visible_text.push_str(&escape_invisible(letter.encode_utf8(&mut [0; 4])));
            }
        }
        before = letter;
        at_start = false;
    }
    VisibleText { text: Cow::Owned(visible_text), has_hidden_text: hidden > MAX_ACCIDENTAL }
}

fn is_plain(letter: char, before: char) -> bool {
    match letter {
        '\n' | '\t' | ' '..='~' | '⟨' => true,
        // Plain after a letter. A sequence of them can encode text.
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}' => {
            !is_joiner(before) && !before.is_whitespace()
        }
        other if other.is_whitespace() => {
            !matches!(other, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        }
        other => escape_invisible(other.encode_utf8(&mut [0; 4])).starts_with(other),
    }
}

fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}')
}

/// Whether the character serves to hide text, unlike a stray control character.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_language_is_unchanged() {
        for text in [
            "a\tb\nc ⟨x⟩",
            "Grüße\u{a0}aus\u{202f}Köln",
            "می\u{200c}خواهم",
            "👩\u{200d}🚀 ⚠\u{fe0f}",
            "日本\u{3000}語",
        ] {
            let visible = make_visible(text);
            assert_eq!((visible.text.as_ref(), visible.has_hidden_text), (text, false));
        }
        assert_eq!(make_visible("\u{feff}a\r\nb").text, "a\nb");
    }

    #[test]
    fn hidden_character_is_shown_by_its_number() {
        assert_eq!(make_visible("a\u{1b}[2Kb\rc\0").text, "a⟨U+001B⟩[2Kb⟨U+000D⟩c⟨U+0000⟩");
        assert_eq!(make_visible("x\u{202e}y").text, "x⟨U+202E⟩y");
        assert!(!make_visible("x\u{202e}y").has_hidden_text);
    }

    #[test]
    fn text_in_zero_width_letters_is_detected() {
        let tags: String = "go"
            .chars()
            .cycle()
            .take(6)
            .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
            .collect();
        let smuggled = format!("hello{tags}");
        let visible_tags = make_visible(&smuggled);
        assert!(visible_tags.has_hidden_text);
        assert!(visible_tags.text.starts_with("hello⟨U+E0067⟩"));
        let bits = "a\u{200b}\u{200c}\u{200d}\u{200b}\u{200b}\u{200d}b";
        assert!(make_visible(bits).has_hidden_text);
    }
}
