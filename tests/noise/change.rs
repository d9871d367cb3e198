//! Changing an input at random.

use rouse_testkit::Dice;

/// What breaks readers more often than chance would find it.
const WORDS: [&str; 30] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "0",
    "1e999",
    "9223372036854775808",
    "-9223372036854775808",
    "4294967296",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{202e}",
    "é",
    "\u{1f600}",
    "*/0",
    "*/59",
    "L",
    "W",
    "#5",
    "99",
    "31 2",
    "Z",
    "+24:00",
    "Pacific/Apia",
    "Mars/Base",
    "\r\n",
    "\0",
];

/// One of the corpus after a few changes.
pub(crate) fn changed(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = dice.pick(corpus).clone();
    for _ in 0..=dice.below(4) {
        let at = dice.below(input.len() + 1);
        let end = (at + dice.below(24)).min(input.len());
        match dice.below(7) {
            0 if at < input.len() => input[at] ^= 1 << dice.below(8),
            1 => drop(input.drain(at..end)),
            2 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece.repeat(1 + dice.below(40)));
            }
            3 => {
                let other = dice.pick(corpus);
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(64)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            4 => input.truncate(at),
            _ => {
                let word = dice.pick(&WORDS).bytes();
                input.splice(at..end, word);
            }
        }
    }
    input
}
