//! A text as somebody else would read it: with its escapes resolved, or without its white space.
//!
//! Owns the way back: every byte of a view knows the bytes of the text that it came from, so that what is found in a view
//! can be taken out of the text. A view is bytes and not characters, because an escape may name half of one. What
//! `stretches` have been decoded to is a view as well: it knows each byte's place only to within one, so what is found in
//! it is taken out with the byte after it.

use std::borrow::Cow;
use std::ops::Range;

/// Escapes within escapes are followed so deep.
const DEEPEST: u8 = 3;

/// Which escapes are resolved.
///
/// A secret may hold what looks like an escape of another kind, so each kind is undone by itself too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    All,
    /// `\n`, `\x41`, `\u0041`.
    Backslash,
    /// `%41`.
    Percent,
    /// `&#65;`.
    Entities,
    /// `=41`, and `=` at the end of a line that goes on. Never among all, because `=` stands in every other line of code.
    Quoted,
}

impl Escapes {
    const fn begin_with(self, byte: u8) -> bool {
        match self {
            Self::All => matches!(byte, b'\\' | b'%' | b'&' | 0xef),
            Self::Backslash => byte == b'\\',
            Self::Percent => byte == b'%',
            Self::Entities => byte == b'&',
            Self::Quoted => byte == b'=',
        }
    }
}

/// One reading of a text.
pub(super) struct View<'t> {
    text: &'t str,
    bytes: Cow<'t, [u8]>,
    /// Where in the text each byte begins; none when the view is the text.
    from: Option<Vec<u32>>,
    depth: u8,
    /// How many bytes further the place of an end is to be looked up.
    slack: usize,
}

impl<'t> View<'t> {
    /// The text as it stands.
    pub(super) const fn of(text: &'t str) -> Self {
        Self { text, bytes: Cow::Borrowed(text.as_bytes()), from: None, depth: 0, slack: 0 }
    }

    /// What there is to read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The characters of the text behind these bytes of the view, without white space at their end.
    pub(super) fn in_text(&self, at: Range<usize>) -> Range<usize> {
        if at.is_empty() {
            return 0..0;
        }
        let start = self.text.floor_char_boundary(self.place(at.start));
        let end = self.text.ceil_char_boundary(self.place(at.end + self.slack));
        start..start + self.text[start..end].trim_end_matches(takes_no_place).len()
    }

    /// Where in the text the byte `at` begins.
    pub(super) fn place(&self, at: usize) -> usize {
        match &self.from {
            None => at,
            Some(from) => from.get(at).map_or(self.text.len(), |place| *place as usize),
        }
    }

    /// Whether white space stood in the text before the byte `at`.
    pub(super) fn is_apart(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or(0, |before| self.place(before));
        let between = self.text.as_bytes().get(before..self.place(at));
        between.is_some_and(|between| between.iter().any(u8::is_ascii_whitespace))
    }

    /// The same without white space, and without what takes no room.
    pub(super) fn without_spaces(&self) -> Self {
        self.without(space_at)
    }

    /// The same without the ends of lines, and what the next one begins with.
    pub(super) fn without_breaks(&self) -> Self {
        self.without(break_at)
    }

    /// The letters and digits alone, in whatever script, and what stands between stretches; with where in the view each is.
    pub(super) fn letters(&self) -> (Vec<u8>, Vec<usize>) {
        let all = self.bytes.iter().enumerate();
        let kept = all.filter(|(_, byte)| **byte == 0 || is_letter(**byte));
        kept.map(|(at, byte)| (*byte, at)).unzip()
    }

    /// The same without what `skip` finds at the beginning of a rest of it, and how long it finds that to be.
    fn without(&self, skip: impl Fn(&[u8]) -> usize) -> Self {
        let mut kept = Kept::new(self.bytes.len());
        let mut from = 0;
        let mut at = 0;
        while at < self.bytes.len() {
            match skip(&self.bytes[at..]) {
                0 => at += 1,
                length => {
                    kept.copy(self, from..at);
                    at += length;
                    from = at;
                }
            }
        }
        kept.copy(self, from..self.bytes.len());
        kept.view(self)
    }

    /// What these stretches of it say, each behind bytes that nothing goes across.
    pub(super) fn decoded_to(&self, stretches: &[Stretch]) -> Self {
        let size = stretches.iter().map(|stretch| stretch.bytes.len() + GAP).sum();
        let mut kept = Kept::new(size);
        for Stretch { bytes, from, end } in stretches {
            kept.bytes.extend_from_slice(bytes);
            kept.from.extend(from.iter().map(|at| number_of(self.place(*at))));
            kept.bytes.extend_from_slice(&[0; GAP]);
            kept.from.resize(kept.bytes.len(), number_of(self.place(*end)));
        }
        View { depth: 0, slack: self.slack + 1, ..kept.view(self) }
    }

    /// The same with these escapes resolved; none when there are none, or it is deep enough.
    pub(super) fn decoded(&self, escapes: Escapes) -> Option<Self> {
        if self.depth == DEEPEST {
            return None;
        }
        let mut next = self.escape_from(0, escapes);
        next.as_ref()?;
        let mut kept = Kept::new(self.bytes.len());
        let mut from = 0;
        while let Some((at, length, named)) = next {
            kept.copy(self, from..at);
            kept.push(&named, self.place(at));
            from = at + length;
            next = self.escape_from(from, escapes);
        }
        kept.copy(self, from..self.bytes.len());
        Some(View { depth: self.depth + 1, ..kept.view(self) })
    }

    /// The next escape: where it is, how long, and what it stands for.
    fn escape_from(&self, start: usize, escapes: Escapes) -> Option<(usize, usize, Named)> {
        let mut rest = start;
        loop {
            let begin = |byte: &u8| escapes.begin_with(*byte);
            let at = rest + self.bytes[rest..].iter().position(begin)?;
            if let Some((length, named)) = escape_at(&self.bytes[at..]) {
                return Some((at, length, named));
            }
            rest = at + 1;
        }
    }
}

/// A view on its way.
struct Kept {
    bytes: Vec<u8>,
    from: Vec<u32>,
}

impl Kept {
    fn new(size: usize) -> Self {
        Self { bytes: Vec::with_capacity(size), from: Vec::with_capacity(size) }
    }

    /// What stands in `view` as it is.
    fn copy(&mut self, view: &View<'_>, range: Range<usize>) {
        match &view.from {
            None => self.from.extend(range.clone().map(number_of)),
            Some(from) => self.from.extend_from_slice(&from[range.clone()]),
        }
        self.bytes.extend_from_slice(&view.bytes[range]);
    }

    /// What an escape at `place` stands for.
    fn push(&mut self, named: &Named, place: usize) {
        match named {
            Named::Byte(byte) => self.bytes.push(*byte),
            Named::Character(character) => {
                self.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Named::Nothing => {}
        }
        self.from.resize(self.bytes.len(), number_of(place));
    }

    fn view<'t>(self, of: &View<'t>) -> View<'t> {
        let (bytes, from) = (Cow::Owned(self.bytes), Some(self.from));
        View { text: of.text, bytes, from, depth: of.depth, slack: of.slack }
    }
}

/// A part of a view, and what it says in plain.
pub(super) struct Stretch {
    pub(super) bytes: Vec<u8>,
    /// Where in the view each of them begins.
    pub(super) from: Vec<usize>,
    /// Where the last of them ends.
    pub(super) end: usize,
}

/// As many bytes as the ends of findings may look beyond a stretch, over all levels.
const GAP: usize = 6;

/// Whether a byte belongs to a letter or a digit, as far as one can tell from it alone.
pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// How many bytes of a line's end, and of white space behind it, `bytes` begins with.
fn break_at(bytes: &[u8]) -> usize {
    match bytes {
        [b'\n' | b'\r', rest @ ..] => {
            1 + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
        }
        _ => 0,
    }
}

/// What is longer than four gigabytes is nobody's text; its end would count as its last byte.
fn number_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn takes_no_place(character: char) -> bool {
    space_at(character.encode_utf8(&mut [0; 4]).as_bytes()) > 0
}

/// How many bytes of white space, or of characters without width, `bytes` begins with.
fn space_at(bytes: &[u8]) -> usize {
    match bytes {
        [0x09..=0x0d | b' ', ..] => 1,
        [..=0x7f, ..] => 0,
        // No-break space and soft hyphen.
        [0xc2, 0xa0 | 0xad, ..] => 2,
        // The spaces from U+2000, what joins and parts (U+200B to U+200F), line ends, U+202F and U+2060 to U+2064.
        [0xe2, 0x80, 0x80..=0x8f | 0xa8..=0xaf, ..] | [0xe2, 0x81, 0x9f..=0xa4, ..] => 3,
        // The ideographic space and the mark of byte order.
        [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

/// What an escape stands for.
enum Named {
    Byte(u8),
    Character(char),
    Nothing,
}

/// The escape that `bytes` begins with: how long it is, and what it stands for.
fn escape_at(bytes: &[u8]) -> Option<(usize, Named)> {
    match bytes {
        [b'=', b'\r', b'\n', ..] => Some((3, Named::Nothing)),
        [b'=', b'\n', ..] => Some((2, Named::Nothing)),
        [b'=', rest @ ..] => Some((3, Named::Byte(byte_of(rest.get(..2)?)?))),
        // The wide letters of East Asian writing.
        [0xef, second @ (0xbc | 0xbd), third, ..] => {
            let wide = u32::from(*second & 3) << 6 | u32::from(*third & 0x3f);
            Some((3, Named::Byte(u8::try_from(wide + 0x20).ok().filter(u8::is_ascii_graphic)?)))
        }
        [b'%', b'u', rest @ ..] => unit(rest, 2, b"%u"),
        [b'%', rest @ ..] => Some((3, Named::Byte(byte_of(rest.get(..2)?)?))),
        [b'\\', b'u' | b'x', b'{', rest @ ..] => {
            let end = rest.iter().take(7).position(|byte| *byte == b'}')?;
            Some((end + 4, character(number(&rest[..end], 16)?)?))
        }
        [b'\\', b'U', rest @ ..] => Some((10, character(number(rest.get(..8)?, 16)?)?)),
        [b'\\', b'x', rest @ ..] => Some((4, Named::Byte(byte_of(rest.get(..2)?)?))),
        [b'\\', b'u', rest @ ..] => unit(rest, 2, b"\\u"),
        [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => {
            Some((4, Named::Byte(u8::try_from(number(&bytes[1..4], 8)?).ok()?)))
        }
        [b'\\', letter, ..] => Some((2, Named::Byte(short_escape(*letter)?))),
        [b'&', b'#', b'x' | b'X', rest @ ..] => entity(rest, 3, 16),
        [b'&', b'#', rest @ ..] => entity(rest, 2, 10),
        [b'&', rest @ ..] => ENTITIES.iter().find_map(|(name, byte)| {
            rest.starts_with(name).then_some((name.len() + 1, Named::Byte(*byte)))
        }),
        _ => None,
    }
}

/// The most digits of an entity, with zeros before it.
const MOST_DIGITS: usize = 8;

/// An entity by its number, which begins after `before` bytes. Its `;` may be missing, as browsers have it.
fn entity(rest: &[u8], before: usize, radix: u32) -> Option<(usize, Named)> {
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let digits = rest.iter().take(MOST_DIGITS).take_while(is_digit).count();
    let end = usize::from(rest.get(digits) == Some(&b';'));
    Some((before + digits + end, character(number(&rest[..digits], radix)?)?))
}

/// A unit of UTF-16 in four digits, or two of them that are one character.
fn unit(rest: &[u8], before: usize, again: &[u8]) -> Option<(usize, Named)> {
    let first = number(rest.get(..4)?, 16)?;
    if let Some(named) = character(first) {
        return Some((before + 4, named));
    }
    let second = number(rest[4..].strip_prefix(again)?.get(..4)?, 16)?;
    let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let pair = char::decode_utf16(units).next()?.ok()?;
    Some((2 * (before + 4), Named::Character(pair)))
}

const ENTITIES: &[(&[u8], u8)] = &[
    (b"amp;", b'&'),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"quot;", b'"'),
    (b"apos;", b'\''),
    (b"excl;", b'!'),
    (b"num;", b'#'),
    (b"dollar;", b'$'),
    (b"percnt;", b'%'),
    (b"lpar;", b'('),
    (b"rpar;", b')'),
    (b"ast;", b'*'),
    (b"plus;", b'+'),
    (b"comma;", b','),
    (b"period;", b'.'),
    (b"sol;", b'/'),
    (b"colon;", b':'),
    (b"semi;", b';'),
    (b"equals;", b'='),
    (b"quest;", b'?'),
    (b"commat;", b'@'),
    (b"lsqb;", b'['),
    (b"bsol;", b'\\'),
    (b"rsqb;", b']'),
    (b"Hat;", b'^'),
    (b"lowbar;", b'_'),
    (b"grave;", b'`'),
    (b"lcub;", b'{'),
    (b"verbar;", b'|'),
    (b"rcub;", b'}'),
];

fn short_escape(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'"' | b'\'' | b'\\' | b'/' | b'&' | b'=' | b'$' => letter,
        _ => return None,
    })
}

fn character(number: u32) -> Option<Named> {
    char::from_u32(number).map(Named::Character)
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    u8::try_from(number(digits, 16)?).ok()
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digit = |number: u32, byte: &u8| {
        number.checked_mul(radix)?.checked_add(char::from(*byte).to_digit(radix)?)
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, digit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: &View<'_>) -> String {
        String::from_utf8_lossy(view.bytes()).into_owned()
    }

    #[test]
    fn escapes_of_addresses_json_and_pages_are_resolved() {
        let cases = [
            ("a%2Fb%3d", "a/b="),
            (r"a\/b\u003d\x3D\n\u{41}", "a/b==\nA"),
            ("a&amp;b&#x3d;&#61;&lt;", "a&b==<"),
            ("%C3%A9", "é"),
            ("100% of &c, C:\\Users", "100% of &c, C:\\Users"),
        ];
        for (text, expected) in cases {
            let decoded = View::of(text).decoded(Escapes::All);
            assert_eq!(decoded.map_or(text.to_owned(), |view| read(&view)), expected, "{text}");
        }
    }

    #[test]
    fn an_escape_in_an_escape_is_followed_and_not_for_ever() {
        let once = View::of("%2525252541").decoded(Escapes::All).expect("an escape");
        let twice = once.decoded(Escapes::All).expect("an escape");
        assert_eq!(read(&twice), "%252541");
        let thrice = twice.decoded(Escapes::All).expect("an escape");
        assert!(thrice.decoded(Escapes::All).is_none());
    }

    #[test]
    fn each_kind_of_escape_is_resolved_alone_too() {
        let text = r"%41&#65;\x41";
        for (escapes, expected) in [
            (Escapes::Percent, r"A&#65;\x41"),
            (Escapes::Entities, r"%41A\x41"),
            (Escapes::Backslash, "%41&#65;A"),
            (Escapes::All, "AAA"),
        ] {
            assert_eq!(read(&View::of(text).decoded(escapes).expect("an escape")), expected);
        }
    }

    #[test]
    fn what_is_found_in_a_view_is_found_in_the_text() {
        let text = "é s\u{200b}e\n cr%65t!";
        let view = View::of(text).decoded(Escapes::All).expect("an escape").without_spaces();
        assert_eq!(read(&view), "ésecret!");
        assert_eq!(&text[view.in_text(2..8)], "s\u{200b}e\n cr%65t");
        assert_eq!(view.in_text(3..3), 0..0);
    }

    #[test]
    fn half_a_character_is_the_whole_one() {
        let text = "aéb";
        assert_eq!(&text[View::of(text).in_text(1..2)], "é");
    }
}
