//! The values of stored secrets, in every spelling that a text may use for them.
//!
//! Owns the list of spellings and one automaton over all of them, so that a text is read once whatever is stored, in
//! whatever case. Escapes and white space are not here: a `View` has undone them; nor is what another encoding holds:
//! `encoded` has read it. One could get it wrong with base64, where the same bytes read
//! differently by what stands before them: only the letters that depend on the secret alone are looked for, in each of the
//! three places it can begin at, and the two letters beside them go with them where no white
//! space is between. Base32 is the same with five places; `radix` has the numbers of other bases.
//!
//! A value of less than eight bytes is in ordinary text by chance: it is looked for only where it is the whole of a field.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::Finding;
use super::clean_texts::CleanTexts;
use super::radix;
use super::view::{View, is_letter};

/// The fewest bytes, white space not counted, by which a secret can be recognised.
pub(crate) const SHORTEST: usize = 8;

/// The fewest letters and digits by which a secret can be recognised without its signs.
const SHORTEST_BARE: usize = 10;

/// Letters of base64 beside a core that carry a part of the secret.
const EDGE: usize = 2;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32_HEX: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// The values to look for.
pub(crate) struct Known {
    /// In every spelling.
    spelled: Needles,
    /// Their letters and digits alone.
    bare: Needles,
    /// The letters and digits of the values, forwards and backwards and in small letters.
    read: Vec<Vec<u8>>,
    /// Those that are too short for either, with their names.
    short: Vec<(String, String)>,
    /// Long texts in which none of them was found.
    pub(super) clean_texts: CleanTexts,
}

/// An automaton, and what each of its patterns is.
struct Needles {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
}

struct Pattern {
    name: String,
    /// Bytes beside it that belong to it.
    edge: usize,
}

impl Known {
    /// Looks for these values under their names.
    pub(crate) fn new<'s>(secrets: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let (mut spelled, mut bare, mut short) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = Vec::new();
        for (name, value) in secrets {
            let name = format!("secret:{name}");
            let of_secret = spellings(value);
            if of_secret.is_empty() {
                short.push((name.clone(), value.trim().to_owned()));
            }
            read.extend([value.to_owned(), reversed_text(value)].map(|text| letters_of(&text)));
            bare.extend(bare_spellings(value).map(|needle| (name.clone(), needle, 0)));
            spelled
                .extend(of_secret.into_iter().map(|(needle, edge)| (name.clone(), needle, edge)));
        }
        short.retain(|(_, value)| !value.is_empty());
        read.retain(|letters| !letters.is_empty());
        let (spelled, bare) = (Needles::new(spelled), Needles::new(bare));
        Self { spelled, bare, read, short, clean_texts: CleanTexts::default() }
    }

    /// Whether there is nothing to look for in a text.
    pub(crate) const fn is_empty(&self) -> bool {
        self.spelled.patterns.is_empty()
    }

    /// Whether there are values that are looked for only where they are the whole of a field.
    pub(crate) const fn has_short(&self) -> bool {
        !self.short.is_empty()
    }

    /// Where the end of `text` begins that could be the beginning of a value, with the signs before it, and has at least so
    /// many letters and digits; the end of the text where there is none.
    pub(crate) fn begun_at(&self, text: &str, least: usize) -> usize {
        let bytes = text.as_bytes();
        let most = self.read.iter().map(Vec::len).max().unwrap_or_default();
        let is_letter_at = |at: &usize| is_letter(bytes[*at]);
        let mut places: Vec<usize> =
            (0..bytes.len()).rev().filter(is_letter_at).take(most).collect();
        places.reverse();
        let letters: Vec<u8> = places.iter().map(|at| bytes[*at].to_ascii_lowercase()).collect();
        let begins =
            |from: &usize| self.read.iter().any(|value| value.starts_with(&letters[*from..]));
        let mut enough = 0..(letters.len() + 1).saturating_sub(least);
        let Some(from) = enough.find(begins) else { return text.len() };
        let is_sign = |at: &usize| !is_letter(bytes[*at]) && !bytes[*at].is_ascii_whitespace();
        let signs = (0..places[from]).rev().take_while(is_sign).count();
        text.floor_char_boundary(places[from] - signs)
    }

    /// The name of the short value that `text` is, also where a whole number is written with a fraction of nothing.
    pub(crate) fn short_one(&self, text: &str) -> Option<&str> {
        let text = text.trim();
        let is_nothing =
            |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
        let whole = text.split_once('.').filter(|(_, fraction)| is_nothing(fraction));
        let whole = whole.map_or(text, |(whole, _)| whole);
        let is_it = |value: &str| value == text || value == whole;
        self.short.iter().find(|(_, value)| is_it(value)).map(|(name, _)| name.as_str())
    }

    /// Adds what stands in `view`, which is without white space.
    pub(super) fn find(&self, view: &View<'_>, found: &mut Vec<Finding>) {
        let bytes = view.bytes();
        for (pattern, hit) in self.spelled.hits(bytes) {
            let is_edge = |at: usize| is_base64(bytes[at]);
            let before = (0..hit.start).rev().take(pattern.edge);
            let before = before.take_while(|at| is_edge(*at) && !view.is_apart(at + 1)).count();
            let after = (hit.end..bytes.len()).take(pattern.edge);
            let after = after.take_while(|at| is_edge(*at) && !view.is_apart(*at)).count();
            found.push(pattern.found_at(view, hit.start - before..hit.end + after));
        }
    }

    /// Adds what stands in `view` when only its letters and digits count.
    pub(super) fn find_bare(&self, view: &View<'_>, found: &mut Vec<Finding>) {
        let (letters, places) = view.letters();
        for (pattern, hit) in self.bare.hits(&letters) {
            found.push(pattern.found_at(view, places[hit.start]..places[hit.end - 1] + 1));
        }
    }
}

impl Needles {
    fn new(all: Vec<(String, Vec<u8>, usize)>) -> Self {
        let (mut seen, mut needles, mut patterns) = (HashSet::new(), Vec::new(), Vec::new());
        for (name, needle, edge) in all {
            if seen.insert(needle.to_ascii_lowercase()) {
                needles.push(needle);
                patterns.push(Pattern { name, edge });
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(&needles)
            .expect("BUG: a few thousand needles fit into an automaton");
        Self { automaton, patterns }
    }

    fn hits<'n>(&'n self, bytes: &'n [u8]) -> impl Iterator<Item = (&'n Pattern, Range<usize>)> {
        let hits = self.automaton.find_iter(bytes);
        hits.map(|hit| (&self.patterns[hit.pattern().as_usize()], hit.range()))
    }
}

impl Pattern {
    fn found_at(&self, view: &View<'_>, at: Range<usize>) -> Finding {
        Finding { what: self.name.clone(), certain: true, at: view.in_text(at) }
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn letters_of(text: &str) -> Vec<u8> {
    let letters = text.bytes().filter(|byte| is_letter(*byte));
    letters.map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The letters and digits of `value`, forwards and backwards, when they are enough and not digits alone: numbers in a table
/// stand in every order.
fn bare_spellings(value: &str) -> impl Iterator<Item = Vec<u8>> {
    let bare = |text: &str| text.bytes().filter(|byte| is_letter(*byte)).collect::<Vec<u8>>();
    let all = [value.to_owned(), value.to_lowercase(), value.to_uppercase(), reversed_text(value)];
    let is_enough = |needle: &Vec<u8>| {
        needle.len() >= SHORTEST_BARE && needle.iter().any(|byte| !byte.is_ascii_digit())
    };
    all.map(|text| bare(&text)).into_iter().filter(is_enough)
}

/// Every spelling of `value`, with how many letters beside it carry a part of it; none when it is too short.
fn spellings(value: &str) -> Vec<(Vec<u8>, usize)> {
    let dense = |text: &str| View::of(text).without_spaces().bytes().to_vec();
    let plain = dense(value);
    if plain.len() < SHORTEST {
        return Vec::new();
    }
    let wide: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let turned = reversed_text(value).into_bytes();
    let mut exact = vec![plain.clone()];
    let (small, large) = (value.to_lowercase(), value.to_uppercase());
    let others = [reversed_text(value), small, large, rot13(value), rot47(value)];
    exact.extend(others.iter().map(|text| dense(text)));
    let mut cores = Vec::new();
    for bytes in [value.as_bytes(), &plain, &turned, &wide] {
        exact.extend(hex_spellings(bytes));
        cores.extend(base64_cores(bytes));
    }
    for alphabet in [BASE32, BASE32_HEX] {
        cores.extend(base32_cores(value.as_bytes(), alphabet));
        cores.extend(base32_cores(&plain, alphabet));
    }
    for again in [
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        hex(value.as_bytes(), "", ""),
        escaped(value),
        reversed_text(&STANDARD.encode(value)),
    ] {
        cores.extend(base64_cores(again.as_bytes()));
        exact.extend(hex_spellings(again.as_bytes()));
    }
    let turned: Vec<Vec<u8>> =
        cores.iter().map(|core| core.iter().rev().copied().collect()).collect();
    cores.extend(turned);
    let url_safe: Vec<Vec<u8>> = cores.iter().map(|core| url_letters(core)).collect();
    cores.extend(url_safe);
    let bytes = [value.as_bytes(), &plain];
    let alone = bytes.into_iter().flat_map(radix::alone).map(|letters| (letters, 0));
    let within = bytes.into_iter().flat_map(radix::cores).map(|letters| (letters, radix::EDGE));
    // As a text with them is read, which leaves blanks out.
    let read =
        |(letters, edge): (Vec<u8>, usize)| (dense(&String::from_utf8_lossy(&letters)), edge);
    let numbers = alone.chain(within).map(read);
    let numbers = numbers.filter(|(letters, _)| letters.len() >= radix::SHORTEST);
    let exact = exact.into_iter().map(|needle| (needle, 0));
    exact.chain(cores.into_iter().map(|needle| (needle, EDGE))).chain(numbers).collect()
}

fn reversed_text(text: &str) -> String {
    text.chars().rev().collect()
}

fn rot13(text: &str) -> String {
    let turned = |byte: u8, first: u8| char::from((byte - first + 13) % 26 + first);
    let letter = |c: char| match u8::try_from(c) {
        Ok(byte @ b'a'..=b'z') => turned(byte, b'a'),
        Ok(byte @ b'A'..=b'Z') => turned(byte, b'A'),
        _ => c,
    };
    text.chars().map(letter).collect()
}

/// Every printable sign of ASCII 47 places on, round and round.
fn rot47(text: &str) -> String {
    let sign = |c: char| match u8::try_from(c) {
        Ok(byte @ b'!'..=b'~') => char::from((byte - b'!' + 47) % 94 + b'!'),
        _ => c,
    };
    text.chars().map(sign).collect()
}

/// Every byte as `%XX`, as whoever hides something writes it.
fn escaped(value: &str) -> String {
    hex(value.as_bytes(), "%", "").to_ascii_uppercase()
}

fn url_letters(core: &[u8]) -> Vec<u8> {
    let letter = |byte: &u8| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    };
    core.iter().map(letter).collect()
}

/// The letters of base64 that depend on `bytes` alone, for each of the places in a group of three they can begin at.
pub(super) fn base64_cores(bytes: &[u8]) -> Vec<Vec<u8>> {
    let core = |before: usize| {
        let whole = [&[0; 2][..before], bytes].concat();
        let letters = STANDARD_NO_PAD.encode(&whole).into_bytes();
        let first = (before * 8).div_ceil(6);
        letters[first..whole.len() * 8 / 6].to_vec()
    };
    (0..3).map(core).collect()
}

/// The same in base32, which has groups of five.
fn base32_cores(bytes: &[u8], alphabet: &[u8; 32]) -> Vec<Vec<u8>> {
    let core = |before: usize| {
        let whole = [&[0; 4][..before], bytes].concat();
        let bit = |at: usize| whole[at / 8] >> (7 - at % 8) & 1;
        let letter = |at: usize| {
            alphabet[(0..5).fold(0, |worth, of| worth << 1 | usize::from(bit(at * 5 + of)))]
        };
        let first = (before * 8).div_ceil(5);
        (first..whole.len() * 8 / 5).map(letter).collect()
    };
    (0..5).map(core).collect()
}

/// Hexadecimal digits as they are written in a row and in lists.
fn hex_spellings(bytes: &[u8]) -> Vec<Vec<u8>> {
    [("", ""), ("", ":"), ("", "-"), ("", ","), ("0x", ","), ("0x", "")]
        .map(|(before, between)| hex(bytes, before, between).into_bytes())
        .to_vec()
}

fn hex(bytes: &[u8], before: &str, between: &str) -> String {
    let spelled: Vec<String> = bytes.iter().map(|byte| format!("{before}{byte:02x}")).collect();
    spelled.join(between)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::safety::leak::{find, redacted};

    const SECRET: &str = "hunter2/Zz+9!é\"x";

    fn hides(secret: &str, text: &str) -> Option<String> {
        let known = Known::new([("mail", secret)].into_iter());
        redacted(text, &find(text, &known))
    }

    #[test]
    fn a_stored_secret_is_named_and_gone() {
        let hidden = hides(SECRET, &format!("it is {SECRET}, keep it"));
        assert_eq!(hidden.as_deref(), Some("it is [redacted: secret:mail], keep it"));
        assert_eq!(hides(SECRET, "it is hunter2"), None);
    }

    #[test]
    fn what_is_too_short_is_looked_for_only_as_the_whole_of_a_text() {
        assert_eq!(hides("none", "there is none"), None);
        assert_eq!(hides("a b c d e", "abcde"), None);
        assert_eq!(hides("none", " none\n").as_deref(), Some(" [redacted: secret:mail]\n"));
    }

    #[test]
    fn nothing_of_a_base64_spelling_stays() {
        for before in ["", "x", "xy", "xyz"] {
            let text = STANDARD.encode(format!("{before}{SECRET}{before}"));
            let left = hides(SECRET, &text).expect("found").replace("[redacted: secret:mail]", " ");
            for part in left.split(' ') {
                assert!(part.len() <= 8, "{part} of {text}");
            }
        }
    }

    #[test]
    fn the_words_beside_a_base64_spelling_stay() {
        for before in ["", "x", "xy"] {
            let spelled = STANDARD.encode(format!("{before}sunflower-42-Tango"));
            let hidden =
                hides("sunflower-42-Tango", &format!("it and {spelled} so on")).expect("found");
            assert!(hidden.starts_with("it and ") && hidden.ends_with(" so on"), "{hidden}");
        }
    }

    /// One more way to write a text.
    type Way = (&'static str, fn(&str) -> String);

    const WAYS: &[Way] = &[
        ("plain", str::to_owned),
        ("reversed", |text| text.chars().rev().collect()),
        ("base64", |text| STANDARD.encode(text)),
        ("base64url", |text| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)),
        ("hex", |text| hex(text.as_bytes(), "", "")),
        ("HEX", |text| hex(text.as_bytes(), "", "").to_uppercase()),
        ("hex:list", |text| hex(text.as_bytes(), "", ":")),
        ("0xlist", |text| hex(text.as_bytes(), "0x", ", ")),
        (r"\x", |text| hex(text.as_bytes(), r"\x", "")),
        ("percent", |text| hex(text.as_bytes(), "%", "")),
        ("PERCENT", |text| escaped(text)),
        ("json", |text| serde_json::Value::from(text).to_string()),
        (r"\u", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect()),
        ("entities", |text| text.chars().map(|c| format!("&#{};", u32::from(c))).collect()),
        ("utf-16", |text| {
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            STANDARD.encode(wide)
        }),
    ];

    /// Ways to put a text into pieces.
    const SPLITS: &[Way] = &[
        ("whole", str::to_owned),
        ("lines", |text| text.chars().map(|c| format!("{c}\n")).collect()),
        ("blanks", |text| text.chars().map(|c| format!("{c} \t")).collect()),
        ("wrapped", |text| {
            let chars: Vec<char> = text.chars().collect();
            chars.chunks(7).map(|line| line.iter().collect::<String>() + "\r\n").collect()
        }),
        ("zero width", |text| text.chars().map(|c| format!("{c}\u{200b}")).collect()),
    ];

    #[test]
    fn three_hundred_spellings_of_a_secret_are_found() {
        let mut tried = 0;
        for secret in ["sunflower-42-Tango", "p@ss/w+rd=\"q\"\\n9", "grün&%41<ok>☂x"] {
            let known = Known::new([("mail", secret)].into_iter());
            for (way, spell) in WAYS {
                for (split, cut) in SPLITS {
                    for before in ["", "k=", "{\"token\": \""] {
                        let text = format!("{before}{} and so on", cut(&spell(secret)));
                        let found = !find(&text, &known).is_empty();
                        assert!(found, "{secret} as {way}, {split}: {text}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried >= 300, "{tried}");
    }

    #[test]
    fn a_spelling_of_a_spelling_is_found() {
        let secret = "sunflower-42-Tango";
        for inner in ["plain", "base64", "hex", "PERCENT"] {
            for outer in ["base64", "base64url", "hex", "percent", "json"] {
                let way = |name| WAYS.iter().find(|(way, _)| *way == name).expect("a way").1;
                let text = way(outer)(&way(inner)(secret));
                assert!(hides(secret, &text).is_some(), "{inner} in {outer}: {text}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_secret_is_found_anywhere(
            secret in "[!-~]{8,60}",
            before in "[ -~]{0,12}",
            after in "[ -~]{0,12}",
            way in 0..WAYS.len(),
        ) {
            let (name, spell) = WAYS[way];
            // What stands around it must not run into it: `%4` before `1…` is another text.
            let text = format!("{before} | {} | {after}", spell(&secret));
            let hidden = hides(&secret, &text);
            prop_assert!(hidden.is_some(), "{name}: {text}");
        }

        #[test]
        fn what_is_told_instead_does_not_hold_it(
            secret in "[A-Za-z0-9]{8,40}",
            before in "[a-z ]{0,12}",
            at in 0_usize..3,
        ) {
            let text = format!("{before} {secret}{secret} {}", STANDARD.encode(format!("{}{secret}", "x".repeat(at))));
            let told = hides(&secret, &text).expect("found");
            prop_assert!(hides(&secret, &told).is_none(), "{told}");
        }

        #[test]
        fn no_text_makes_it_fall_over(text in any::<String>(), secret in any::<String>()) {
            hides(&secret, &text);
        }
    }
}
