//! Stretches of a text that spell another text: base64, base32, hexadecimal and binary digits, lists of numbers, and
//! letters that stand apart.
//!
//! Owns the finding of them and what they say. An alphabet of letters is read from each place that a group of it can begin
//! at, because nobody knows where it did, and only what reads as text there is kept: of an image, or of the places where
//! it did not begin, hardly anything is. It refuses to judge what it finds, and to look into it again: that is for whoever
//! counts the work. One could get it wrong by reading what looks encoded as a whole: a secret would hide behind one
//! letter before it.

mod apart;
mod numbers;

use std::iter::once;
use std::sync::LazyLock;

pub(super) use apart::apart;
pub(super) use numbers::numbers;

use super::view::Stretch;

/// The fewest bytes that are worth looking at: a secret that is watched for everywhere has as many.
const LEAST: usize = super::SHORTEST;

/// Letters that stand for a few bits each.
struct Alphabet {
    bits: u32,
    /// Letters after which a byte begins where a letter does.
    group: usize,
    /// The shortest run of letters that holds anything.
    least: usize,
    /// The letters in the order of what they are worth; in each of these spellings at once.
    spelled: &'static [&'static str],
}

impl Alphabet {
    const fn of(bits: u32, group: usize, spelled: &'static [&'static str]) -> Self {
        Self { bits, group, least: LEAST * 8 / bits as usize, spelled }
    }
}

const KINDS: usize = 9;

/// Base64 and base64url, hexadecimal and binary digits; base32, base32hex and Crockford's, each in capitals and in small
/// letters, which are not mixed.
const ALPHABETS: [Alphabet; KINDS] = [
    Alphabet::of(
        6,
        4,
        &[
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        ],
    ),
    Alphabet::of(4, 2, &["0123456789abcdef", "0123456789ABCDEF"]),
    Alphabet::of(1, 8, &["01"]),
    Alphabet::of(5, 8, &["ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"]),
    Alphabet::of(5, 8, &["abcdefghijklmnopqrstuvwxyz234567"]),
    Alphabet::of(5, 8, &["0123456789ABCDEFGHIJKLMNOPQRSTUV"]),
    Alphabet::of(5, 8, &["0123456789abcdefghijklmnopqrstuv"]),
    Alphabet::of(5, 8, &["0123456789ABCDEFGHJKMNPQRSTVWXYZ"]),
    Alphabet::of(5, 8, &["0123456789abcdefghjkmnpqrstvwxyz"]),
];

/// What each byte is worth in each alphabet, and in which it is a letter, one bit each.
struct Letters {
    worth: [[u8; 256]; KINDS],
    of: [u16; 256],
}

static LETTERS: LazyLock<Letters> = LazyLock::new(|| {
    let mut letters = Letters { worth: [[0; 256]; KINDS], of: [0; 256] };
    for (kind, alphabet) in ALPHABETS.iter().enumerate() {
        for spelled in alphabet.spelled {
            for (worth, letter) in (0_u8..).zip(spelled.bytes()) {
                letters.worth[kind][usize::from(letter)] = worth;
                letters.of[usize::from(letter)] |= 1 << kind;
            }
        }
    }
    letters
});

/// What runs of the letters of some alphabet say.
pub(super) fn letters(bytes: &[u8], found: &mut Vec<Stretch>) {
    let letters = &*LETTERS;
    let mut begun = [0; KINDS];
    let mut open = 0_u16;
    for (at, byte) in bytes.iter().chain(once(&b'\0')).enumerate() {
        let now = letters.of[usize::from(*byte)];
        let changed = open ^ now;
        if changed == 0 {
            continue;
        }
        for (kind, begun) in
            begun.iter_mut().enumerate().filter(|(kind, _)| changed >> kind & 1 == 1)
        {
            if now >> kind & 1 == 1 {
                *begun = at;
            } else if at - *begun >= ALPHABETS[kind].least {
                run(kind, bytes, *begun..at, found);
            }
        }
        open = now;
    }
}

/// What one run says, from each of the places that it can begin at.
fn run(kind: usize, bytes: &[u8], at: std::ops::Range<usize>, found: &mut Vec<Stretch>) {
    let (alphabet, worth) = (&ALPHABETS[kind], &LETTERS.worth[kind]);
    for begin in at.start..at.end.min(at.start + alphabet.group) {
        let mut text = Text::default();
        let (mut bits, mut held) = (0_u32, 0);
        for (place, letter) in (begin..).zip(&bytes[begin..at.end]) {
            // Where the byte that this letter ends began.
            let first = place + 1 - ((held + alphabet.bits).div_ceil(alphabet.bits)) as usize;
            bits = bits << alphabet.bits | u32::from(worth[usize::from(*letter)]);
            held += alphabet.bits;
            if held >= 8 {
                held -= 8;
                let byte = u8::try_from(bits >> held & 0xff).expect("BUG: eight bits are a byte");
                text.take(byte, first, found);
            }
        }
        text.end(at.end, found);
    }
}

/// A text on its way, byte by byte.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    from: Vec<usize>,
    /// Bytes of a character that are still to come.
    open: u8,
}

impl Text {
    /// Takes one more byte, which began at `at`; what does not go on ends here.
    fn take(&mut self, byte: u8, at: usize, found: &mut Vec<Stretch>) {
        let goes_on = match byte {
            0x80..=0xbf => self.open > 0,
            _ => self.open == 0,
        };
        if !goes_on {
            self.end(at, found);
        }
        self.open = match byte {
            b'\t' | b'\n' | b'\r' | 0x20..=0x7e => 0,
            // Between letters of two bytes each, and not as the filling of a picture.
            0 if self.bytes.last().is_some_and(|last| *last != 0) => 0,
            0x80..=0xbf if self.open > 0 => self.open - 1,
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            _ => return self.end(at, found),
        };
        self.bytes.push(byte);
        self.from.push(at);
    }

    /// It ends at `at`.
    fn end(&mut self, at: usize, found: &mut Vec<Stretch>) {
        let Self { bytes, from, .. } = std::mem::take(self);
        if bytes.len() >= LEAST {
            found.push(Stretch { bytes, from, end: at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(found: &[Stretch]) -> Vec<String> {
        found.iter().map(|stretch| String::from_utf8_lossy(&stretch.bytes).into_owned()).collect()
    }

    #[test]
    fn what_runs_of_letters_say_is_found_wherever_they_begin() {
        for text in [
            "xaGVsbG8gd29ybGQh.",
            "=aGVsbG8gd29ybGQh",
            "68656c6c6f20776f726c6421",
            "NBSWY3DPEB3W64TMMQQQ====",
            "d1imor3f41rmusjccggg",
        ] {
            let mut found = Vec::new();
            letters(text.as_bytes(), &mut found);
            assert!(
                said(&found).contains(&"hello world!".to_owned()),
                "{text}: {:?}",
                said(&found)
            );
        }
    }

    #[test]
    fn what_says_nothing_is_not_kept() {
        let mut found = Vec::new();
        letters(b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", &mut found);
        letters(b"The quick brown fox jumps over the lazy dog", &mut found);
        assert_eq!(said(&found), Vec::<String>::new());
    }

    #[test]
    fn each_byte_knows_where_it_began() {
        let mut found = Vec::new();
        letters(b" aGVsbG8gd29ybGQh ", &mut found);
        assert_eq!((found[0].from[..4].to_vec(), found[0].end), (vec![1, 2, 3, 5], 17));
    }
}
