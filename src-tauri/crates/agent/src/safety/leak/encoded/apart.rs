//! Letters that stand apart: `s-e-c-r-e-t`, `'s', 'e', 'c'`.
//!
//! Owns the finding of them: what stands between two letters is the same all the way. White space is not here, it is gone
//! before. Every way to divide the text into letters and what is between them is walked once, so the work is the text's
//! length for each length of what is between.

use super::LEAST;
use crate::safety::leak::view::Stretch;

/// The most characters between two letters.
const MOST_BETWEEN: usize = 4;

/// What letters say that stand apart in a text without white space.
pub(in crate::safety::leak) fn apart(bytes: &[u8], found: &mut Vec<Stretch>) {
    let begins = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let mut places: Vec<usize> = (0..bytes.len()).filter(begins).collect();
    places.push(bytes.len());
    for between in 1..=MOST_BETWEEN {
        for first in 0..=between {
            walk(&Text { bytes, places: &places }, between, first, found);
        }
    }
}

/// A text by its characters.
struct Text<'t> {
    bytes: &'t [u8],
    /// Where each begins, and where the last one ends.
    places: &'t [usize],
}

impl Text<'_> {
    const fn count(&self) -> usize {
        self.places.len() - 1
    }

    fn at(&self, from: usize, count: usize) -> &[u8] {
        &self.bytes[self.places[from]..self.places[from + count]]
    }

    /// What the `count` letters from `first` say, which stand `step` apart.
    fn letters(&self, first: usize, count: usize, step: usize) -> Stretch {
        let mut stretch = Stretch { bytes: Vec::new(), from: Vec::new(), end: 0 };
        for letter in (0..count).map(|number| first + number * step) {
            stretch.bytes.extend_from_slice(self.at(letter, 1));
            stretch.from.resize(stretch.bytes.len(), self.places[letter]);
            stretch.end = self.places[letter + 1];
        }
        stretch
    }
}

/// Letters from `first` on with `between` characters between them.
fn walk(text: &Text<'_>, between: usize, first: usize, found: &mut Vec<Stretch>) {
    let step = between + 1;
    let (mut begin, mut letter) = (first, first);
    while letter + step < text.count() {
        let sign = text.at(letter + 1, between);
        let next = letter + step;
        let goes_on = next + step < text.count() && text.at(next + 1, between) == sign;
        if !goes_on {
            end(text, begin, (next - begin) / step + 1, step, found);
            begin = next;
        }
        letter = next;
    }
}

fn end(text: &Text<'_>, begin: usize, count: usize, step: usize, found: &mut Vec<Stretch>) {
    // In fewer characters there is nothing to find, and between what is all the same neither.
    if count < LEAST / 4 + 1
        || !text.at(begin + 1, step - 1).iter().any(|sign| !sign.is_ascii_alphanumeric())
    {
        return;
    }
    let stretch = text.letters(begin, count, step);
    let is_dull = stretch.bytes.iter().all(|byte| *byte == stretch.bytes[0]);
    if stretch.bytes.len() >= LEAST && !is_dull {
        found.push(stretch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        apart(text.as_bytes(), &mut found);
        found.iter().map(|stretch| String::from_utf8_lossy(&stretch.bytes).into_owned()).collect()
    }

    #[test]
    fn letters_are_read_without_what_is_between_them() {
        for text in [
            "its-u-n-f-l-o-w-é-r.Then",
            "['s','u','n','f','l','o','w','é','r']",
            "s☂u☂n☂f☂l☂o☂w☂é☂r",
        ] {
            assert!(
                said(text).iter().any(|said| said.contains("sunflowér")),
                "{text}: {:?}",
                said(text)
            );
        }
    }

    #[test]
    fn words_and_rulers_say_nothing() {
        for text in ["well-known,half-time,day-long", "----------------------------", "a"] {
            assert_eq!(said(text), Vec::<String>::new(), "{text}");
        }
    }
}
