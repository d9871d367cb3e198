//! Invisible and deceptive characters, escaped or stripped.
//!
//! Owns the test for visibility. Text that a person decides on is escaped: control characters, direction overrides and
//! zero-width characters become `⟨U+001B⟩`. Nothing is removed, and no two texts look the same, because `⟨` itself is
//! escaped. Where nothing is decided, as in a notification, such characters are stripped.
//! Pitfall: a list of known bad characters; everything not known to be visible is escaped.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex_automata::meta::Regex;

/// Letters, marks and symbols by their category that render empty.
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

/// Escapes invisible characters. Line feeds and tabs stay; a carriage return is escaped.
#[must_use]
pub fn escape_invisible(text: &str) -> String {
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

/// Escapes to a single line: line feeds and tabs as well, so that no text adds a line to a list.
#[must_use]
pub fn escape_line(text: &str) -> String {
    escape_invisible(text).replace('\n', "⟨U+000A⟩").replace('\t', "⟨U+0009⟩")
}

/// Escapes a path: also spaces at the edges of a name or in a row, so that no two paths look the same.
#[must_use]
pub fn escape_path(path: &str) -> String {
    let names: Vec<String> =
        path.split('/').map(|name| escape_spaces(&escape_line(name))).collect();
    names.join("/")
}

/// Escapes a path of the system: also bytes that are not UTF-8 (`⟨FC⟩`).
#[must_use]
pub fn escape_os_path(path: &Path) -> String {
    let chunks = path.as_os_str().as_encoded_bytes().utf8_chunks();
    let shown = chunks.map(|chunk| {
        let bytes = chunk.invalid().iter().map(|byte| format!("⟨{byte:02X}⟩"));
        escape_path(chunk.valid()) + &bytes.collect::<String>()
    });
    shown.collect()
}

fn escape_spaces(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut is_after_space = true;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let is_space = character == ' ';
        if is_space && (is_after_space || characters.peek().is_none()) {
            shown.push_str("⟨U+0020⟩")
        } else {
            shown.push(character)
        }
        is_after_space = is_space;
    }
    shown
}

/// Strips invisible characters. Line and space separators become ordinary characters; joiners needed by scripts and
/// emoji stay.
#[must_use]
pub fn strip_invisible(text: &str) -> String {
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

/// Viramas: signs that remove a letter's vowel and join the letter with the next (combining class 9).
const VIRAMAS: &str = "\u{94d}\u{9cd}\u{a4d}\u{acd}\u{b4d}\u{bcd}\u{c4d}\u{ccd}\u{d3b}\u{d3c}\u{d4d}\u{dca}\
    \u{e3a}\u{eba}\u{f84}\u{1039}\u{103a}\u{1714}\u{1715}\u{1734}\u{17d2}\u{1a60}\u{1b44}\
    \u{1baa}\u{1bab}\u{1bf2}\u{1bf3}\u{2d7f}\u{a806}\u{a82c}\u{a8c4}\u{a953}\u{a9c0}\u{aaf6}\
    \u{abed}\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\
    \u{11235}\u{112ea}\u{1134d}\u{113ce}\u{113cf}\u{113d0}\u{11442}\u{114c2}\u{115bf}\
    \u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\
    \u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}\u{11f41}\u{11f42}\u{1612f}";

/// Pictographs, which joiners combine and U+FE0F marks as emoji.
static PICTURE: LazyLock<Regex> = LazyLock::new(|| class(r"\p{Extended_Pictographic}"));

/// Skin tones, behind a pictograph.
static MODIFIER: LazyLock<Regex> = LazyLock::new(|| class(r"\p{Emoji_Modifier}"));

/// Letters of cursive scripts with marks, also letters that join on a single side: Persian separates after these, too.
static JOINING: LazyLock<Regex> = LazyLock::new(|| {
    class(concat!(
        r"[[\p{L}\p{M}]&&[\p{scx=Arabic}\p{scx=Syriac}\p{scx=Nko}\p{scx=Mandaic}\p{scx=Mongolian}",
        r"\p{scx=Phags_Pa}\p{scx=Manichaean}\p{scx=Psalter_Pahlavi}\p{scx=Hanifi_Rohingya}",
        r"\p{scx=Sogdian}\p{scx=Old_Uyghur}\p{scx=Chorasmian}\p{scx=Adlam}]]",
    ))
});

fn class(of: &str) -> Regex {
    Regex::new(of).expect("BUG: the expression is a constant")
}

fn is_of(class: &Regex, part: Option<char>) -> bool {
    part.is_some_and(|part| is_seen(part) && class.is_match(part.encode_utf8(&mut [0; 4]) as &str))
}

/// Whether Unicode requires `character` at this position: a joiner between pictographs or beside a virama, a non-joiner
/// between joining letters, an emoji selector. Elsewhere the character is invisible.
fn is_bond(character: char, before: Option<char>, after: Option<char>) -> bool {
    let is_virama = |part: Option<char>| part.is_some_and(|part| VIRAMAS.contains(part));
    let ends_picture =
        || before == Some('\u{fe0f}') || is_of(&PICTURE, before) || is_of(&MODIFIER, before);
    match character {
        '\u{200c}' => is_virama(before) || is_of(&JOINING, before) && is_of(&JOINING, after),
        // Bengali puts the joiner before a virama.
        '\u{200d}' => {
            is_virama(before) || is_virama(after) || ends_picture() && is_of(&PICTURE, after)
        }
        '\u{fe0f}' => {
            let is_key = |key: char| key.is_ascii_digit() || matches!(key, '#' | '*');
            is_of(&PICTURE, before) || after == Some('\u{20e3}') && before.is_some_and(is_key)
        }
        _ => false,
    }
}

/// Whether `text` has any visible character.
#[must_use]
pub fn has_visible_text(text: &str) -> bool {
    text.chars()
        .any(|character| character == '⟨' || (is_seen(character) && !character.is_whitespace()))
}

/// Whether `strip_invisible` would remove characters other than spaces.
#[must_use]
pub fn has_hidden_text(text: &str) -> bool {
    let marks = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    marks(text) != marks(&strip_invisible(text))
}

fn is_seen(character: char) -> bool {
    match character {
        '\n' | '\t' | '\'' | '"' | '\\' => true,
        ' '..='~' => true,
        '⟨' => false,
        _ if is_empty(character) => false,
        // Behind a letter, so that combining marks count as such.
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
    fn invisible_characters_are_escaped() {
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
            assert_eq!(escape_invisible(given), expected, "{given:?}");
        }
    }

    #[test]
    fn invisible_characters_are_stripped() {
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
            (
                "👩🏽\u{200d}🚀 #\u{fe0f}\u{20e3} ©\u{fe0f}",
                "👩🏽\u{200d}🚀 #\u{fe0f}\u{20e3} ©\u{fe0f}",
            ),
            ("क्\u{200d}ष ක්\u{200d}ර র\u{200d}্য", "क्\u{200d}ष ක්\u{200d}ර র\u{200d}্য"),
            ("क्\u{200c}ष मँ", "क्\u{200c}ष मँ"),
            ("日\u{200d}本 ب\u{200d}ت क\u{200d}ष", "日本 بت कष"),
            ("日\u{200c}本 א\u{200c}ב क\u{200c}ष", "日本 אב कष"),
            ("1\u{fe0f}2 日\u{fe0f} €\u{fe0f} a\u{fe0f}\u{20e3}", "12 日 € a\u{20e3}"),
            ("👩\u{200d}a 1\u{200d}👩 ⚠\u{fe0f}\u{fe0f}", "👩a 1👩 ⚠\u{fe0f}"),
        ];
        for (given, expected) in cases {
            assert_eq!(strip_invisible(given), expected, "{given:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn different_path_bytes_look_different() {
        use std::os::unix::ffi::OsStrExt as _;
        let shown = |bytes| escape_os_path(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(shown("/größe/a b".as_bytes()), "/größe/a b");
        assert_eq!(shown(b"/s\xfcb"), "/s⟨FC⟩b");
        assert_eq!(shown("/s⟨FC⟩b".as_bytes()), "/s⟨U+27E8⟩FC⟩b");
    }

    #[test]
    fn hidden_spaces_of_a_path_are_escaped() {
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
            assert_eq!(escape_path(given), expected, "{given:?}");
        }
    }

    #[test]
    fn escaped_texts_are_unique_and_harmless() {
        let mut seen = std::collections::HashSet::new();
        for character in ('\0'..=char::MAX).filter(|c| !c.is_alphanumeric()) {
            let shown = escape_invisible(&character.to_string());
            let is_layout = matches!(character, '\n' | '\t');
            assert!(is_layout || !shown.contains(char::is_control), "{character:?}");
            assert!(seen.insert(shown), "{character:?}");
        }
    }
}
