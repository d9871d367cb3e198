//! Lists of numbers that are characters: `115, 101, 99`, `0x73 0x65`, `\163`, `01110011`, `chr(115).chr(101)`.
//!
//! Owns what counts as a number of a list, in four notations that are read beside each other: which one is meant nobody
//! says. Between two numbers may stand a few signs, and the name of a function that makes a character. A number above 127
//! is a byte to one reader and a character to another, so a list that has one is read both ways.

use std::ops::Range;

use super::LEAST;
use crate::safety::leak::view::Stretch;

/// The most signs between two numbers.
const MOST_BETWEEN: usize = 8;

/// Words that may stand before each number.
const MAKERS: [&[u8]; 5] = [b"chr", b"char", b"CHR", b"CHAR", b"U"];

/// How numbers are written: the radix, what may stand before them, and how many digits they have.
struct Notation {
    radix: u32,
    before: &'static [&'static [u8]],
    digits: Range<usize>,
}

const NOTATIONS: [Notation; 4] = [
    Notation { radix: 10, before: &[], digits: 2..8 },
    Notation { radix: 16, before: &[b"0x", b"0X", b"x", b"u"], digits: 2..7 },
    Notation { radix: 8, before: &[b"0o", b"0O"], digits: 2..5 },
    Notation { radix: 2, before: &[b"0b", b"0B"], digits: 6..9 },
];

/// What lists of numbers say.
pub(in crate::safety::leak) fn numbers(bytes: &[u8], found: &mut Vec<Stretch>) {
    let mut lists: [List; 4] = Default::default();
    for word in words(bytes) {
        if MAKERS.contains(&&bytes[word.clone()]) {
            continue;
        }
        for (notation, list) in NOTATIONS.iter().zip(&mut lists) {
            list.take(notation, bytes, word.clone(), found);
        }
    }
    for list in &mut lists {
        list.end(found);
    }
}

/// Letters and digits in a row.
fn words(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric();
        let start = at + bytes[at..].iter().position(is_letter)?;
        let length = bytes[start..].iter().take_while(|byte| is_letter(byte)).count();
        at = start + length;
        Some(start..at)
    })
}

/// A list on its way.
#[derive(Default)]
struct List {
    numbers: Vec<(char, usize)>,
    end: usize,
}

impl List {
    fn take(
        &mut self,
        notation: &Notation,
        bytes: &[u8],
        word: Range<usize>,
        found: &mut Vec<Stretch>,
    ) {
        let number = number(notation, &bytes[word.clone()]);
        if number.is_none() || word.start > self.end + MOST_BETWEEN {
            self.end(found);
        }
        if let Some(number) = number {
            self.numbers.push((number, word.start));
            self.end = word.end;
        }
    }

    fn end(&mut self, found: &mut Vec<Stretch>) {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.iter().map(|(number, _)| number.len_utf8()).sum::<usize>() < LEAST {
            return;
        }
        let as_bytes = |number: char| match u8::try_from(u32::from(number)) {
            Ok(byte) => vec![byte],
            Err(_) => as_character(number),
        };
        found.push(self.said(&numbers, as_bytes));
        if numbers.iter().any(|(number, _)| matches!(number, '\u{80}'..='\u{ff}')) {
            found.push(self.said(&numbers, as_character));
        }
    }

    fn said(&self, numbers: &[(char, usize)], spell: impl Fn(char) -> Vec<u8>) -> Stretch {
        let mut stretch = Stretch { bytes: Vec::new(), from: Vec::new(), end: self.end };
        for (number, at) in numbers {
            stretch.bytes.extend(spell(*number));
            stretch.from.resize(stretch.bytes.len(), *at);
        }
        stretch
    }
}

fn as_character(number: char) -> Vec<u8> {
    number.encode_utf8(&mut [0; 4]).as_bytes().to_vec()
}

/// The character that `word` is the number of.
fn number(notation: &Notation, word: &[u8]) -> Option<char> {
    let named = notation.before.iter().find_map(|before| word.strip_prefix(*before));
    let digits = named.unwrap_or(word);
    if !notation.digits.contains(&digits.len()) {
        return None;
    }
    let digit = |number: u32, byte: &u8| {
        Some(number * notation.radix + char::from(*byte).to_digit(notation.radix)?)
    };
    let number = digits.iter().try_fold(0, digit)?;
    char::from_u32(number)
        .filter(|number| !number.is_ascii_control() || number.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        numbers(text.as_bytes(), &mut found);
        found.iter().map(|stretch| String::from_utf8_lossy(&stretch.bytes).into_owned()).collect()
    }

    #[test]
    fn a_list_is_read_in_its_notation() {
        for text in [
            "[104, 101, 108, 108, 111, 33, 33, 33]",
            "at 0x68;0x65;0x6C;0x6C;0x6f;0x21;0x21;0x21",
            "0150 0145 0154 0154 0157 041 041 041",
            "1101000 01100101 01101100 01101100 01101111 0100001 0100001 0b100001",
            "chr(104).chr(101).chr(108).chr(108).chr(111).chr(33).chr(33).chr(33)",
            "U+0068 U+0065 U+006C U+006C U+006F U+0021 U+0021 U+0021",
        ] {
            assert!(said(text).contains(&"hello!!!".to_owned()), "{text}: {:?}", said(text));
        }
    }

    #[test]
    fn a_number_that_may_be_a_byte_or_a_character_is_both() {
        let text = "195 169 233 104 101 108 108 111 33";
        assert_eq!(said(text)[1], "Ã©éhello!");
    }

    #[test]
    fn words_and_long_ways_end_a_list() {
        for text in ["104 101 108 108 of 111 33 33 33", "104 101 108 108          111 33 33 33"] {
            assert!(
                !said(text).iter().any(|said| said.contains("hello")),
                "{text}: {:?}",
                said(text)
            );
        }
    }
}
