//! Text that a person decides on, with everything in it to be seen.
//!
//! What a terminal would obey, what turns the reading direction around and what takes no room is shown by its number:
//! `⟨U+001B⟩`. There nothing is taken out and nothing is cut off, and no text looks like another, because the mark `⟨`
//! itself is shown by its number too. Where nothing is decided, as in a notification, it goes instead. It refuses to
//! judge: what a text does is for whoever reads it. One could get it wrong by a list of the characters that come to mind;
//! here it is the other way round, what is not known to be visible is shown by its number.

use std::fmt::Write as _;
use std::path::Path;

/// Letters, marks and symbols by their tables, and yet empty on the screen.
const EMPTY: &[(u32, u32)] = &[
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
];

/// `text` with all that cannot be seen shown by its number. Line feeds and tabs stay; a line that ends in a carriage
/// return shows it.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_seen(character) {
            shown.push(character);
        } else {
            write!(shown, "⟨U+{:04X}⟩", u32::from(character))
                .expect("BUG: writing into a string does not fail");
        }
    }
    shown
}

/// The same on one line: line feeds and tabs are shown by their numbers, too, so that no text adds a line to a list.
#[must_use]
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "⟨U+000A⟩").replace('\t', "⟨U+0009⟩")
}

/// The same for a path: a space at an edge of one of its names, or behind another one, is shown by its number, too, so
/// that no two paths look the same.
#[must_use]
pub fn visible_path(path: &str) -> String {
    let names: Vec<String> =
        path.split('/').map(|name| visible_spaces(&visible_line(name))).collect();
    names.join("/")
}

/// The same for a path as the system has it: a byte that makes no text is shown by its number (`⟨FC⟩`), so that no two
/// of them look the same either.
#[must_use]
pub fn visible_os_path(path: &Path) -> String {
    let chunks = path.as_os_str().as_encoded_bytes().utf8_chunks();
    let shown = chunks.map(|chunk| {
        let bytes = chunk.invalid().iter().map(|byte| format!("⟨{byte:02X}⟩"));
        visible_path(chunk.valid()) + &bytes.collect::<String>()
    });
    shown.collect()
}

fn visible_spaces(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut is_after_space = true;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let is_space = character == ' ';
        match is_space && (is_after_space || characters.peek().is_none()) {
            true => shown.push_str("⟨U+0020⟩"),
            false => shown.push(character),
        }
        is_after_space = is_space;
    }
    shown
}

/// `text` without what cannot be seen, for where there is no room for numbers. What ends a line or is a space of another
/// kind becomes an ordinary one; what binds the letters of a script or the parts of a picture stays between them.
#[must_use]
pub fn only_visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let (before, after) = (shown.chars().next_back(), characters.peek().copied());
        match character {
            '\r' if after == Some('\n') => {}
            '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push('\n'),
            '⟨' => shown.push(character),
            _ if is_seen(character) => shown.push(character),
            _ if character.is_whitespace() => shown.push(' '),
            _ if is_bond(character, before, after) => shown.push(character),
            _ => {}
        }
    }
    shown
}

/// Scripts that are written with joiners, and pictures, all come after this.
const FIRST_BOUND: char = '\u{590}';

fn is_bond(character: char, before: Option<char>, after: Option<char>) -> bool {
    let is_bound = |part: Option<char>| {
        part.is_some_and(|part| part > FIRST_BOUND && (part == '\u{fe0f}' || is_seen(part)))
    };
    match character {
        '\u{200c}' | '\u{200d}' => is_bound(before) && is_bound(after),
        // A picture, or a digit on a key.
        '\u{fe0f}' => before.is_some_and(|before| {
            before != '\u{fe0f}'
                && is_seen(before)
                && !before.is_alphabetic()
                && !before.is_whitespace()
        }),
        _ => false,
    }
}

/// Whether there is anything in `text` to be seen.
#[must_use]
pub fn shows_something(text: &str) -> bool {
    text.chars()
        .any(|character| character == '⟨' || (is_seen(character) && !character.is_whitespace()))
}

/// Whether `text` has what `only_visible` would leave out, but for spaces of other kinds.
#[must_use]
pub fn hides_something(text: &str) -> bool {
    let marks = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    marks(text) != marks(&only_visible(text))
}

fn is_seen(character: char) -> bool {
    match character {
        '\n' | '\t' | '\'' | '"' | '\\' => true,
        ' '..='~' => true,
        '⟨' => false,
        _ if is_empty(character) => false,
        // After a letter, so that a mark which belongs onto one counts as what it is there.
        _ => !['a', character].iter().collect::<String>().escape_debug().any(|c| c == '\\'),
    }
}

fn is_empty(character: char) -> bool {
    let number = u32::from(character);
    EMPTY.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown_by_its_number() {
        let cases = [
            ("ls -l 'a' \"b\" \\\n\tc", "ls -l 'a' \"b\" \\\n\tc"),
            (
                "Grüße, 日本, Ü\u{308}, ไทย, हिन्दी, 👋, €",
                "Grüße, 日本, Ü\u{308}, ไทย, हिन्दी, 👋, €",
            ),
            ("\u{1b}[2K\rls", "⟨U+001B⟩[2K⟨U+000D⟩ls"),
            ("a\u{9b}31m\0\u{7f}\u{8}", "a⟨U+009B⟩31m⟨U+0000⟩⟨U+007F⟩⟨U+0008⟩"),
            ("\u{202e}cod\u{2066}x\u{2069}", "⟨U+202E⟩cod⟨U+2066⟩x⟨U+2069⟩"),
            ("a\u{200b}b\u{200d}c\u{feff}d\u{ad}", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩d⟨U+00AD⟩"),
            ("rm\u{a0}x\u{2003}y\u{3000}z\u{2028}", "rm⟨U+00A0⟩x⟨U+2003⟩y⟨U+3000⟩z⟨U+2028⟩"),
            ("\u{e0041}\u{fe0f}\u{e0100}", "⟨U+E0041⟩⟨U+FE0F⟩⟨U+E0100⟩"),
            ("\u{3164}\u{2800}\u{115f}", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩"),
            ("\u{e000}\u{10ffff}", "⟨U+E000⟩⟨U+10FFFF⟩"),
            ("⟨U+001B⟩", "⟨U+27E8⟩U+001B⟩"),
        ];
        for (given, expected) in cases {
            assert_eq!(visible(given), expected, "{given:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_goes_where_there_is_no_room_for_it() {
        let cases = [
            ("a\tb\nc ⟨x⟩ Grüße, 日本, Ü\u{308}", "a\tb\nc ⟨x⟩ Grüße, 日本, Ü\u{308}"),
            ("\u{1b}[2Kls\u{9b}\0\u{7f}\u{8}", "[2Kls"),
            ("\u{202e}cod\u{2066}x\u{2069}\u{feff}\u{ad}", "codx"),
            ("a\u{200b}b\u{200d}c\u{200c}\u{200f}d", "abcd"),
            ("a\u{2028}b\u{2029}c\r\nd\re\u{85}f", "a\nb\nc\nd\ne\nf"),
            ("rm\u{a0}x\u{2003}y\u{3000}z", "rm x y z"),
            ("\u{3164}\u{2800}\u{e0041}\u{e0100}\u{fe0f}\u{e000}", ""),
            (
                "👩\u{200d}🚀 ⚠\u{fe0f} 1\u{fe0f}\u{20e3}",
                "👩\u{200d}🚀 ⚠\u{fe0f} 1\u{fe0f}\u{20e3}",
            ),
            ("❤\u{fe0f}\u{200d}🔥 می\u{200c}خواهم", "❤\u{fe0f}\u{200d}🔥 می\u{200c}خواهم"),
        ];
        for (given, expected) in cases {
            assert_eq!(only_visible(given), expected, "{given:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_two_paths_of_other_bytes_look_the_same() {
        use std::os::unix::ffi::OsStrExt as _;
        let shown = |bytes| visible_os_path(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(shown("/größe/a b".as_bytes()), "/größe/a b");
        assert_eq!(shown(b"/s\xfcb"), "/s⟨FC⟩b");
        assert_eq!(shown("/s⟨FC⟩b".as_bytes()), "/s⟨U+27E8⟩FC⟩b");
    }

    #[test]
    fn the_spaces_of_a_path_that_nobody_would_see_are_shown_by_their_number() {
        let cases = [
            ("two words/a b.txt", "two words/a b.txt"),
            (" a", "⟨U+0020⟩a"),
            ("a ", "a⟨U+0020⟩"),
            ("a /b", "a⟨U+0020⟩/b"),
            ("a   b", "a ⟨U+0020⟩⟨U+0020⟩b"),
            (" ", "⟨U+0020⟩"),
            ("a\n\t\u{202e}⟨", "a⟨U+000A⟩⟨U+0009⟩⟨U+202E⟩⟨U+27E8⟩"),
            ("", ""),
        ];
        for (given, expected) in cases {
            assert_eq!(visible_path(given), expected, "{given:?}");
        }
    }

    #[test]
    fn no_two_texts_look_the_same_and_no_character_is_obeyed() {
        let mut seen = std::collections::HashSet::new();
        for character in ('\0'..=char::MAX).filter(|c| !c.is_alphanumeric()) {
            let shown = visible(&character.to_string());
            let is_layout = matches!(character, '\n' | '\t');
            assert!(is_layout || !shown.contains(char::is_control), "{character:?}");
            assert!(seen.insert(shown), "{character:?}");
        }
    }
}
