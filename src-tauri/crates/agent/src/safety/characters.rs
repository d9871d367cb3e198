//! Characters that a person does not see and a model reads all the same.
//!
//! What a terminal obeys, what turns the reading direction around and what spells a second text in letters of no width is
//! shown by its number (`core::visible`). What languages and pictures need stays: a joiner after a letter, the variant of
//! a sign, a space of another width. One could get it wrong by showing everything by its number: every page with a
//! no-break space would reach the model as a riddle.

use std::borrow::Cow;

use rouse_core::visible::visible;

/// More hidden characters than this in a text are no accident.
const ACCIDENT: usize = 3;

/// A text whose hidden characters are shown.
pub(super) struct Shown<'t> {
    pub(super) text: Cow<'t, str>,
    /// Whether somebody has hidden something.
    pub(super) hides: bool,
}

/// `text` with what hides something shown by its number. A line that ends in CR and LF ends in LF.
pub(super) fn shown(text: &str) -> Shown<'_> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return Shown { text: Cow::Borrowed(text), hides: false };
    }
    let mut kept = String::with_capacity(text.len());
    let mut hidden = 0;
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    let mut at_start = true;
    while let Some(letter) = letters.next() {
        let is_line_end = letter == '\r' && letters.peek() == Some(&'\n');
        // The mark of byte order at the beginning of a file is no part of its text.
        let is_mark = at_start && letter == '\u{feff}';
        if !is_line_end && !is_mark {
            if is_plain(letter, before) {
                kept.push(letter);
            } else {
                hidden += usize::from(is_secretive(letter));
                kept.push_str(&visible(letter.encode_utf8(&mut [0; 4])));
            }
        }
        before = letter;
        at_start = false;
    }
    Shown { text: Cow::Owned(kept), hides: hidden > ACCIDENT }
}

fn is_plain(letter: char, before: char) -> bool {
    match letter {
        '\n' | '\t' | ' '..='~' | '⟨' => true,
        // They belong onto a letter; two in a row spell something.
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}' => {
            !is_bond(before) && !before.is_whitespace()
        }
        other if other.is_whitespace() => {
            !matches!(other, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        }
        other => visible(other.encode_utf8(&mut [0; 4])).starts_with(other),
    }
}

fn is_bond(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}')
}

/// What is there to be hidden, and not by an accident of some program.
fn is_secretive(letter: char) -> bool {
    matches!(letter,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_of_any_language_stays() {
        for text in [
            "a\tb\nc ⟨x⟩",
            "Grüße\u{a0}aus\u{202f}Köln",
            "می\u{200c}خواهم",
            "👩\u{200d}🚀 ⚠\u{fe0f}",
            "日本\u{3000}語",
        ] {
            let shown = shown(text);
            assert_eq!((shown.text.as_ref(), shown.hides), (text, false));
        }
        assert_eq!(shown("\u{feff}a\r\nb").text, "a\nb");
    }

    #[test]
    fn what_hides_something_is_shown() {
        assert_eq!(shown("a\u{1b}[2Kb\rc\0").text, "a⟨U+001B⟩[2Kb⟨U+000D⟩c⟨U+0000⟩");
        assert_eq!(shown("x\u{202e}y").text, "x⟨U+202E⟩y");
        assert!(!shown("x\u{202e}y").hides);
    }

    #[test]
    fn a_second_text_in_letters_of_no_width_is_noticed() {
        let tags: String = "go"
            .chars()
            .cycle()
            .take(6)
            .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
            .collect();
        let smuggled = format!("hello{tags}");
        let shown_tags = shown(&smuggled);
        assert!(shown_tags.hides);
        assert!(shown_tags.text.starts_with("hello⟨U+E0067⟩"));
        let bits = "a\u{200b}\u{200c}\u{200d}\u{200b}\u{200b}\u{200d}b";
        assert!(shown(bits).hides);
    }
}
