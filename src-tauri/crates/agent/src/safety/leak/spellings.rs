//! Every spelling that is watched for, of several secrets: a table that makes each of them and looks for it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::{Known, find_stored, find_stored_counting, redacted};

/// Letters, signs, other alphabets, digits alone, one that is as short as a secret can be, and one of several planes.
const SECRETS: &[&str] = &[
    "sunflower-42-Tango",
    "p@ss/w+rd=\"q\"\\n9",
    "grün&%41<ok>☂x",
    "4929103847561",
    "Xq7!zK2m",
    "clé🔑-Wüste~77",
    "ghp-abP5xyz0p9qqRtP1Zz",
];

/// One more way to write a text.
type Way = (&'static str, fn(&str) -> String);

/// Each byte, written by `spell`, with `between` them.
fn bytes(text: &str, between: &str, spell: impl Fn(u8) -> String) -> String {
    text.bytes().map(spell).collect::<Vec<_>>().join(between)
}

fn chars(text: &str, between: &str, spell: impl Fn(char) -> String) -> String {
    text.chars().map(spell).collect::<Vec<_>>().join(between)
}

/// Base32 over `alphabet`, with its padding.
fn base32(text: &str, alphabet: &[u8; 32]) -> String {
    let bits: String = bytes(text, "", |byte| format!("{byte:08b}"));
    let letter = |five: &[u8]| {
        let five = format!("{:0<5}", String::from_utf8_lossy(five));
        char::from(alphabet[usize::from_str_radix(&five, 2).expect("bits")])
    };
    let mut spelled: String = bits.as_bytes().chunks(5).map(letter).collect();
    while !spelled.len().is_multiple_of(8) {
        spelled.push('=');
    }
    spelled
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32_HEX: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

fn quoted(text: &str) -> String {
    let every_third: Vec<char> = text.chars().collect();
    let lines = every_third.chunks(3).map(|line| {
        let line: String = line.iter().collect();
        bytes(&line, "", |byte| match byte {
            b'!'..=b'<' | b'>'..=b'~' => char::from(byte).to_string(),
            byte => format!("={byte:02X}"),
        })
    });
    lines.collect::<Vec<_>>().join("=\r\n")
}

fn rot13(text: &str) -> String {
    let turned = |c: char, first: u8| char::from((c as u8 - first + 13) % 26 + first);
    let letter = |c: char| match c {
        'a'..='z' => turned(c, b'a'),
        'A'..='Z' => turned(c, b'A'),
        c => c,
    };
    text.chars().map(letter).collect()
}

fn rot47(text: &str) -> String {
    let turned = |c: char| match c {
        '!'..='O' => char::from(c as u8 + 47),
        'P'..='~' => char::from(c as u8 - 47),
        c => c,
    };
    text.chars().map(turned).collect()
}

const ASCII_85: &str =
    "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu";
const RFC_1924: &str =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const Z85: &str =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

fn base85(bytes: &[u8], letters: &str) -> String {
    let mut spelled = String::new();
    for group in bytes.chunks(4) {
        let bytes = (0..4).map(|at| u64::from(group.get(at).copied().unwrap_or_default()));
        let mut number = bytes.fold(0, |number, byte| number * 256 + byte);
        let mut five = [0; 5];
        for digit in five.iter_mut().rev() {
            *digit = letters.as_bytes()[usize::try_from(number % 85).expect("a digit")];
            number /= 85;
        }
        spelled += std::str::from_utf8(&five[..=group.len()]).expect("letters");
    }
    spelled
}

/// Long division, byte by byte, until nothing is left.
fn base58(bytes: &[u8]) -> String {
    let letters = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let (mut left, mut spelled) = (bytes.to_vec(), Vec::new());
    while left.iter().any(|byte| *byte > 0) {
        let mut rest = 0_usize;
        for byte in &mut left {
            let whole = rest * 256 + usize::from(*byte);
            *byte = u8::try_from(whole / 58).expect("a byte");
            rest = whole % 58;
        }
        spelled.push(char::from(letters[rest]));
    }
    spelled.iter().rev().collect()
}

/// One line of up to 45 bytes, with its length before it.
fn uuencoded(bytes: &[u8]) -> String {
    let sign = |bits: u8| char::from(if bits == 0 { b'`' } else { bits + b' ' });
    let mut line = String::from(sign(u8::try_from(bytes.len()).expect("a short line")));
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        line.extend((0..4).rev().map(|place| sign((bits >> (place * 6) & 63) as u8)));
    }
    line
}

fn percent(text: &str) -> String {
    bytes(text, "", |byte| format!("%{byte:02X}"))
}

/// Ways that are each found by themselves.
const WAYS: &[Way] = &[
    ("plain", str::to_owned),
    ("reversed", |text| text.chars().rev().collect()),
    ("small letters", str::to_lowercase),
    ("capitals", str::to_uppercase),
    ("capitals in base64", |text| STANDARD.encode(text.to_uppercase())),
    ("base64", |text| STANDARD.encode(text)),
    ("base64 without padding", |text| STANDARD_NO_PAD.encode(text)),
    ("base64url", |text| URL_SAFE.encode(text)),
    ("hex", |text| bytes(text, "", |byte| format!("{byte:02x}"))),
    ("HEX", |text| bytes(text, "", |byte| format!("{byte:02X}"))),
    ("hex:list", |text| bytes(text, ":", |byte| format!("{byte:02x}"))),
    ("hex; list", |text| bytes(text, "; ", |byte| format!("0x{byte:02X}"))),
    ("hex|list", |text| bytes(text, "|", |byte| format!("{byte:02x}"))),
    (r"\x", |text| bytes(text, "", |byte| format!("\\x{byte:02x}"))),
    (r"\x{}", |text| chars(text, "", |c| format!("\\x{{{:x}}}", u32::from(c)))),
    ("base32", |text| base32(text, BASE32)),
    ("base32 without padding", |text| base32(text, BASE32).replace('=', "")),
    ("base32 in small letters", |text| base32(text, BASE32).to_lowercase()),
    ("base32hex", |text| base32(text, BASE32_HEX)),
    ("base32hex in small letters", |text| base32(text, BASE32_HEX).to_lowercase()),
    ("decimal", |text| bytes(text, " ", |byte| byte.to_string())),
    ("decimal, in a list", |text| format!("[{}]", bytes(text, ", ", |byte| byte.to_string()))),
    ("decimal, one a line", |text| bytes(text, "\n", |byte| byte.to_string())),
    ("chr()", |text| chars(text, ".", |c| format!("chr({})", u32::from(c)))),
    ("code points", |text| chars(text, ",", |c| u32::from(c).to_string())),
    ("U+", |text| chars(text, " ", |c| format!("U+{:04X}", u32::from(c)))),
    ("octal", |text| bytes(text, " ", |byte| format!("{byte:o}"))),
    ("octal with a zero", |text| bytes(text, ",", |byte| format!("0{byte:03o}"))),
    ("0o", |text| bytes(text, ", ", |byte| format!("0o{byte:o}"))),
    (r"\octal", |text| bytes(text, "", |byte| format!("\\{byte:03o}"))),
    ("binary", |text| bytes(text, " ", |byte| format!("{byte:08b}"))),
    ("0b", |text| bytes(text, ", ", |byte| format!("0b{byte:b}"))),
    ("binary in a row", |text| bytes(text, "", |byte| format!("{byte:08b}"))),
    ("rot13", rot13),
    ("rot13 in base64", |text| STANDARD.encode(rot13(text))),
    ("rot47", rot47),
    ("rot47 in base64", |text| STANDARD.encode(rot47(text))),
    ("Ascii85", |text| base85(text.as_bytes(), ASCII_85)),
    ("Ascii85 with its frame", |text| format!("<~{}~>", base85(text.as_bytes(), ASCII_85))),
    ("base85", |text| base85(text.as_bytes(), RFC_1924)),
    ("Z85", |text| base85(text.as_bytes(), Z85)),
    ("base85 in base64", |text| STANDARD.encode(base85(text.as_bytes(), RFC_1924))),
    ("base58", |text| base58(text.as_bytes())),
    ("uuencode", |text| uuencoded(text.as_bytes())),
    ("uuencode with blanks", |text| uuencoded(text.as_bytes()).replace('`', " ")),
    ("quoted-printable", quoted),
    ("quoted-printable, every byte", |text| bytes(text, "", |byte| format!("={byte:02X}"))),
    ("percent", percent),
    ("percent twice", |text| percent(text).replace('%', "%25")),
    ("percent of percent", |text| percent(&percent(text))),
    ("%u", |text| text.encode_utf16().map(|unit| format!("%u{unit:04x}")).collect()),
    (r"\u", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect()),
    (r"\u{}", |text| chars(text, "", |c| format!("\\u{{{:x}}}", u32::from(c)))),
    (r"\U", |text| chars(text, "", |c| format!("\\U{:08x}", u32::from(c)))),
    ("json", |text| serde_json::Value::from(text).to_string()),
    ("entities", |text| chars(text, "", |c| format!("&#{};", u32::from(c)))),
    ("entities in hex", |text| chars(text, "", |c| format!("&#x{:X};", u32::from(c)))),
    ("entities with zeros", |text| chars(text, "", |c| format!("&#{:07};", u32::from(c)))),
    ("entities without an end", |text| chars(text, "", |c| format!("&#{}", u32::from(c)))),
    ("named entities", |text| {
        let named = [
            ('&', "&amp;"),
            ('<', "&lt;"),
            ('"', "&quot;"),
            ('/', "&sol;"),
            ('+', "&plus;"),
            ('@', "&commat;"),
        ];
        chars(text, "", |c| {
            named
                .iter()
                .find(|(of, _)| *of == c)
                .map_or(c.to_string(), |(_, name)| (*name).to_owned())
        })
    }),
    ("full width", |text| {
        let wide = |c: char| match c {
            '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).expect("a character").to_string(),
            c => c.to_string(),
        };
        chars(text, "", wide)
    }),
    ("letters apart", |text| chars(text, " ", String::from)),
    ("letters with dashes", |text| chars(text, "-", String::from)),
    ("letters with dots and spaces", |text| chars(text, " . ", String::from)),
    ("letters in a list", |text| chars(text, "', '", String::from)),
    ("one letter a line", |text| chars(text, "\n", String::from)),
    ("one letter a line, with a sign", |text| chars(text, "\n* ", String::from)),
    ("letters with nothing between", |text| chars(text, "\0", String::from)),
    ("utf-16 in base64", |text| {
        STANDARD.encode(text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
    }),
];

/// Ways that are found around each other, three deep.
const NESTED: &[Way] = &[
    ("base64", |text| STANDARD.encode(text)),
    ("base64url", |text| URL_SAFE_NO_PAD.encode(text)),
    ("hex", |text| bytes(text, "", |byte| format!("{byte:02x}"))),
    ("base32", |text| base32(text, BASE32)),
    ("percent", percent),
    ("decimal", |text| bytes(text, " ", |byte| byte.to_string())),
    ("binary", |text| bytes(text, "", |byte| format!("{byte:08b}"))),
];

/// Someone who looks for one secret, and what was not found.
struct Seeker {
    secret: &'static str,
    known: Known,
    misses: Vec<String>,
}

impl Seeker {
    fn of(secret: &'static str) -> Self {
        let known = Known::new([("mail", secret)].into_iter());
        Self { secret, known, misses: Vec::new() }
    }

    fn hides(&self, text: &str) -> Option<String> {
        redacted(text, &find_stored(text, &self.known))
    }

    fn check(&mut self, what: &str, text: &str) {
        if find_stored(text, &self.known).is_empty() {
            self.misses.push(format!("{} as {what}: {text}", self.secret));
        }
    }
}

#[test]
fn every_spelling_of_every_secret_is_found() {
    let mut misses = Vec::new();
    for secret in SECRETS {
        let mut seeker = Seeker::of(secret);
        for (way, spell) in WAYS {
            for (before, after) in [("", ""), ("it is ", " and so on"), ("{\"token\": \"", "\"}")] {
                seeker.check(way, &format!("{before}{}{after}", spell(secret)));
            }
        }
        misses.extend(seeker.misses);
    }
    assert!(misses.is_empty(), "{}:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn spellings_of_spellings_are_found_three_deep() {
    let mut misses = Vec::new();
    for secret in SECRETS {
        let mut seeker = Seeker::of(secret);
        for (inner, one) in NESTED {
            for (middle, two) in NESTED {
                let twice = two(&one(&format!("key: {secret}!")));
                seeker.check(&format!("{inner} in {middle}"), &twice);
                for (outer, three) in NESTED {
                    let what = format!("{inner} in {middle} in {outer}");
                    seeker.check(&what, &format!("see {} there", three(&twice)));
                }
            }
        }
        misses.extend(seeker.misses);
    }
    assert!(misses.is_empty(), "{}:\n{}", misses.len(), misses.join("\n"));
}

/// Inside a longer text a value begins at any place of a group.
#[test]
fn numbers_of_other_bases_are_found_inside_a_longer_text() {
    let mut misses = Vec::new();
    for secret in SECRETS.iter().filter(|secret| secret.len() >= 11) {
        let mut seeker = Seeker::of(secret);
        for before in ["", "1", "12", "123", "token: "] {
            let text = format!("{before}{secret} and more");
            for letters in [ASCII_85, RFC_1924, Z85] {
                seeker.check("base85", &base85(text.as_bytes(), letters));
            }
            let spelled = uuencoded(text.as_bytes());
            seeker.check("uuencode", &spelled);
            seeker.check("uuencode with blanks", &spelled.replace('`', " "));
        }
        misses.extend(seeker.misses);
    }
    assert!(misses.is_empty(), "{}:\n{}", misses.len(), misses.join("\n"));
}

/// What is told instead holds nothing that anybody could read the secret out of by the same ways.
#[test]
fn nothing_of_a_spelling_stays() {
    let seeker = Seeker::of("sunflower-42-Tango");
    for (way, spell) in WAYS.iter().chain(NESTED) {
        for (outer, wrap) in [WAYS[0], NESTED[0], NESTED[2], NESTED[3]] {
            let text = format!("first, {}, last", wrap(&spell(seeker.secret)));
            let left = seeker.hides(&text).unwrap_or_else(|| panic!("{way} in {outer}: {text}"));
            let parts = left.split("[redacted: secret:mail]");
            let rest: usize = parts.map(|part| part.trim().len()).sum();
            assert!(rest <= "first,, last".len() + 16, "{way} in {outer}: {left} of {text}");
            assert!(
                left.starts_with("first, ") && left.ends_with(", last"),
                "{way} in {outer}: {left}"
            );
        }
    }
}

/// Texts that are as much work as texts can be.
fn hard_texts(size: usize) -> Vec<(&'static str, String)> {
    let prose = "The quick brown fox jumps over 13 lazy dogs, and well-known words follow it. ";
    let filled = |text: &str| text.repeat(size / text.len() + 1);
    let mut nested = filled(prose);
    for _ in 0..4 {
        nested = STANDARD.encode(&nested);
    }
    let doubled = filled("%25252541&amp;#x26;\\u0025");
    vec![
        ("prose", filled(prose)),
        ("one letter", filled("a")),
        ("zeros and ones", filled("0110000101100010")),
        ("digits", filled("49 50 51 ")),
        ("base64 of base64 of …", nested),
        ("escapes of escapes", STANDARD.encode(STANDARD.encode(&doubled))),
        ("base32", filled("NBSWY3DPEB3W64TMMQ")),
        ("hex", filled("34393530353134393530")),
        ("apart", filled("a-b-c-d-e-f-")),
        ("white space", filled(" \n")),
        ("noise", filled("iVBORw0KGgoAAAANSUhEUgAA+z/Qx9vR7kLmE3sT1yWcBn5h")),
    ]
}

/// The work is counted in bytes that were read, so a slow machine says nothing and a quadratic reader everything.
#[test]
fn the_work_grows_with_the_text_and_not_faster() {
    let known = Known::new(SECRETS.iter().map(|secret| ("mail", *secret)));
    for (small, large) in hard_texts(20_000).into_iter().zip(hard_texts(80_000)) {
        let ((name, small), (_, large)) = (small, large);
        let work = |text: &str| find_stored_counting(text, &known).1;
        let (least, most) = (work(&small), work(&large));
        assert!(most <= 64 * large.len(), "{name}: {most} for {}", large.len());
        let grown = large.len().div_ceil(small.len());
        assert!(most <= least * grown * 5 / 4 + 4096, "{name}: {least} and {most}");
    }
}
